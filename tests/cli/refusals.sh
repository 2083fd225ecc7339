# SPDX-License-Identifier: GPL-2.0-or-later
# refusals.sh - what preflight refuses: the status, the reason, and not one write
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# refused NAME STATUS PATTERN ARG... - by the dry run and by the run, in text and in JSON
refused() {
	refused_name=$1
	refused_status=$2
	refused_pattern=$3
	shift 3
	refused_verdict=refused
	[ "$refused_status" -ne 2 ] || refused_verdict=invalid
	freeze
	krun "$@"
	status "$refused_name" "$refused_status"
	err_says "$refused_name" "$refused_pattern"
	ok "$refused_name: nothing on stdout" not test -s "$out"
	krun "$@" --json
	verdict "$refused_name" "$refused_status" "$refused_verdict" as-before
	if [ "$refused_status" -ne 4 ]; then
		krun "$@" --dry-run --json
		verdict "$refused_name, dry run" "$refused_status" "$refused_verdict" as-before
	fi
	ok "$refused_name: the kernel was asked nothing" test "$(grep -c '^write' "$log")" -eq 0
	untouched "$refused_name"
}

# ---- CPU 0 and others that cannot go ---------------------------------------------------------

tree_2s
refused "CPU 0 has no online file" 3 '(cpu ?0|0 has).*online' --socket 0
json_is "CPU 0 has no online file" '[.findings[] | select(.severity == "refuse" and .cpus == "0")] | length > 0' true
json_is "CPU 0 has no online file" '[.findings[] | select(.severity == "refuse") | .message, .remedy | length > 0] | all' true
krun --socket 0 --skip-unpluggable --dry-run --json
verdict "--skip-unpluggable, dry run" 64 partial as-before
is "--skip-unpluggable plans the others" "$(expand_down 1-7,16-23)" "$(steps_of)"
krun --socket 0 --skip-unpluggable --dry-run
status "--skip-unpluggable, dry run in text" 64
out_says "--skip-unpluggable, dry run in text" PARTIAL
krun --cpu 0 --skip-unpluggable --json
ok "--skip-unpluggable with nothing left is not done" test "$rc" -eq 3 -o "$rc" -eq 1
json_is "--skip-unpluggable with nothing left says why" '[.findings[].cpus] | index("0") != null' true
is "--skip-unpluggable with nothing left" 0-31 "$(online)"

tree_2s holdouts --no-online 12,28
refused "two CPUs without online file" 3 '12,28' --socket 1

tree_2s cpu0 --cpu0-online
refused "CPU 0 without --allow-cpu0" 3 'allow-cpu0' --cpu 0
run --socket 0 --allow-cpu0 --dry-run --json
verdict "--allow-cpu0" 0 ready as-before
json_is "--allow-cpu0" .target.cpus 0-7,16-23

# ---- who would remain ------------------------------------------------------------------------

tree_2s all --cpu0-online
refused "nothing would remain" 3 'no CPU|remain|last|nothing' --socket 0-1 --allow-cpu0
refused "nothing would remain, forced" 3 '.' --cpu 0-31 --allow-cpu0 --force
tree_2s rest --offline 0-7,16-23 --cpu0-online
refused "the others are off already" 3 '.' --cpu 8-15,24-31

# housekeeping NAME CMDLINE ISOLATED PATTERN - socket 1 has all CPUs that do the housekeeping
housekeeping() {
	tree_2s hk --cmdline "$2" --isolated "$3"
	refused "$1" 3 "$4" --socket 1
	refused "$1, forced" 3 "$4" --socket 1 --force --skip-unpluggable
	krun --cpu 8-15,24-30 --dry-run --json
	verdict "$1, one of them stays" 0 ready as-before
}
housekeeping "nohz_full" "root=/dev/vda1 nohz_full=0-7,16-23 quiet" "" nohz_full
housekeeping "nohz_full with a stride" "nohz_full=0-7:1,16-23" "" nohz_full
housekeeping "isolcpus" "isolcpus=0-7,16-23" 0-7,16-23 isolcpus
housekeeping "isolcpus with flags" "isolcpus=managed_irq,domain,0-7,16-23" 0-7,16-23 isolcpus
housekeeping "isolcpus=nohz" "isolcpus=nohz,0-7,16-23" "" 'isolcpus|nohz'
housekeeping "both" "nohz_full=0-7,16-23 isolcpus=0-7,16-23" 0-7,16-23 'isolcpus|nohz_full'
housekeeping "isolated says it, the command line does not" "quiet" 0-7,16-23 'isolat'
housekeeping "the last word of two counts too" "quoted=\"nohz_full=31 x\" nohz_full=0-7,16-23" "" nohz_full

tree_2s hk_rest --cmdline "nohz_full=8-15,24-31 isolcpus=8-15,24-31" --isolated 8-15,24-31
run --socket 1 --dry-run --json
verdict "the isolated ones go" 0 ready as-before
tree_2s hk_word --cmdline "quiet xnohz_full=0-7,16-23 module.isolcpus=0-7,16-23"
run --socket 1 --dry-run --json
verdict "words that only end in nohz_full or isolcpus" 0 ready as-before

# Those that do the housekeeping may be off already
tree_2s hk_off --cmdline "nohz_full=0-6,16-31" --offline 7
refused "the last housekeeping CPUs, others are offline" 3 nohz_full --cpu 8-15

# ---- places without CPUs ---------------------------------------------------------------------

tree memory --sockets 2 --cores 4 --memory-node
refused "a node without CPUs" 3 'node 2 has no CPU' --node 2

# ---- rights ----------------------------------------------------------------------------------

tree_2s rofs
new_rules 'sys/* open EROFS'
refused "read-only /sys" 4 'sys/devices/system/cpu/cpu' --socket 1
json_is "read-only /sys" '[.findings[] | select(.severity == "refuse")] | length > 0' true
refused "read-only /sys comes before other reasons" 4 'sys/devices/system/cpu/cpu' --socket 0
krun --socket 1 --dry-run --json
verdict "a dry run needs no right to write" 0 ready as-before
krun --socket 0 --dry-run --json
verdict "a dry run never exits 4" 3 refused as-before

tree_2s rofs_one
new_rules 'cpu27 open EROFS'
refused "one file cannot be written" 4 'cpu27' --socket 1
tree_2s acces
new_rules '* open EACCES'
refused "no permission" 4 'permission|EACCES|root' --socket 1

tree_2s user
chmod -R go-w "$t"
if can_drop && [ "$(id -u)" -eq 0 ]; then
	freeze
	run_dropped --socket 1 --json
	verdict "not root" 4 refused as-before
	run_dropped --socket 1
	status "not root" 4
	err_says "not root" '.'
	run_dropped --socket 0 --json
	verdict "not root comes before other reasons" 4 refused as-before
	run_dropped --socket 0 --dry-run --json
	verdict "not root, dry run" 3 refused as-before
	untouched "not root"
else
	skip "not root" "cannot drop rights here"
fi

# ---- files that contradict each other --------------------------------------------------------

tree_2s node_maps
echo 8-15 >"$t/sys/devices/system/node/node1/cpulist"
refused "a node's list and mask differ" 3 '24-31|8-15' --node 1

tree_2s node_twice
echo 0-8,16-23 >"$t/sys/devices/system/node/node0/cpulist"
echo 00ff01ff >"$t/sys/devices/system/node/node0/cpumap"
refused "two nodes have a CPU" 3 '8' --node 1

tree_2s package
echo 0 >"$t/sys/devices/system/cpu/cpu31/topology/physical_package_id"
refused "a CPU's socket and its siblings' differ" 3 '31' --socket 1

tree_2s online_file
echo 0 >"$t/sys/devices/system/cpu/cpu30/online"
refused "mask and cpuN/online differ" 3 '30' --socket 1

# ---- the machine changes under it ------------------------------------------------------------

for event in "sys-open 1" "online-read 3"; do
	tree_2s moving
	new_rules "cpu28 vanish $event"
	krun --socket 1 --json
	if grep -q '^self' "$log"; then
		verdict "CPU 28 leaves meanwhile ($event)" 3 refused as-before
		is "CPU 28 leaves meanwhile ($event): no CPU was written" "" "$(writes)"
		is "CPU 28 leaves meanwhile ($event): no journal" 0 "$(journals)"
		is "CPU 28 leaves meanwhile ($event): rcu_expedited" 0 "$(expedited)"
		is "CPU 28 leaves meanwhile ($event): others stay" 0-27,29-31 "$(online)"
	else
		skip "CPU 28 leaves meanwhile ($event)" "there was no such moment"
	fi
done
tree_2s moving
new_rules "cpu28 vanish sys-open 1"
krun --socket 1
err_says "CPU 28 leaves meanwhile" 'changed'

tree_2s moving
new_rules "cpu28 vanish file-read 5"
krun --socket 1 --json
verdict "CPU 28 leaves while files are compared" 0 'done' as-asked
json_is "CPU 28 leaves while files are compared: they are read again" .result.offlined 8-15,24-27,29-31

# ---- all reasons at once ---------------------------------------------------------------------

tree_2s many --cpu0-online --no-online 3,20 --cmdline "nohz_full=8-15,24-31"
freeze
run --socket 0 --json
verdict "many reasons" 3 refused as-before
json_is "many reasons" '[.findings[] | select(.severity == "refuse").rule] | unique | length >= 3' true
untouched "many reasons"
run --socket 0
err_says "many reasons: online file" '3,20'
err_says "many reasons: CPU 0" 'allow-cpu0'
err_says "many reasons: housekeeping" 'nohz_full'

# ---- warnings --------------------------------------------------------------------------------

tree_2s warn
freeze
run --cpu 9 --dry-run --json
verdict "a sibling stays" 0 ready as-before
json_is "a sibling stays" '.findings[] | select(.rule == "smt-sibling-stays") | .severity + " " + .cpus' 'warn 25'
run --cpu 9 --dry-run
any_says "a sibling stays" '25'
refused "a sibling stays, --strict" 3 '25' --cpu 9 --strict
run --smt --dry-run --json
json_is "--smt alone leaves siblings on purpose, and says so once at most" \
	'[.findings[] | select(.rule == "smt-sibling-stays")] | length <= 1' true
run --socket 1 --dry-run --json --strict
verdict "a whole socket has nothing to warn of" 0 ready as-before
untouched "warnings"

done_testing
