# SPDX-License-Identifier: GPL-2.0-or-later
# persist.sh - operations that outlast a boot: their records, the boot, and how they end
# shellcheck disable=SC2016,SC2119,SC2120,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

valid() {
	jq -es --slurpfile schema "$abs_top_srcdir/share/cpuoff/cpuoff.schema.json" -f "$here/schema.jq" "$out"
}

# cpuinfo [MODEL] - of the CPUs online: the APIC id is twice the number of the CPU
cpuinfo() {
	for cpu in $(expand "$(online)" | tr , ' '); do
		printf 'processor\t: %d\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: %s\ninitial apicid\t: %d\n\n' \
			"$cpu" "${1:-A CPU}" "$((cpu * 2))"
	done >"$t/proc/cpuinfo"
}

ppin() {
	ppin_value=$1
	shift
	for cpu in "$@"; do
		echo "$ppin_value" >"$t/sys/devices/system/cpu/cpu$cpu/topology/ppin"
	done
}

machine() {
	tree_2s "$@"
	cpuinfo
	freeze
}

records() {
	find "$t/var/lib/cpuoff" -mindepth 1 2>/dev/null | wc -l
}

record() {
	find "$t/var/lib/cpuoff" -name '*.json'
}

# The machine is switched off and on: the CPUs of socket 1 are there again, and nobody knows why they were not
reboot() {
	rm -rf "$t/run"
	for cpu in 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31; do
		[ "$(cat "$t/sys/devices/system/cpu/cpu$cpu/online")" = 1 ] || by_hand 1 "$cpu"
	done
	sed 's/000000000001/000000000002/' "$t/proc/sys/kernel/random/boot_id" >"$work/boot"
	cat "$work/boot" >"$t/proc/sys/kernel/random/boot_id"
	[ $# -eq 0 ] || "$@"
	new_rules
}

# ---- recorded, done again, ended ------------------------------------------------------------

machine life
krun --socket 1 --persist --dry-run --json
verdict "a dry run" 0 ready as-before
json_is "a dry run" .recorded true
untouched "a dry run"
ok "a dry run makes no directory" not test -e "$t/var"
krun --socket 1 --persist --dry-run
out_says "a dry run, text" 'recorded.*over a reboot'
krun --socket 1 --persist --json
operation=$(json .operation)
ok "recorded: as the schema has it" valid
verdict "recorded" 0 'done' as-asked
json_is "recorded" .recorded true
is "recorded: one file" 1 "$(records)"
is "recorded: by the id of the operation" "$operation.json" "$(basename "$(record)")"
is "recorded: the directory is root's alone" "700 600" "$(stat -c %a "$t/var/lib/cpuoff" "$(record)" | paste -sd' ')"
is "recorded: the CPUs" "$(expand 8-15,24-31)" "$(jq -r '[.cpus[].cpu] | join(",")' "$(record)")"
is "recorded: what CPU 24 is known by" "1 0 0 1 48 GenuineIntel 6 A CPU" \
	"$(jq -r '.cpus[] | select(.cpu == 24) | [.socket, .die, .core, .thread, .hardware_id, .model] | join(" ")' "$(record)")"
run --status --json
ok "status: as the schema has it" valid
json_is "status" '[.records[] | .id, .cpus, .state] | join(" ")' "$operation 8-15,24-31 in-force"
run --status
out_says "status, text" 'recorded +again after a reboot'
krun --persist=apply --json
verdict "in force already" 0 nothing-to-do
json_is "in force already" '.records[0].state' in-force

reboot
run --status --json
json_is "after the reboot: status" '.operations | length' 0
json_is "after the reboot: status" '[.records[] | .id, .cpus, .state] | join(" ")' "$operation 8-15,24-31 dormant"
run --status
out_says "after the reboot: status, text" "8-15,24-31.*not in force"
out_says "after the reboot: status, text" "cpuoff --restore=$operation"
krun --persist=apply --dry-run --json
verdict "apply, dry run" 0 ready as-before
is "apply, dry run: no write" "" "$(cat "$log")"
krun --persist=apply --json
ok "apply: as the schema has it" valid
verdict "apply" 0 'done' as-asked
json_is "apply" .action persist
json_is "apply" '.records[0].state' applied
is "apply: they are off" 0-7,16-23 "$(online)"
is "apply: the record is of this boot" 5c0ffee0-0000-4000-8000-000000000002 "$(jq -r .boot_id "$(record)")"
run --status --json
json_is "apply: the same operation" '.operations[0].id' "$operation"
krun --restore --cpu 8-11 --json
verdict "some return" 0 'done'
is "some return" 0-11,16-23 "$(online)"
is "some return: the record has the rest" "$(expand 12-15,24-31)" "$(jq -r '[.cpus[].cpu] | join(",")' "$(record)")"
krun --restore --dry-run
is "restore, dry run: the record stays" 1 "$(records)"
krun --restore --json
verdict "all return" 0 'done'
is "all return" 0-31 "$(online)"
is "all return: no record" 0 "$(records)"
ok "all return: it is said" jq -e '[.findings[].rule] | index("record-ended")' "$out"
krun --persist=apply --json
verdict "nothing is recorded" 0 nothing-to-do

# ---- not done again, and ended all the same --------------------------------------------------

machine dormant
krun --socket 1 --persist --json
operation=$(json .operation)
reboot
krun --restore --json
verdict "dormant: --restore" 0 'done'
is "dormant: --restore: no record" 0 "$(records)"
is "dormant: --restore writes to no CPU" "" "$(writes)"
krun --socket 1 --persist
reboot
krun --restore=unheard-of
status "dormant: another id" 2
krun --restore="$(basename "$(record)" .json)"
is "dormant: by id" "0 0" "$rc $(records)"
krun --socket 1 --persist
reboot
krun --restore --socket 1 --except 31
is "dormant: by socket" "0 31" "$rc $(jq -r '[.cpus[].cpu] | join(",")' "$(record)")"
krun --restore --cpu 31
is "dormant: the last one" "0 0" "$rc $(records)"
krun --socket 1 --persist --json
krun --cpu 7 --persist --json
reboot by_hand 1 7
krun --restore
status "dormant: two, none named" 3
err_says "dormant: two, none named" '[0-9]{8}-[0-9]{6}(-2)?, '
krun --restore=all
is "dormant: all" "0 0" "$rc $(records)"

# Somebody has removed the journal: the record ends, and what is off still is told
krun --socket 1 --persist
rm -r "$t/run"
krun --restore --json
verdict "the journal is gone" 0 'done'
is "the journal is gone: no record" 0 "$(records)"
json_is "the journal is gone: what is off" '.findings[] | select(.rule == "offline-unknown") | .cpus' 8-15,24-31
krun --restore --cpu 8-15,24-31
is "the journal is gone: they return by number" 0-31 "$(online)"

# ---- the hardware decides, not the numbers ---------------------------------------------------

# Cores 0 and 1 of socket 1 are numbered the other way round
machine numbers
krun --cpu 8,24 --persist --json
operation=$(json .operation)
reboot
cpuinfo
awk '/^processor/ { n = $3 == 8 ? 9 : $3 == 9 ? 8 : $3 == 24 ? 25 : $3 == 25 ? 24 : $3; $0 = "processor\t: " n } { print }' \
	"$t/proc/cpuinfo" >"$work/cpuinfo"
cp "$work/cpuinfo" "$t/proc/cpuinfo"
for cpu in 8 24; do
	echo 1 >"$t/sys/devices/system/cpu/cpu$cpu/topology/core_id"
	echo 0 >"$t/sys/devices/system/cpu/cpu$((cpu + 1))/topology/core_id"
done
krun --persist=apply --json
verdict "other numbers" 0 'done'
is "other numbers: the hardware of then" 0-8,10-24,26-31 "$(online)"
is "other numbers: the record has those of now" 9,25 "$(jq -r '[.cpus[].cpu] | join(",")' "$(record)")"
krun --restore --cpu 9
is "other numbers: by those of now" "0 25" "$rc $(jq -r '[.cpus[].cpu] | join(",")' "$(record)")"

# refuses DESCRIPTION TEXT - at boot nothing is done, and the record stays as it was
refuses() {
	cp "$(record)" "$work/record"
	krun --persist=apply --json
	ok "$1: as the schema has it" valid
	verdict "$1" 3 refused as-before
	json_is "$1" '.records[0].state' refused
	json_is "$1" '.findings[0].rule' record-mismatch
	ok "$1: says \"$2\"" says "$out" "$2"
	is "$1: no write" "" "$(cat "$log")"
	ok "$1: the record stays" cmp "$work/record" "$(record)"
}

machine model
krun --socket 1 --persist
reboot cpuinfo "Another CPU"
refuses "another model" 'its model was .*A CPU.* and is .*Another CPU'
machine serial
ppin 0x1111 8 9 24 25
krun --cpu 8 --persist
reboot ppin 0x2222 8 9 24 25
refuses "a part of the same model" 'serial number was 0x1111 and is 0x2222'
reboot ppin 0x1111 8 9 24 25
krun --persist=apply
is "and the old part again" "0 0-7,9-31" "$rc $(online)"
machine moved
mkdir -p "$t/sys/class/dmi/id"
echo 11111111-0000 >"$t/sys/class/dmi/id/product_uuid"
krun --cpu 8 --persist
reboot
echo 22222222-0000 >"$t/sys/class/dmi/id/product_uuid"
refuses "another machine" 'the machine was 11111111-0000 and is 22222222-0000'
machine gone
krun --cpu 8 --persist
reboot
sed -i '/^processor.*: 8$/,/^$/d' "$t/proc/cpuinfo"
refuses "a CPU that is not there" 'no CPU that is online has hardware id 16'
machine socket
krun --cpu 8 --persist
reboot
echo 5 >"$t/sys/devices/system/cpu/cpu8/topology/physical_package_id"
refuses "another socket" 'its socket was 1 and is 5'

# ---- what it does to the rest ----------------------------------------------------------------

# One that does not match does not keep the others from being done
machine mixed
ppin 0x1111 8
krun --cpu 8 --persist
krun --cpu 9 --persist
reboot ppin 0x2222 8
krun --persist=apply --json
verdict "one of two" 64 partial in-between
json_is "one of two" '[.records[].state] | join(" ")' "refused applied"
is "one of two" 0-8,10-31 "$(online)"

# Rules hold at boot, and what was accepted then is accepted
machine nohotplug
krun --cpu 8 --persist
reboot rm "$t/sys/devices/system/cpu/cpu8/online"
krun --persist=apply --json
verdict "a CPU that cannot go" 3 refused as-before
is "a CPU that cannot go: the record stays" 1 "$(records)"
machine all
jq_all='.cpus = [range(0;32) as $n | .cpus[0] | .cpu = $n | .hardware_id = 2 * $n | .socket = (if $n % 16 < 8 then 0 else 1 end) | .core = ($n % 8) | .thread = (if $n < 16 then 0 else 1 end)]'
krun --cpu 8 --persist
reboot
jq "$jq_all" "$(record)" >"$work/all.json" && cat "$work/all.json" >"$(record)"
krun --persist=apply --json
verdict "a record of all CPUs" 3 refused as-before
is "a record of all CPUs: all run" 0-31 "$(online)"

# What fails leaves no record, and at boot the old one
machine failed
new_rules 'cpu10 offline EIO'
krun --socket 1 --persist --json
verdict "a CPU that does not go" 1 rolled-back as-before
is "a CPU that does not go: no record" 0 "$(records)"
as_before "a CPU that does not go"
new_rules
krun --socket 1 --persist --json
cp "$(record)" "$work/record"
reboot
new_rules 'cpu10 offline EIO'
krun --persist=apply --json
verdict "at boot a CPU does not go" 1 rolled-back as-before
ok "at boot a CPU does not go: the record stays" cmp "$work/record" "$(record)"
machine stopped
new_rules 'cpu10 offline EIO'
krun --cpu 8-11 --persist --on-error=continue --json
verdict "some of it" 64 partial
is "some of it: the record is of what is off" 8,9,11 "$(jq -r '[.cpus[].cpu] | join(",")' "$(record)")"

# A kill in between leaves neither half a record nor one of an operation that was not finished
machine killed
new_gate
new_rules "cpu29 offline until:$gate"
kstart --socket 1 --persist
wait_gate
kill -s KILL "$pid"
finish
open_gate
is "killed: no record" "" "$(record)"
krun --persist=apply --json
verdict "killed: nothing is recorded" 0 nothing-to-do
krun --restore --wait
is "killed: --restore" "0 0-31" "$rc $(online)"
krun --cpu 8 --persist
is "killed: what was left is removed" "0 1" "$rc $(records)"
machine returning
krun --socket 1 --persist
new_gate
new_rules "cpu29 online until:$gate"
kstart --restore
wait_gate
kill -s KILL "$pid"
finish
open_gate
is "killed on the way back: the record has gone before the first CPU" 0 "$(records)"

# A record that cannot be written any more: a directory is where its new text would be
machine unwritable
krun --cpu 8-9 --persist --json
operation=$(json .operation)
reboot mkdir "$t/var/lib/cpuoff/.$operation.new"
krun --persist=apply --json
verdict "a record that cannot be renewed" 0 'done' as-asked
json_is "a record that cannot be renewed" '[.findings[] | select(.severity == "warn").rule] | join(" ")' \
	'smt-sibling-stays record-failed'
is "a record that cannot be renewed: the CPUs are off" 0-7,10-31 "$(online)"
krun --restore --cpu 9 --json
verdict "a record that cannot be shrunk" 5 failed
ok "a record that cannot be shrunk: it is said" jq -e '[.findings[].rule] | index("record-failed")' "$out"
is "a record that cannot be shrunk: the CPU is back" 0-7,9-31 "$(online)"
krun --restore
is "and the rest of it ends" "0 0-31 1" "$rc $(online) $(records)"

# CPUs that are off already
machine off
krun --cpu 8-9
krun --cpu 8-9 --persist --json
verdict "off already" 0 nothing-to-do
is "off already: recorded by their place" "8 1 0 null" "$(jq -r '.cpus[0] | "\(.cpu) \(.socket) \(.core) \(.hardware_id)"' "$(record)")"
reboot
krun --persist=apply
is "off already: found by place and number" "0 0-7,10-31" "$rc $(online)"

machine unknown
by_hand 0 9
krun --cpu 8-9 --persist --json
verdict "off for unknown reasons" 3 refused as-before
json_is "off for unknown reasons" '.findings[] | select(.rule == "record-impossible").cpus' 9
is "off for unknown reasons: no record" 0 "$(records)"
krun --cpu 9 --persist
status "off for unknown reasons, all of it" 3
krun --cpu 8-9 --persist --except 9
is "off for unknown reasons, without it" "0 1" "$rc $(records)"

# A core fails, and later its socket is taken, too: both are done again, whichever has what
machine overlap
krun --cpu 8 --persist --json
first=$(json .operation)
krun --socket 1 --persist
reboot
krun --persist=apply --json
verdict "one within the other" 0 'done'
is "one within the other" 0-7,16-23 "$(online)"
krun --restore="$first"
is "one within the other: the socket keeps it" "0 0-7,16-23" "$rc $(online)"
reboot
krun --persist=apply
is "one within the other: and after the next reboot" "0 0-7,16-23" "$rc $(online)"
krun --restore
is "one within the other: all is back" "0 0-31 0" "$rc $(online) $(records)"

# A journal that cannot be used may be of an operation in force: its record does not end before its CPUs are back
machine unread
krun --cpu 8-9 --persist --json
operation=$(json .operation)
echo x >>"$(find "$t/run/cpuoff" -name '*.json')"
for way in --restore --restore=all "--restore=$operation"; do
	krun "$way" --json
	ok "a damaged journal, $way: not done" test "$rc" -ne 0
	is "a damaged journal, $way: the record stays" "0-7,10-31 1" "$(online) $(records)"
done
krun --restore --cpu 8-9 --json
is "a damaged journal, CPUs by number" "0 0-31 0" "$rc $(online) $(records)"
json_is "a damaged journal, CPUs by number: nothing is left to be done" \
	'[.findings[].rule] | index("offline-unknown")' null

# ---- records that cannot be used --------------------------------------------------------------

# unusable DESCRIPTION COMMAND... - the command damages the record, its last argument
unusable() {
	unusable_name=$1
	shift
	machine unusable
	krun --cpu 8 --persist
	reboot
	"$@" "$(record)"
	krun --persist=apply --json
	verdict "$unusable_name" 3 refused as-before
	ok "$unusable_name: it is said" jq -e '[.findings[].rule] | index("record-unusable")' "$out"
	is "$unusable_name: no write" "" "$(cat "$log")"
	run --status --json
	status "$unusable_name: --status" 0
	ok "$unusable_name: --status says so" jq -e '[.findings[].rule] | index("record-unusable")' "$out"
	krun --cpu 9
	krun --restore
	is "$unusable_name: does not keep others from returning" "0 0-31" "$rc $(online)"
}

set_json() {
	jq "$1" "$2" >"$work/set" && cat "$work/set" >"$2"
}

empty() {
	: >"$1"
}

# One of an operation in force ends with the whole of it, and is told where it must hold for a part
for way in --restore "--restore --cpu 9"; do
	machine damaged
	krun --cpu 8-9 --persist
	empty "$(record)"
	# shellcheck disable=SC2086 # two words
	krun $way --json
	case $way in
	--restore)
		is "a damaged record in force" "0 0-31 0" "$rc $(online) $(records)"
		ok "a damaged record in force: it is told" jq -e '[.findings[].rule] | index("record-ended")' "$out"
		;;
	*)
		is "a damaged record in force, a part" "5 0-7,9-31 1" "$rc $(online) $(records)"
		ok "a damaged record in force, a part: it is told" jq -e '[.findings[] | select(.rule == "record-failed") |
			.message | contains("cannot be read")] | any' "$out"
		;;
	esac
done

unusable "an empty record" empty
unusable "half a record" truncate -s 200
unusable "a newer format" set_json '.format = 2'
unusable "no CPUs" set_json '.cpus = []'
unusable "a CPU twice" set_json '.cpus += .cpus'
unusable "another id" set_json '.id = "../../etc/passwd"'
unusable "a number as text" set_json '.cpus[0].hardware_id = "16"'
unusable "a huge CPU" set_json '.cpus[0].cpu = 4294967296'
unusable "a negative CPU" set_json '.cpus[0].cpu = -1'
unusable "no model" set_json 'del(.cpus[0].model)'
unusable "CPUs that are none" set_json '.cpus = [7, null]'
unusable "an array" set_json '[.]'
unusable "writable by others" chmod 666

machine link
mkdir -p "$work/elsewhere" "$t/var/lib"
ln -s "$work/elsewhere" "$t/var/lib/cpuoff"
krun --cpu 8 --persist --json
verdict "a directory that is a link" 3 refused as-before
json_is "a directory that is a link" '[.findings[] | select(.severity == "refuse").rule] | join(" ")' records-directory
is "a directory that is a link: nothing in it" "" "$(ls -A "$work/elsewhere")"
krun --persist=apply --json
verdict "a directory that is a link, at boot" 3 refused as-before
machine writable
mkdir -p "$t/var/lib/cpuoff"
chmod 777 "$t/var/lib/cpuoff"
krun --cpu 8 --persist --json
verdict "a directory that others can write" 3 refused as-before
is "a directory that others can write: no write" "" "$(writes)"

# ---- the command line -------------------------------------------------------------------------

krun --persist
status "--persist alone" 2
krun --persist=apply --cpu 8
status "--persist=apply with a selection" 2
krun --persist=later --cpu 8
status "another word" 2
krun --restore --persist
status "--restore --persist" 2

done_testing
