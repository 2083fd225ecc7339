# SPDX-License-Identifier: GPL-2.0-or-later
# rules.sh - what preflight reads off the files of a machine, and what is said of a failure
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

severity_of() {
	json ".findings[] | select(.rule == \"$1\").severity"
}

# ---- one machine a rule: its files, the rule, how severe it is, what is said -------------------

# sees RULE SEVERITY PATTERN - with the files that were put, in a plan to take socket 1
sees() {
	run --socket 1 --dry-run --json
	is "$1: found" "$2" "$(severity_of "$1")"
	err_says "$1" "$3"
	case $2 in
	refuse) sees_status=3 ;;
	*) sees_status=0 ;;
	esac
	status "$1" "$sees_status"
	[ "$2" != warn ] || {
		run --socket 1 --dry-run --strict
		status "$1, --strict" 3
	}
	[ "$2" != refuse ] || {
		run --socket 1 --dry-run --force --json
		is "$1, --force" "0 warn" "$rc $(severity_of "$1")"
		run --socket 1 --dry-run --force --strict
		status "$1, --force --strict" 0
	}
	tree_2s
}

tree_2s
run --socket 1 --dry-run --json
json_is "a machine like any other: no more than notes" '[.findings[].rule] | join(" ")' \
	'node-memory evacuation-passed-over'

put proc/loadavg "17.20 16.90 9.00 20/900 4711"
sees cpu-demand warn 'load is 17.2 .*16 CPUs stay'
put proc/loadavg "15.20 15.90 9.00 20/900 4711"
run --socket 1 --dry-run --json
is "a load that fits" "" "$(severity_of cpu-demand)"

put sys/devices/system/node/node1/meminfo "Node 1 MemTotal:  67108864 kB" "Node 1 MemUsed:   3145728 kB"
sees node-memory note 'node 1 \(65536 MiB, 3072 in use\)'
put sys/module/kvm_intel/parameters/tdx Y
sees tdx-host refuse 'socket 1 would lose its last CPU'
put proc/cpuinfo "processor	: 0" "flags		: fpu apic tdx_guest" ""
sees tdx-guest refuse 'TDX guest'
put sys/class/powercap/intel-rapl:1/name package-1
sees socket-emptied note 'socket 1 .*intel-rapl:1'
put sys/class/thermal/cooling_device7/type intel_powerclamp
put sys/class/thermal/cooling_device7/cur_state 30
sees idle-injection note 'cooling_device7 .intel_powerclamp, at 30'
put sys/devices/system/cpu/microcode/reload ""
sees microcode-loading note 'microcode can be loaded at run time here'
put sys/bus/vmbus/devices/aa-bb/channels/14/cpu 9
sees hyperv-channels refuse 'aa-bb/channels/14/cpu on 9'
put sys/kernel/debug/sched/debug "cpu#0" "  .dl_bw->total_bw               : -943718"
sees deadline-leak refuse '[-]0.90 CPUs'
put sys/kernel/debug/irq/domains/VECTOR " | CPU | avl | man | mac | act | vectors" \
	"     0    70     0     0   131  33-163" "     8   100     0     0   100  33-132"
sees interrupt-vectors refuse '100 interrupt vectors .* 131 in use and 70 free'
put sys/block/nvme0n1/stat "10 0 80 5 7 0 64 3 2 9 9"
put sys/block/nvme0n1/mq/1/cpu_list "8, 24"
sees block-requests warn 'nvme0n1 \(2\) on 8,24'
put sys/class/nvme/nvme5/transport rdma
sees nvme-fabrics warn 'nvme5 \(rdma\)'
put sys/kernel/sched_ext/state enabled
put sys/kernel/sched_ext/root/ops rusty
sees sched-ext warn rusty
put var/lib/kubelet/cpu_manager_state '{"policyName":"static","defaultCpuSet":"0-7","entries":{"uid":{"db":"8-9"}}}'
sees kubelet-static warn 'cpu_manager_state.*uid/db on 8-9'
put run/slurmd.pid 77
put proc/sys/kernel/hostname node03
put etc/slurm/slurm.conf "NodeName=node[01-16] CPUs=32 State=UNKNOWN"
sees slurm-node warn '32 CPUs, and 16 stay'
put run/tuned/tuned.pid 77
put etc/tuned/active_profile cpu-partitioning
sees tuned-isolation warn cpu-partitioning
put run/irqbalance.pid 77
sees irqbalance-deaf warn 'process'
put etc/udev/rules.d/60-mine.rules 'SUBSYSTEM=="cpu", ATTR{online}=="0", ATTR{online}="1"'
sees udev-online warn '/etc/udev/rules.d/60-mine.rules:1'
put usr/lib/udev/rules.d/40-redhat.rules 'SUBSYSTEM=="cpu", ACTION=="add", ATTR{online}="1"'
sees udev-online note '/usr/lib/udev/rules.d/40-redhat.rules:1'
put sys/kernel/kexec_crash_loaded 1
sees kdump-reload note '16 CPUs'

tree_2s housekeepers --cmdline "isolcpus=0-6,16-22" --isolated 0-6,16-22
sees housekeepers-few warn 'of 18 CPUs .* 2 \(7,23\)'
tree_2s tick --cpu0-online --cmdline "nohz_full=8-15"
put sys/devices/system/cpu/nohz_full 8-15
run --cpu 0 --core-of 0 --allow-cpu0 --dry-run --json
is "tick-cpu: found" "3 refuse" "$rc $(severity_of tick-cpu)"
run --core-of 0 --allow-cpu0 --dry-run --force
status "tick-cpu, --force" 0
run --socket 1 --dry-run --json
is "tick-cpu: others may go" "0 " "$rc $(severity_of tick-cpu)"
tree nodes --sockets 2 --cores 8 --nodes 2
run --node 3 --dry-run --json
is "socket-nodes-stay: found" "0 note" "$rc $(severity_of socket-nodes-stay)"
err_says "socket-nodes-stay" 'socket 1 .*node 2 stays'
run --node 2-3 --dry-run --json
is "socket-nodes-stay: the whole socket goes" "0 " "$rc $(severity_of socket-nodes-stay)"

# ---- all of them, the most severe first --------------------------------------------------------

tree_2s
put sys/kernel/kexec_crash_loaded 1
put sys/kernel/sched_ext/state enabled
put sys/bus/vmbus/devices/aa-bb/channels/14/cpu 9
run --socket 1 --dry-run --json
json_is "all findings" '[.findings[] | "\(.rule) \(.severity)"] | join(", ")' \
	"hyperv-channels refuse, sched-ext warn, node-memory note, kdump-reload note"
ok "in text as well" test "$(grep -c '\[\(hyperv-channels\|sched-ext\|kdump-reload\)\]' "$err")" -eq 3

# ---- a file that leads out of the tree is not read ----------------------------------------------

tree_2s
mkdir -p "$t/var/lib/kubelet" "$work/outside"
echo '{"policyName":"static","defaultCpuSet":"0-31","entries":{}}' >"$work/outside/state"
ln -s "$work/outside/state" "$t/var/lib/kubelet/cpu_manager_state"
run --socket 1 --dry-run --json
is "nothing outside of the tree is read" "" "$(severity_of kubelet-static)"

# ---- the catalogue ------------------------------------------------------------------------------

run --list-rules
status --list-rules 0
out_says --list-rules '^interrupt-vectors +refuse or warn, --force accepts it'
out_says --list-rules 'looks at: /sys/kernel/debug/irq/domains/VECTOR'
ok "--list-rules is quiet on stderr" not test -s "$err"
run --list-rules --json
verdict "--list-rules --json" 0 'done'
json_is "--list-rules --json" '[.rules[].rule] | (length >= 60) and (length == (unique | length))' true
ok "--list-rules --json: as the schema has it" jq -es --slurpfile schema \
	"$abs_top_srcdir/share/cpuoff/cpuoff.schema.json" -f "$here/schema.jq" "$out"
run --list-rules --socket 1
status "--list-rules with a selection" 2
run --list-rules --status
status "--list-rules with another action" 2

# ---- a failure, with the kernel's own words -----------------------------------------------------

# The log is read from the beginning of the run on; the failure is held back until something is in it
tree_2s
put dev/kmsg "4,1,1000,-;CPU 30 has 9 vectors, 9 available. Cannot disable CPU"
new_gate
new_rules "cpu31 offline until:$gate" 'cpu30 offline ENOSPC'
kstart --socket 1 --json
wait_gate
printf '%s\n' "6,2,2000,-;smpboot: CPU 31 is now offline" " SUBSYSTEM=cpu" \
	"12,3,3000,-;CPU 30 is what a daemon speaks of" \
	"4,4,4000,-;CPU 30 has 131 vectors, 70 available. Cannot disable CPU" \
	"4,5,5000,-;something else went wrong" >>"$t/dev/kmsg"
open_gate
finish
verdict "ENOSPC" 1 rolled-back as-before
json_is "ENOSPC: the kernel's words" .result.failed[0].kernel_log \
	"CPU 30 has 131 vectors, 70 available. Cannot disable CPU"
json_is "ENOSPC: cause and remedy" '.result.failed[0] | "\(.cause) \(.remedy)" | test("interrupt vectors.*ethtool")' true
err_says "ENOSPC, in text" 'kernel log: CPU 30 has 131 vectors'
ok "ENOSPC: as the schema has it" jq -es --slurpfile schema \
	"$abs_top_srcdir/share/cpuoff/cpuoff.schema.json" -f "$here/schema.jq" "$out"
tree_2s
new_rules 'cpu30 offline EIO'
krun --socket 1 --json
json_is "no log: null" .result.failed[0].kernel_log null

done_testing
