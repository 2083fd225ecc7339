# SPDX-License-Identifier: GPL-2.0-or-later
# journal.sh - what the journal holds, what is done with one that cannot be trusted, and the lock
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

journal() {
	find "$t/run/cpuoff" -name '*.json'
}

in_journal() {
	is "the journal: $1" "$2" "$(jq -r "$1" "$(journal)")"
}

# ---- content ---------------------------------------------------------------------------------

tree_2s
krun --socket 1 --except 31 --json
operation=$(json .operation)
ok "one JSON document" jq -es 'length == 1' "$(journal)"
in_journal .format 1
in_journal .id "$operation"
in_journal .boot_id 5c0ffee0-0000-4000-8000-000000000001
in_journal .version "$("$CPUOFF" --version | grep -o '[0-9][0-9.]*' | head -n 1)"
in_journal '.command | test("--socket.1.*--except.31")' true
in_journal '.started | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$")' true
in_journal '[.cpus[].cpu] | sort == [range(8;16), range(24;31)]' true
in_journal '.cpus[] | select(.cpu == 30) | [.socket, .die, .core, .node, .thread] | map(tostring) | join(" ")' '1 0 6 1 1'
in_journal '[.steps[] | select(.kind == "cpu.offline").items[].state] | unique | join(" ")' applied
ok "the time is now" sh -c '[ "$(($(date +%s) - $(date -d "$1" +%s)))" -lt 60 ]' sh "$(jq -r .started "$(journal)")"

# ---- names that are not UTF-8 ----------------------------------------------------------------

# tree_named NAME - a machine with a partition of that name, 8-9 and 24-25
tree_named() {
	tree_2s named
	cgroup=$t/sys/fs/cgroup
	named=$cgroup/$1
	mkdir -p "$named"
	echo "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0" >"$t/proc/mounts"
	echo cpuset | tee "$cgroup/cgroup.controllers" >"$cgroup/cgroup.subtree_control"
	echo 0-31 >"$cgroup/cpuset.cpus.effective"
	echo 8-9,24-25 | tee "$named/cpuset.cpus" >"$named/cpuset.cpus.effective"
	echo root >"$named/cpuset.cpus.partition"
}

partition_is() {
	is "$1" "$2" "$(cat "$named/cpuset.cpus.partition")"
}

tree_named "$(printf 'caf\351\377?')"
krun --cpu 9,25 --json
status "a partition of any name" 0
json_is "a partition of any name" \
	'.steps[] | select(.kind == "partition.others") | .object' '/sys/fs/cgroup/caf???'
partition_is "a partition of any name is a member meanwhile" member
in_journal '[.steps[] | select(.kind == "partition.others").items[] | .object, .object_bytes] | join(" ")' \
	"/sys/fs/cgroup/caf??? $(printf '/sys/fs/cgroup/caf\351\377?' | od -An -v -tx1 | tr -d ' \n')"
in_journal '[.. | objects | keys[] | select(endswith("_bytes"))] | join(" ")' object_bytes
krun --status --json
document "a partition of any name, --status"
krun --cpu 8 --json
second=$(json .operation)
krun --restore --cpu 9,25
status "a partition of any name, some are back" 0
partition_is "a partition of any name, some are back" member
krun "--restore=$second"
is "a partition of any name, all are back" "0 0-31" "$rc $(online)"
partition_is "a partition of any name, all are back" root

tree_named 'café'
krun --cpu 9
in_journal '[.. | objects | keys[] | select(endswith("_bytes"))] | length' 0
krun "$(printf -- '--restore=\377')"
status "an operation of any name" 2
krun --restore
partition_is "a partition with a name in UTF-8" root

# ---- one that cannot be used -----------------------------------------------------------------

# damage NAME COMMAND... - the command changes the journal, which is its last argument
damage() {
	damage_name=$1
	shift
	tree_2s damage
	krun --socket 1
	"$@" "$(journal)"
	freeze
	cp "$(journal)" "$work/damaged"
	new_rules
	krun --restore --json
	document "$damage_name"
	ok "$damage_name: --restore is never done" test "$rc" -ne 0
	is "$damage_name: no write" "" "$(cat "$log")"
	ok "$damage_name: the journal stays as it is" cmp "$work/damaged" "$(journal)"
	krun --restore
	ok "$damage_name: --restore is never done" test "$rc" -ne 0
	err_says "$damage_name" "${4:-journal}"
	krun --status --json
	document "$damage_name, --status"
	ok "$damage_name: --status says so" says "$out" 'journal'
	krun --cpu 7,23
	ok "$damage_name: a new operation does not run over it" test "$rc" -ne 0
	is "$damage_name: no write" "" "$(writes)"
	ok "$damage_name: the journal stays as it is" cmp "$work/damaged" "$(journal)"
}

set_json() {
	jq "$1" "$2" >"$work/set" && cat "$work/set" >"$2"
}

cut_half() {
	truncate -s "$(($(stat -c %s "$1") / 2))" "$1"
}

cut_end() {
	truncate -s -3 "$1"
}

empty() {
	: >"$1"
}

garbage() {
	head -c 3000 "$abs_top_builddir/tests/cli/mktree" >"$1"
}

trailing() {
	echo 'x' >>"$1"
}

twice() {
	cat "$1" "$1" >"$work/twice" && cat "$work/twice" >"$1"
}

damage "an empty journal" empty
damage "half a journal" cut_half
damage "a journal without its end" cut_end
damage "a journal of other bytes" garbage
damage "a journal and more" trailing
damage "two journals in one file" twice
damage "a newer format" set_json '.format = 99'
krun --restore
err_says "a newer format" 'newer|format'
damage "no format" set_json 'del(.format)'
damage "a format that is none" set_json '.format = -1'
damage "a format that is text" set_json '.format = "1"'
damage "another id inside" set_json '.id = "other"'
damage "no CPUs" set_json 'del(.cpus)'
damage "an unknown kind of step" set_json '.steps[0].kind = "no.such"'
damage "a state that is none" set_json '(.steps[] | select(.kind == "cpu.offline").items[0].state) = "maybe"'
damage "a CPU that is none" set_json '(.steps[] | select(.kind == "cpu.offline").items[0].id) = -5'
damage "a huge CPU number" set_json '(.steps[] | select(.kind == "cpu.offline").items[0].id) = 4294967295'
damage "a CPU as text" set_json '.cpus[0].cpu = "8"'
damage "items that are no list" set_json '.steps[0].items = 7'
damage "an array" set_json '[.]'
damage "a number" set_json '7'

# A half-written journal, of each length: never is anything done, and always told which file it is
tree prefixes --sockets 2 --cores 2
krun --socket 1
journal=$(journal)
cp "$journal" "$work/whole"
new_rules
size=$(stat -c %s "$journal")
prefix_failures=0
for length in $(seq 0 61 $((size - 2))); do
	head -c "$length" "$work/whole" >"$journal"
	krun --restore
	if [ "$rc" -ne 3 ] || ! says "$err" "$journal" || ! says "$err" '--restore --cpu' || [ -s "$log" ]; then
		prefix_failures=$((prefix_failures + 1))
		note "cut to $length bytes: exit $rc, $(head -n 1 "$err")"
	fi
done
is "a journal of any length but its own: refused, and which file it is" 0 "$prefix_failures"
cp "$work/whole" "$journal"
krun --restore
is "the whole journal" "0 0-3" "$rc $(online)"

# gone_while OPTION... - the state directory is removed while a CPU goes, or comes
gone_while() {
	new_gate
	new_rules "cpu2 $1 until:$gate"
	shift
	kstart "$@"
	wait_gate
	rm -r "$t/run/cpuoff"
	open_gate
	finish
	new_rules
}

tree gone --sockets 2 --cores 2
freeze
gone_while offline --socket 1
status "the state directory is removed while CPUs go" 1
err_says "the state directory is removed while CPUs go" 'journal.*could not be written in [^ ]*:'
as_before "the state directory is removed while CPUs go"
krun --socket 1
gone_while online --restore
is "the state directory is removed while CPUs come back" "0-3" "$(online)"
as_before "the state directory is removed while CPUs come back"

# What --restore needs to be told when no journal can be used
tree_2s by_number
krun --socket 1
empty "$(journal)"
new_rules
krun --restore --cpu 8-15,24-31
is "CPUs come back by number beside a damaged journal" "0 0-31" "$rc $(online)"

# A journal that others can write is not obeyed
tree_2s foreign
krun --socket 1
chmod 666 "$(journal)"
new_rules
krun --restore
ok "a journal that others can write: never done" test "$rc" -ne 0
is "a journal that others can write: no write" "" "$(cat "$log")"
chmod 644 "$(journal)"
chmod 777 "$t/run/cpuoff"
krun --restore
ok "a state directory that others can write: never done" test "$rc" -ne 0
is "a state directory that others can write: no write" "" "$(cat "$log")"
chmod 755 "$t/run/cpuoff"
mv "$(journal)" "$work/moved"
ln -s "$work/moved" "$t/run/cpuoff/link.json"
krun --restore
ok "a journal that is a link: never done" test "$rc" -ne 0
is "a journal that is a link: no write" "" "$(cat "$log")"

tree_2s linked
mkdir -p "$work/target" "$t/run"
ln -s "$work/target" "$t/run/cpuoff"
krun --socket 1
ok "a state directory that is a link: refused" test "$rc" -ne 0
err_says "a state directory that is a link: why" 'cannot be used.*state-directory'
is "a state directory that is a link: no write" "" "$(writes)"
is "a state directory that is a link: nothing in it" "" "$(ls -A "$work/target")"

# ---- another boot ----------------------------------------------------------------------------

tree_2s boot
krun --socket 1
by_hand 1 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
by_hand 0 12
echo 5c0ffee0-0000-4000-8000-00000000000f >"$t/proc/sys/kernel/random/boot_id"
new_rules
krun --restore --json
status "a journal of another boot" 0
document "a journal of another boot"
ok "a journal of another boot is reported" says "$out" 'another boot'
is "a journal of another boot: no write" "" "$(cat "$log")"
krun --status --json
json_is "a journal of another boot is not in force" '.operations | length' 0
krun --restore --socket 1
is "a journal of another boot is not used for places" "" "$(cat "$log")"
krun --socket 1 --json
verdict "a journal of another boot does not stop a new operation" 0 'done' as-asked
krun --restore
is "and that one is undone" "0 0-11,13-31" "$rc $(online)"

tree_2s noboot
rm "$t/proc/sys/kernel/random/boot_id"
krun --socket 1 --json
verdict "a machine without a boot id" 0 'done' as-asked
krun --restore
is "a machine without a boot id, --restore" "0 0-31" "$rc $(online)"

# ---- the lock --------------------------------------------------------------------------------

tree_2s lock
new_gate
new_rules "cpu28 offline until:$gate"
kstart --cpu 26-31
wait_gate
first=$pid
last="cpuoff --cpu 8 while another runs"
rc=0
with_kernel "$CPUOFF" --sysroot="$t" --cpu 8 --json >"$out" 2>"$err" || rc=$?
verdict "another cpuoff holds the lock" 75 refused as-before
rc=0
with_kernel "$CPUOFF" --sysroot="$t" --cpu 8 >"$out" 2>"$err" || rc=$?
status "another cpuoff holds the lock" 75
err_says "another cpuoff holds the lock" 'another cpuoff'
err_says "another cpuoff holds the lock" "$first|wait"
rc=0
with_kernel "$CPUOFF" --sysroot="$t" --restore >"$out" 2>"$err" || rc=$?
status "another cpuoff holds the lock, --restore" 75
rc=0
with_kernel "$CPUOFF" --sysroot="$t" --status --json >"$out" 2>"$err" || rc=$?
status "--status needs no lock" 0
rc=0
with_kernel "$CPUOFF" --sysroot="$t" --cpu 8 --dry-run >"$out" 2>"$err" || rc=$?
status "--dry-run needs no lock" 0
(
	sleep 0.3
	open_gate
) &
rc=0
with_kernel timeout --foreground 20 "$CPUOFF" --sysroot="$t" --cpu 8 --wait --json >"$out" 2>"$err" || rc=$?
verdict "--wait" 0 'done' as-asked
rc=0
wait "$first" || rc=$?
status "the first one is not disturbed" 0
is "--wait: one after the other" "31=0,30=0,29=0,28=0,27=0,26=0,8=0" "$(writes)"
is "--wait: two operations" 2 "$(journals)"
new_rules
krun --restore=all
is "both are undone" "0 0-31" "$rc $(online)"

# A lock file that nobody holds is no lock
tree_2s stale
mkdir -p "$t/run/cpuoff"
echo 1 >"$t/run/cpuoff/lock"
krun --cpu 31
status "a lock file that nobody holds" 0

# --wait can be ended
tree_2s held
mkdir -p "$t/run/cpuoff"
: >"$t/run/cpuoff/lock"
chmod 600 "$t/run/cpuoff/lock"
(
	flock 9
	exec sleep 20
) 9>>"$t/run/cpuoff/lock" &
holder=$!
wait_for not flock -n "$t/run/cpuoff/lock" true
krun --cpu 31
status "the lock is held by a program that is no cpuoff" 75
kstart --cpu 31 --wait
sleep 0.5
kill -INT "$pid"
finish
status "SIGINT while it waits" 130
is "SIGINT while it waits: no write" "" "$(writes)"
kill "$holder"
wait "$holder" 2>/dev/null

# ---- what a crash leaves ---------------------------------------------------------------------

tree_2s leftover
mkdir -p "$t/run/cpuoff"
echo '{' >"$t/run/cpuoff/.20200101-000000.new"
echo 'x' >"$t/run/cpuoff/README"
krun --cpu 31
status "other files in the state directory" 0
krun --restore
is "other files in the state directory, --restore" "0 0-31" "$rc $(online)"

done_testing
