# SPDX-License-Identifier: GPL-2.0-or-later
# cases.sh - field cases: dumps of real machines, and what is right for each of them
# shellcheck disable=SC2016,SC2119,SC2317
#
# The dumps are other projects' test data and are not part of this one: CPUOFF_CASES names the folder that
# has them. They are unpacked once, into the build tree.

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

cases=${CPUOFF_CASES:-$abs_top_srcdir/../shared/cases}
cache=$abs_top_builddir/tests/cli/cache
[ -d "$cases/dumps" ] || skip_all "no dumps in $cases"

# dump NAME - unpacked, as $t; never written
dump() {
	t=$cache/$1
	[ ! -d "$t" ] || return 0
	rm -rf "$t.new"
	mkdir -p "$t.new" || exit 1
	tar -xJf "$cases/dumps/$1.tar.xz" -C "$t.new" --strip-components=1 --no-same-owner || exit 1
	chmod -R u+w "$t.new"
	mv "$t.new" "$t"
}

# writable NAME - a copy of what matters of it, as $t
writable() {
	dump "$1"
	writable_from=$t
	t=$work/${1##*/}
	rm -rf "$t" "$t.shim"
	mkdir "$t"
	(cd "$writable_from" && tar -cf - --exclude=cpufreq --exclude=cpuidle --exclude=microcode --exclude=power \
		--exclude=hotplug --exclude=driver --exclude=firmware_node --exclude=subsystem --exclude=uevent \
		--exclude='sys/devices/pci*' --exclude=sys/class --exclude=sys/bus --exclude='sys/firmware' .) |
		(cd "$t" && tar -xf -)
	new_rules
}

# selection SELECTOR... - their options, as $set_options
selection() {
	set_options=
	for set_word in "$@"; do
		case $set_word in
		smt) set_options="$set_options --smt" ;;
		-*) set_options="$set_options $set_word" ;;
		*) set_options="$set_options --${set_word%%:*}=${set_word#*:}" ;;
		esac
	done
}

# did DUMP SELECTOR... - for the comparison with the list of the cases
did() {
	printf '%s\n' "$*" >>"$work/did"
}

# R DUMP EXPECTED SELECTOR... - they resolve to that
R() {
	R_dump=$1
	R_expected=$2
	shift 2
	did "$R_dump" "$@"
	dump "$R_dump"
	selection "$@"
	# shellcheck disable=SC2086
	run --list --json $set_options
	is "R $R_dump $*" "0 $R_expected" "$rc $(json .selection.cpus)"
}

# P DUMP EXPECTED SELECTOR... - these are the CPUs that would be written
P() {
	P_dump=$1
	P_expected=$2
	shift 2
	did "$P_dump" "$@"
	dump "$P_dump"
	selection "$@"
	# shellcheck disable=SC2086
	run --dry-run --json $set_options
	is "P $P_dump $*" "0 ready $P_expected" "$rc $(json '.verdict + " " + .target.cpus')"
	is "P $P_dump $*: the writes" "$(expand_down "$P_expected")" "$(steps_of)"
}

# refuse DUMP STATUS PATTERN SELECTOR...
refuse() {
	refuse_dump=$1
	refuse_status=$2
	refuse_pattern=$3
	shift 3
	did "$refuse_dump" "$@"
	dump "$refuse_dump"
	selection "$@"
	# shellcheck disable=SC2086
	run --dry-run $set_options
	is "refuse $refuse_dump $*: exit status" "$refuse_status" "$rc"
	err_says "refuse $refuse_dump $*" "$refuse_pattern"
	# shellcheck disable=SC2086
	run --dry-run --json $set_options
	is "refuse $refuse_dump $*: exit status, JSON" "$refuse_status" "$rc"
	document "refuse $refuse_dump $*"
	is "refuse $refuse_dump $*: nothing is planned" "" "$(steps_of)"
}

# unwritten STATUS DUMP SELECTOR... - the run itself, on a copy, writes nothing and leaves no journal
unwritten() {
	unwritten_status=$1
	unwritten_dump=$2
	shift 2
	writable "$unwritten_dump"
	selection "$@"
	freeze
	# shellcheck disable=SC2086
	krun $set_options
	status "run $unwritten_dump $*" "$unwritten_status"
	is "run $unwritten_dump $*: the kernel was asked nothing" "" "$(cat "$log")"
	untouched "run $unwritten_dump $*"
}

# What takes long by its nature runs beside the rest
writable lscpu/x86_64-epyc_7451
new_rules 'cpu95 offline EBUSY'
aside always_busy --socket 1

note "1: a memory-only node has no CPUs"
refuse fake/fake-2s-cxl-memonly 3 'node 2 has no CPU' node:2
refuse hwloc/fakeheteromemtiers 3 'node 6 has no CPU' node:6
refuse lscpu/ppc64-POWER7-64cpu 3 'node 1 has no CPU' node:1
refuse hwloc/nvidiagpunumanodes 3 'node 250 has no CPU' node:250
P fake/fake-2s-cxl-memonly 8-15,24-31 node:1
unwritten 3 fake/fake-2s-cxl-memonly node:2

note "2: offline CPUs vanish from the topology"
writable fake/fake-2s-cxl-memonly
krun --socket 1
status "2: socket 1 goes" 0
cp -a "$t/run" "$work/run"
writable fake/fake-2s-socket1-alloff
freeze
run --restore --socket 1
status "2: socket 1 is off, no journal" 3
err_says "2: socket 1 is off, no journal" 'unknown|journal'
untouched "2: socket 1 is off, no journal"
cp -a "$work/run" "$t/run"
run --restore --socket 1 --dry-run --json
verdict "2: socket 1 is off, by the journal" 0 ready
json_is "2: socket 1 is off, by the journal" .target.cpus 8-15,24-31
krun --restore --socket 1
is "2: socket 1 comes back" "0 0-31" "$rc $(online)"
R hwloc/16em64t-4s2c2t-offlines 1,9 socket:1
any_says "2: the others are offline, their socket is unknown" '2,5,13-14'
any_says "2: the others are offline, their socket is unknown" 'unknown|not known'

note "3: odd CPUs are one socket"
P hwloc/40intel64-2g2n4c+pcilocality 1,5,9,13,17,21,25,29,33,37 socket:1
P lscpu/x86_64-64cpu 2,6,10,14,18,22,26,30,34,38,42,46,50,54,58,62 socket:1
refuse lscpu/x86_64-64cpu 2 '0,2-3' node:1

writable lscpu/x86_64-epyc_7451
mkdir -p "$t/var/lib/kubelet"
echo '{"policyName":"static","defaultCpuSet":"0-23,48-71","entries":{"uid":{"db":"24-25"}},"checksum":1}' \
	>"$t/var/lib/kubelet/cpu_manager_state"
run --socket 1 --dry-run
status "3: kubelet has given out CPUs of the target" 0
err_says "3: kubelet has given out CPUs of the target" 'warning: .*/var/lib/kubelet/cpu_manager_state.*24-25'
run --cpu 26 --core-of 27 --dry-run
ok "3: kubelet has given out others" not says "$err" kubelet
sed -i s/static/none/ "$t/var/lib/kubelet/cpu_manager_state"
run --socket 1 --dry-run
ok "3: another policy" not says "$err" kubelet

note "4: the restore knows what it took"
writable lscpu/x86_64-epyc_7451
freeze
krun --smt --method=sequential --json
verdict "4: epyc --smt" 0 'done' as-asked
is "4: epyc --smt" 0-47 "$(online)"
is "4: their topology is gone" "" "$(find "$t"/sys/devices/system/cpu/cpu[4-9][0-9]/topology -maxdepth 0 2>/dev/null | grep -E 'cpu(4[89]|[5-9])')"
sed -i '/^processor.*: \(4[89]\|[5-9][0-9]\)$/,/^$/d' "$t/proc/cpuinfo"
new_rules
krun --restore
status "4: epyc --restore" 0
is "4: exactly 48-95 are written" "$(expand 48-95)" \
	"$(writes | tr , '\n' | sed -n 's/=1$//p' | sort -n | paste -sd, -)"
is "4: epyc --restore" 0-95 "$(online)"

writable fake/fake-gap-smt8
by_hand 0 100
new_rules
krun --socket 1 --json
verdict "4: gap, CPU 100 off before" 0 'done' as-asked
krun --restore
is "4: gap, CPU 100 stays off" "0 0-99,101-103,120-151" "$rc $(online)"

note "5: cpusets of version 1 lose the CPU for good"
# v1 LIST LIST - the cpusets docker and, of a name that is not UTF-8, its child, as the kernel shows them
v1=sys/fs/cgroup/cpuset
child=$v1/docker/$(printf 'child\351')
v1() {
	put $v1/docker/cpuset.cpus "$1"
	put "$child/cpuset.cpus" "$2"
}

# tree_v1 - a machine of four CPUs with them; the kernel takes CPUs out of them by itself, and leaves it at that
tree_v1() {
	tree v1 --sockets 1 --cores 4
	put proc/mounts "cgroup /$v1 cgroup rw,cpuset 0 0"
	for group in $v1 $v1/docker "$child"; do
		put "$group/cpuset.cpus" 0-3
		: >"$t/$group/tasks"
	done
	v1 0-3 1-2
	krun --cpu 1
	status "5: $1" 0
	v1 0,2-3 2
	new_rules
}

# v1_is DESCRIPTION LIST LIST
v1_is() {
	is "$1" "$2 $3" "$(cat "$t/$v1/docker/cpuset.cpus") $(cat "$t/$child/cpuset.cpus")"
}

tree_v1 "off"
krun --restore --json
verdict "5: back" 0 'done' as-asked
v1_is "5: back" 0-3 1-2
is "5: back, parents before children" "$v1/docker $child" \
	"$(sed -n "s,^write \($v1/.*\)/cpuset.cpus .* ok .*,\1,p" "$log" | paste -sd' ' -)"
tree_v1 "off, and a cpuset is removed"
rm -r "${t:?}/$child"
krun --restore --json
verdict "5: a cpuset was removed" 0 'done' as-asked
is "5: a cpuset was removed: the other one" 0-3 "$(cat "$t/$v1/docker/cpuset.cpus")"
json_is "5: a cpuset was removed: it is told" '[.findings[] | select(.rule == "cpuset-gone") | .severity] | join(" ")' note
tree_v1 "off, and a cpuset is changed"
v1 0,2-3 3
krun --restore --json
verdict "5: a cpuset was changed" 0 'done' as-asked
v1_is "5: a cpuset was changed, and stays so" 0-3 3
json_is "5: a cpuset was changed: it is told" '[.findings[] | select(.rule == "cpuset-changed") | .severity] | join(" ")' note
tree_v1 "off, and a cpuset's parent is changed"
v1 2-3 2
new_rules "$child/cpuset.cpus write EACCES"
krun --restore --json
verdict "5: a parent was changed" 0 'done' as-asked
v1_is "5: a parent was changed, and stays so" 2-3 2
json_is "5: a parent was changed: both are told" '[.findings[] | select(.rule == "cpuset-changed") | .message | split(" ")[1]] | sort | join(" ")' \
	"has was"
tree_v1 "off, and a cpuset cannot be written"
new_rules "$child/cpuset.cpus write EACCES"
krun --restore --json
verdict "5: a cpuset cannot be written" 5 failed in-between
v1_is "5: a cpuset cannot be written: the parent" 0-3 2
new_rules
krun --restore --json
verdict "5: it can be again" 0 'done' as-asked
v1_is "5: it can be again" 0-3 1-2

writable lscpu/x86_64-epyc_7451
freeze
for error in ENOSPC ERANGE; do
	note "6: not enough interrupt vectors, $error"
	new_rules "cpu72 offline $error"
	krun --socket 1 --json
	verdict "6: $error" 1 rolled-back as-before
	json_is "6: $error" '.result.failed | map("\(.cpu) \(.errno)") | join(",")' "72 $error"
	is "6: $error: online" 0-95 "$(online)"
	as_before "6: $error"
	new_rules "cpu72 offline $error"
	krun --socket 1
	err_says "6: $error" 'cpu ?72'
	err_says "6: $error" 'interrupt vectors'
done

note "7: interrupts that will not move"
# irq NUMBER CPU NAME - bound to that CPU
irq() {
	mkdir -p "$t/proc/irq/$1/$3"
	put "proc/irq/$1/smp_affinity_list" "$2"
	put "proc/irq/$1/effective_affinity_list" "$2"
}

irqs() {
	cat "$t"/proc/irq/6[0-2]/smp_affinity_list | paste -sd' ' -
}

for error in EIO EPERM EACCES; do
	writable lscpu/x86_64-epyc_7451
	irq 60 30 nvme0q31
	irq 61 31 eth0-rx-1
	irq 62 32 eth0-rx-2
	freeze
	new_rules "proc/irq/60/* write $error" 'proc/irq/61/* write ENOSPC 1'
	krun --socket 1 --json
	verdict "7: $error" 0 'done' as-asked
	ok "7: $error: the others moved" jq -en --arg irqs "$(irqs)" \
		'$irqs | split(" ") | .[0] == "30" and ([.[1:][] | tonumber | . < 24 or (. > 47 and . < 72)] | all)'
	is "7: $error: another survivor was tried" 2 "$(grep -c '^write proc/irq/61/' "$log")"
	json_is "7: $error: two have moved" .result.irqs_moved 2
	json_is "7: $error: it is left to the kernel" \
		'[.steps[] | select(.kind == "irq.affinity") | .state] | join(" ")' 'failed applying applied'
	new_rules "proc/irq/60/* write $error"
	krun --restore --json
	is "7: $error: those two alone come back" "0 proc/irq/61 proc/irq/62" \
		"$rc $(sed -n 's,^write \(proc/irq/6.\)/.*,\1,p' "$log" | paste -sd' ' -)"
	as_before "7: $error"
done
chmod 0444 "$t/proc/irq/60/smp_affinity_list"
run --socket 1 --dry-run --json
json_is "7: Linux 6.12 shows which those are" '.findings[] | select(.rule == "irq-fixed") | .severity' note
is "7: Linux 6.12: nothing is planned for them" "irq 61 eth0-rx-1, irq 62 eth0-rx-2" \
	"$(json '[.steps[] | select(.kind == "irq.affinity") | .object] | join(", ")')"

note "7: irqbalance may move interrupts back"
writable lscpu/x86_64-epyc_7451
run --socket 1 --dry-run
ok "7: no irqbalance" not says "$err" irqbalance
mkdir -p "$t/run"
echo 77 >"$t/run/irqbalance.pid"
run --socket 1 --dry-run
err_says "7: irqbalance runs" 'warning: irqbalance.*move interrupts back'

note "8: a core that throws machine checks"
P lscpu/x86_64-epyc_7451 24,72 core-of:24
P lscpu/x86_64-epyc_7451 24 cpu:24
json_is "8: a warning for 72" '[.findings[] | select(.severity == "warn" and .cpus == "72")] | length' 1

writable lscpu/x86_64-epyc_7451
krun --core-of 24
out_says "8: it is lost at reboot" 'reboot'

note "9: hybrid cores"
P hwloc/20em64t-hybrid-1p6c2t+2ca4co1t 1,3,5,7,9,11 smt
P hwloc/20em64t-hybrid-1p6c2t+2ca4co1t 12 core-of:12
refuse hwloc/20em64t-hybrid-1p6c2t+2ca4co1t 3 'remain|no CPU|last' socket:0

note "10: gaps in the CPU numbers"
P fake/fake-gap-smt8 80-103,120-151 socket:1
refuse fake/fake-gap-smt8 2 '104-119' cpu:100-125
P hwloc/nvidiagpunumanodes 88-103 socket:8
P lscpu/rv64-milkvpioneer 8-15,24-31 node:1
refuse hwloc/48amd64-4pa2n6c-sparse 2 '0-2,33-34,45,72-73' node:3
P hwloc/48amd64-4pa2n6c-sparse 18-23 node:33
unwritten 2 fake/fake-gap-smt8 cpu:100-125

note "11: more than 1024 CPUs"
P fake/fake-2048cpu-8s-cxl 896-1023,1920-2047 node:7
refuse fake/fake-2048cpu-8s-cxl 3 'node 8 has no CPU' node:8
P fake/fake-2048cpu-8s-cxl 1024-2047 smt

note "12: CPU 0"
refuse lscpu/x86_64-epyc_7451 3 'cpu ?0.*online' socket:0
run --socket 0 --skip-unpluggable --dry-run --json
verdict "12: --skip-unpluggable" 64 partial as-before
is "12: --skip-unpluggable" "$(expand_down 1-23,48-71)" "$(steps_of)"
json_is "12: --skip-unpluggable is not safe" .service.safe_to_remove false
run --socket 0 --skip-unpluggable --dry-run
any_says "12: --skip-unpluggable" PARTIAL
refuse hwloc/32intel64-2p8co2t+8ve 3 'allow-cpu0' socket:0
run --socket 0 --allow-cpu0 --dry-run --json
verdict "12: --allow-cpu0" 0 ready as-before
refuse lscpu/sparc64 3 '7.*online|online.*7' cpu:7

note "13: it never comes back"
writable lscpu/x86_64-epyc_7451
krun --socket 1
status "13: epyc --socket 1" 0
new_rules 'cpu25 online EIO'
krun --restore --json
verdict "13: CPU 25 stays" 5 failed in-between
is "13: all others return" 0-24,26-95 "$(online)"
run --status
out_says "13: the journal keeps 25" '(^|[^0-9-])25([^0-9-]|$)'
new_rules 'cpu25 online EIO'
krun --restore
is "13: 25 alone is tried again" "5 25" "$rc $(writes | tr , '\n' | sed 's/=.*//' | sort -u | paste -sd, -)"
new_rules
krun --restore
is "13: and comes" "0 0-95 0" "$rc $(online) $(journals)"

note "14: CPUs move while the topology is read"
writable fake/fake-2s-cxl-memonly
freeze
new_rules 'cpu28 vanish sys-open 1'
krun --socket 1 --json
verdict "14: CPU 28 leaves" 3 refused as-before
is "14: CPU 28 leaves: no write" "" "$(writes)"
is "14: CPU 28 leaves: no journal" 0 "$(journals)"
writable fake/fake-2s-cxl-memonly
new_rules 'cpu28 vanish sys-open 1'
krun --socket 1
err_says "14: CPU 28 leaves" 'changed.*online-changed'
writable fake/fake-2s-cxl-memonly
by_hand 0 10
new_rules 'cpu10 appear cpu-write 5'
krun --cpu 8-15,24-31 --json
if [ "$rc" -eq 0 ]; then
	is "14: CPU 10 appears in the target, and goes" 0-7,16-23 "$(online)"
else
	ok "14: CPU 10 appears in the target: reported" says "$out" '[^0-9]10[^0-9]|cpu-appeared'
fi

note "15: EBUSY"
writable lscpu/x86_64-epyc_7451
freeze
new_rules 'cpu30 offline EBUSY 2'
krun --socket 1 --json
verdict "15: EBUSY twice" 0 'done' as-asked
krun --restore
as_before "15: EBUSY twice, --restore"
aside_finish always_busy
status "15: always EBUSY" 1
ok "15: always EBUSY: ten seconds at most ($seconds)" test "$seconds" -le 20
err_says "15: always EBUSY: names it and suggests causes" 'cpu ?95'
err_says "15: always EBUSY: names it and suggests causes" 'deadline|partition|isolated|hotplug'
as_before "15: always EBUSY"

note "16: standby is not offline"
dump lscpu/s390-lpar
run --restore --cpu 0,6,7 --dry-run --json
status "16: 0 can come, 6-7 cannot" 5
document "16: 0 can come, 6-7 cannot"
is "16: 0 alone is written" 0 "$(steps_of)"
run --restore --cpu 0,6,7 --dry-run
any_says "16: 6-7 are rejected" standby
refuse lscpu/s390-lpar 2 'socket' socket:0
unwritten 2 lscpu/s390-lpar socket:0

note "17: a cpuset that would be empty"
refuse fake/fake-2s-cgroup-on-socket1 3 'machine.slice/vm1.scope \(8-9' socket:1
unwritten 3 fake/fake-2s-cgroup-on-socket1 socket:1
P fake/fake-2s-cgroup-on-socket1 8-15,24-31 socket:1 --force
json_is "17: forced, it is a warning" '.findings[] | select(.rule == "cpuset-emptied").severity' warn

note "17: the caller's cpuset does not shrink what there is"
R hwloc/16amd64-8n2c-cpusets 8-9 node:4
R hwloc/16amd64-8n2c-cpusets 5 node:2

note "18: no right to write"
writable lscpu/x86_64-epyc_7451
freeze
new_rules 'sys/* open EROFS'
krun --socket 1 --json
verdict "18: read-only /sys" 4 refused as-before
krun --socket 1
status "18: read-only /sys" 4
err_says "18: read-only /sys" 'sys/devices/system/cpu/cpu[0-9]+/online'
untouched "18: read-only /sys"
new_rules
if can_drop && [ "$(id -u)" -eq 0 ]; then
	run_dropped --socket 1
	status "18: not root" 4
	err_says "18: not root" 'sys/devices/system/cpu/cpu[0-9]+/online'
	untouched "18: not root"
else
	skip "18: not root" "cannot drop rights here"
fi

note "19: fifty minutes"
new_rules '* offline delay:0.55'
kstart --smt --method=sequential --json
wait_writes 10
kill -s INT "$pid"
finish
verdict "19: SIGINT after ten" 130 rolled-back as-before
is "19: the journal was there before each write" "" "$(grep 'online 0' "$log" | grep -v journals=1)"
is "19: they went, and the same came back" "$(writes | tr , '\n' | sed -n 's/=0$//p' | sort)" \
	"$(writes | tr , '\n' | sed -n 's/=1$//p' | sort)"
as_before "19: SIGINT after ten"
err_says "19: progress within five seconds" '[0-9]+ ?(of|/) ?48'

new_gate
new_rules "cpu86 offline until:$gate" "* online until:$gate.2 1"
kstart --smt --method=sequential --json
wait_gate
kill -s INT "$pid"
open_gate
wait_for grep -q '^wait [^ ]* online' "$log"
kill -s INT "$pid"
: >"$gate.2"
finish
verdict "19: a second SIGINT" 5 failed in-between
new_rules
krun --restore --wait
status "19: a second SIGINT, --restore" 0
as_before "19: a second SIGINT, --restore"

new_gate
new_rules "cpu85 offline until:$gate"
kstart --smt --method=sequential
wait_gate
kill -s KILL "$pid"
finish
open_gate
status "19: SIGKILL" 137
krun --restore --wait
status "19: SIGKILL, --restore" 0
as_before "19: SIGKILL, --restore"

new_gate
new_rules "cpu86 offline until:$gate"
kstart --smt --method=sequential --on-error=stop --json
wait_gate
kill -s INT "$pid"
open_gate
finish
verdict "19: SIGINT, --on-error=stop" 64 partial in-between
is "19: SIGINT, --on-error=stop: a journal" 1 "$(journals)"
new_rules
krun --restore
as_before "19: SIGINT, --on-error=stop, --restore"

note "20: SMT off blocks the return"
dump fake/fake-2s-smtoff
run --restore --cpu 16-31 --dry-run
status "20: --restore --cpu 16-31" 3
err_says "20: --restore --cpu 16-31" 'smt/control.*off'
P fake/fake-2s-smtoff 8-15 socket:1
ok "20: a note says that 16-31 are offline" jq -e '[.findings[] | select(.severity == "note") | .message + .cpus | test("16-31")] | any' "$out"
json_is "21: survivors" .survivors.cpus 0-7
writable fake/fake-2s-smtoff
krun --socket 1
krun --restore
is "20: --restore does not add them" "0 0-15" "$rc $(online)"

note "21: survivors are what is online"
dump fake/fake-gap-smt8
did fake/fake-gap-smt8 socket:0 --allow-cpu0
run --socket 0 --allow-cpu0 --dry-run --json
verdict "21: gap --socket 0" 0 ready as-before
json_is "21: gap --socket 0" .survivors.cpus 80-103,120-151

note "22: schedulers that fall over"
writable lscpu/x86_64-epyc_7451
run --socket 1 --dry-run
ok "22: no such file" not says "$err" sched
mkdir -p "$t/sys/kernel/sched_ext/root"
echo enabled >"$t/sys/kernel/sched_ext/state"
echo rusty_1.0.4 >"$t/sys/kernel/sched_ext/root/ops"
run --socket 1 --dry-run
status "22: a scheduler is at work" 0
err_says "22: a scheduler is at work" 'warning: .*rusty_1.0.4'
run --socket 1 --dry-run --strict
status "22: a scheduler is at work, --strict" 3
err_says "22: a scheduler is at work, --strict" 'refused: .*rusty_1.0.4'
echo disabled >"$t/sys/kernel/sched_ext/state"
run --socket 1 --dry-run --strict
ok "22: it has ended" not says "$err" sched

note "hazards seen in dumps only"
R hwloc/64amd64-4s2n4ca2co "$(seq -s, 1 2 63)" smt
any_says "64amd64: printed with its basis" 'kernel|sysfs|thread_siblings'
R lscpu/arm-A510-A710-A715-X3 7 socket:2
P lscpu/loongarch-kvm_on_loongson_3c6000 5 socket:5
json_is "loongarch: 32 sockets of one node are suspicious" '[.findings[] | select(.severity == "warn")] | length > 0' true
R hwloc/128arm-2pa2n8cluster4co 64-127 socket:8442
R hwloc/128arm-2pa2n8cluster4co 64-95 node:2
refuse hwloc/128arm-2pa2n8cluster4co 2 '36,8442' socket:0
R hwloc/96em64t-4no4pa3ca2co 0,4,8,12,16,20 socket:1
R hwloc/96em64t-4no4pa3ca2co 1,5,9,13,17,21 socket:0
dump lscpu/x86_64-64cpu
run --node 0 --skip-unpluggable --dry-run
any_says "x86_64-64cpu: node 0 covers two sockets" 'sockets? 0.*1'
R lscpu/s390-lpar-drawer 0-7 node:0
refuse hwloc/2ps3-2t 2 socket socket:0
refuse lscpu/ppc-qemu 3 'last|remain|no CPU' cpu:0
refuse lscpu/ppc-qemu 2 socket socket:0
refuse lscpu/ppc-qemu 2 node node:0

note "parts of real machines"
R hwloc/32em64t-2n8c+dax+nvme+mic+dimms 8-15 near:ib0
R hwloc/32em64t-2n8c+dax+nvme+mic+dimms 0-7 near:/dev/sda
R hwloc/32em64t-2n8c+dax+nvme+mic+dimms 8 apicid:32
dump hwloc/20em64t-hybrid-1p6c2t+2ca4co1t
run --list --json --mce 'mce: [Hardware Error]: PROCESSOR 0:90672 TIME 1700000000 SOCKET 0 APIC 1 microcode 1e'
is "a machine check, by its APIC id" "0 0-1" "$rc $(json .selection.cpus)"
dump lscpu/x86_64-epyc_7451
run --list --json --mce '[Hardware Error]: CPU:24 (17:1:2) MC0_STATUS[Over|CE|MiscV|-|AddrV]: 0xdc204000000c0135'
is "8: a machine check, by its CPU" "0 24,72" "$rc $(json .selection.cpus)"
dump hwloc/32em64t-2n8c+dax+nvme+mic+dimms
run --service --socket 1 --json
json_is "service: what is in the way of socket 1" '.service.blockers | map(.kind) | group_by(.) |
	map("\(length) \(.[0])") | join(", ")' "1 cpu, 11 device, 1 memory"
ok "service: its network card" jq -e '[.service.blockers[].message | test("mlx4_core.: ib0 is up")] | any' "$out"
ok "service: its memory" jq -e '[.service.blockers[].message | test("memory 144-271$")] | any' "$out"
dump fake/fake-2s-cxl-memonly
run --service --node 1 --json
json_is "service: memory that is near both sockets belongs to neither" \
	'[.service.blockers[] | select(.kind == "memory") | .object] | join(",")' "node 1"
dump lscpu/x86_64-epyc_7451
run --socket 1 --dry-run --json
json_is "service: what a copy does not show is not safe" '.service | "\(.safe_to_remove) " +
	(.blockers | map(.kind + " " + .object) | join(","))' \
	"false not-checked node 4,not-checked node 5,not-checked node 6,not-checked node 7,not-checked PCI devices"
json_is "settings: the governors and limits of its policies" '[.steps[] | select(.kind == "cpu.settings")] | length' 144
dump lscpu/arm-A510-A710-A715-X3
run --service --cpu 7 --json
json_is "service: no NUMA nodes" '[.service.blockers[] | select(.kind == "memory") | .object] | join(",")' machine

note "every case of the list is here"
if [ -r "$cases/CASES.md" ]; then
	# Its commands with their dumps, named before or in them; "..." stands for the rest of a name
	awk -F'`' '
		FNR == 1 { dump = "" }
		/^\*\*Conventions/ { skip = 1 }
		/^## / { skip = 0 }
		skip || /^- `[RP] d sel`/ { next }
		{
			for (i = 1; i <= NF; i++) {
				gsub(/\342\200\246/, "...", $i)
				n = split($i, word, / +/)
				is_command = i % 2 == 0 && word[1] ~ /^([RP]|\.\.\.)$/
				for (j = 1; j <= n; j++)
					if (word[j] ~ /^(hwloc|lscpu|fake)\//) {
						dump = word[j]
						sub(/\.\.\..*|[,:;]+$/, "", dump)
						sub(/\.\.\.$/, "", dump)
						from = j + 1
					} else if (j == 1 || word[j] == "...")
						from = j + 1
				if (!is_command)
					continue
				line = dump
				for (j = from; j <= n; j++)
					line = line " " word[j]
				print line
			}
		}' "$cases/CASES.md" | sort -u >"$work/listed"
	sed 's/^\([^ ]*\) /\1* /' "$work/listed" | while read -r pattern rest; do
		while read -r dump selectors; do
			# shellcheck disable=SC2254
			case $dump in
			$pattern) [ "$selectors" != "$rest" ] || continue 2 ;;
			esac
		done <"$work/did"
		echo "$pattern $rest"
	done >"$work/missing"
	ok "commands are found in the list" test "$(wc -l <"$work/listed")" -gt 30
	is "every command of the list is run" "" "$(cat "$work/missing")"
	# 11 and 17 speak of tasks, too, which a tree has none of: pins.vmt and evacuate.vmt have them
	sed -n 's/^\*\*\([0-9]*\)\. .*/\1/p' "$cases/CASES.md" | while read -r number; do
		grep -q "note \"$number: " "$here/cases.sh" || echo "$number"
	done >"$work/missing"
	is "every case of the list has its tests" "" "$(cat "$work/missing")"
else
	skip "every case of the list is here" "no list"
fi

note "every dump is read without a crash"
for archive in "$cases"/dumps/*/*.tar.xz; do
	name=${archive#"$cases/dumps/"}
	name=${name%.tar.xz}
	case $name in
	# This one has no machine in it
	hwloc/allowed-test1) continue ;;
	esac
	dump "$name"
	run --list --json
	ok "--list of $name" test "$rc" -eq 0
	is "--list of $name: every CPU directory" \
		"$(find "$t/sys/devices/system/cpu" -maxdepth 1 -name 'cpu[0-9]*' | wc -l)" "$(json '.cpus | length')"
done

done_testing
