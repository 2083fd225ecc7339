# SPDX-License-Identifier: GPL-2.0-or-later
# settings.sh - what the kernel forgets of CPUs that go and come back
# shellcheck disable=SC2016

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

C=sys/devices/system/cpu
R=sys/fs/resctrl

get() {
	cat "$t/$1"
}

# policy NUMBER "CPU CPU" DRIVER GOVERNOR
policy() {
	put "$C/cpufreq/policy$1/affected_cpus" "$2"
	put "$C/cpufreq/policy$1/scaling_driver" "$3"
	put "$C/cpufreq/policy$1/scaling_governor" "$4"
	put "$C/cpufreq/policy$1/scaling_min_freq" 800000
	put "$C/cpufreq/policy$1/scaling_max_freq" 3000000
	put "$C/cpufreq/policy$1/scaling_setspeed" "<unsupported>"
}

# saved - the objects of the plan's step, without the slash and the folder of CPUs
saved() {
	json '[.steps[] | select(.kind == "cpu.settings") | .object | ltrimstr("/") | ltrimstr("'$C/'")] | join("\n")'
}

# written - the files that were written for settings, with their values
written() {
	sed -n 's,^write \(sys/[^ ]*\(cpufreq\|power\|cpuidle\|thermal\|resctrl\|uncore\)[^ ]*\) \(.*\) \(ok\|stays\) rcu.*,\1 \3,p' "$log" |
		sed "s,^$C/,," | paste -sd'|' -
}

# Socket 1 is 2-3, a core each
tree_set() {
	tree "$1" --sockets 2 --cores 2
	mkdir "$t/sys/bus"
}

note "none"
tree_set none
run --socket 1 --dry-run --json
is "a machine without: no such step" "" "$(saved)"

note "frequencies"
tree_set freq
policy 0 '0 1' acpi-cpufreq ondemand
policy 2 '2 3' acpi-cpufreq ondemand
put $C/cpufreq/ondemand/up_threshold 95
freeze
run --socket 1 --dry-run --json
is "kept ones, and no tunables: somebody else uses them" "cpufreq/policy2/scaling_governor
cpufreq/policy2/scaling_max_freq
cpufreq/policy2/scaling_min_freq" "$(saved)"
json_is "until-restore" '[.steps[] | select(.kind == "cpu.settings") | .lifetime] | unique | join(" ")' until-restore
untouched "plan"
run --cpu 3 --dry-run --json
is "a policy that keeps a CPU" "" "$(saved)"
krun --socket 1
krun --restore --json
is "nothing was lost: nothing is written" "" "$(written)"
as_before "nothing was lost"
policy 0 '0 1' acpi-cpufreq performance
krun --socket 1 --json
ok "tunables of the last user" says "$out" 'cpufreq/ondemand/up_threshold'
put $C/cpufreq/ondemand/up_threshold 80
put $C/cpufreq/policy2/scaling_max_freq 2000000
krun --restore --json
is "tunables are written back" "cpufreq/ondemand/up_threshold 95" "$(written)"
is "a limit that is another one is left" 2000000 "$(get $C/cpufreq/policy2/scaling_max_freq)"
json_is "and told" '[.findings[] | select(.rule == "setting-changed") | .severity + " " + .message] | join(",")' \
	"warn /$C/cpufreq/policy2/scaling_max_freq was 3000000 and is 2000000: the kernel keeps it, somebody else has changed it"
verdict "and told" 0 'done'
tree_set own
policy 0 '0 1' acpi-cpufreq userspace
policy 2 '2 3' acpi-cpufreq userspace
put $C/cpufreq/policy2/scaling_setspeed 1200000
put $C/cpufreq/policy2/userspace/tunable 7
krun --socket 1
put $C/cpufreq/policy2/scaling_setspeed 3000000
put $C/cpufreq/policy2/userspace/tunable 1
krun --restore
is "speed, and tunables of the policy's own" \
	"cpufreq/policy2/scaling_setspeed 1200000|cpufreq/policy2/userspace/tunable 7" "$(written)"
for driver in amd-pstate-epp intel_pstate; do
	tree_set "$driver"
	policy 2 '2 3' $driver powersave
	put $C/cpufreq/policy2/energy_performance_preference power
	krun --socket 1
	put $C/cpufreq/policy2/energy_performance_preference balance_power
	krun --restore --json
	[ $driver = amd-pstate-epp ] || break
	is "the preference of $driver is lost" "cpufreq/policy2/energy_performance_preference power" "$(written)"
done
is "the preference of $driver is kept" "" "$(written)"
ok "the preference of $driver is told" says "$out" 'preference was power and is balance_power'

note "each CPU"
tree_set each
put $C/cpu1/power/energy_perf_bias 6
put $C/cpu3/power/energy_perf_bias 0
put $C/cpu3/cpuidle/state0/disable 0
put $C/cpu3/cpuidle/state1/disable 1
run --socket 1 --dry-run --json
is "bias, and disabled states" "cpu3/power/energy_perf_bias
cpu3/cpuidle/state1/disable" "$(saved)"
krun --socket 1
put $C/cpu3/cpuidle/state1/disable 0
krun --restore --json
is "they are kept: told, and left" "1 " \
	"$(json '[.findings[] | select(.rule == "setting-changed")] | length') $(written)"

note "power limits"
tree_set power
for zone in 0 1; do
	put sys/class/powercap/intel-rapl:$zone/name package-$zone
	put sys/class/powercap/intel-rapl:$zone/enabled 1
	put sys/class/powercap/intel-rapl:$zone/constraint_0_power_limit_uw 150000000
	put sys/class/powercap/intel-rapl:$zone:0/name dram
	put sys/class/powercap/intel-rapl:$zone:0/enabled 0
done
put sys/class/powercap/intel-rapl:2/name psys
put sys/class/powercap/intel-rapl:2/enabled 1
run --cpu 3 --dry-run --json
is "a package that stays" "" "$(saved)"
run --socket 1 --dry-run --json
is "a package that goes" "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw
sys/class/powercap/intel-rapl:1/enabled
sys/class/powercap/intel-rapl:1:0/enabled" "$(saved)"
krun --socket 1
put sys/class/powercap/intel-rapl:1/enabled 0
put sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw 200000000
krun --restore
is "what was lost is written" "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw 150000000|sys/class/powercap/intel-rapl:1/enabled 1" \
	"$(written)"
new_rules
krun --socket 1
put sys/class/powercap/intel-rapl:1/name psys
put sys/class/powercap/intel-rapl:2/name package-1
put sys/class/powercap/intel-rapl:2/enabled 0
krun --restore
is "a zone that has another number now" "sys/class/powercap/intel-rapl:2/enabled 1" "$(written)"
tree_set dies
put sys/class/powercap/intel-rapl:0/name package-1-die-0
put sys/class/powercap/intel-rapl:0/enabled 1
run --socket 1 --dry-run --json
is "a die of a package" sys/class/powercap/intel-rapl:0/enabled "$(saved)"

note "uncore frequencies"
tree dies --sockets 2 --dies 2 --cores 2
mkdir "$t/sys/bus"
U=$C/intel_uncore_frequency
for die in 00_die_00 00_die_01 01_die_00 01_die_01; do
	put $U/package_$die/max_freq_khz 2400000
	put $U/package_$die/min_freq_khz 1200000
	put $U/package_$die/initial_max_freq_khz 2400000
done
put $U/uncore00/max_freq_khz 2000000
run --cpu 3 --dry-run --json
is "a die" "intel_uncore_frequency/package_01_die_01/max_freq_khz
intel_uncore_frequency/package_01_die_01/min_freq_khz" "$(saved | grep uncore)"
run --socket 1 --dry-run --json
is "all dies of a socket, and not those of TPMI" "00/max 00/min 01/max 01/min" \
	"$(saved | sed -n 's,.*uncore.*/package_01_die_\(.*\)_freq_khz$,\1,p' | paste -sd' ' -)"
krun --socket 1
put $U/package_01_die_01/max_freq_khz 2600000
krun --restore
is "what was lost is written" "intel_uncore_frequency/package_01_die_01/max_freq_khz 2400000" "$(written)"
tree dies --sockets 1 --dies 2 --cores 4
mkdir "$t/sys/bus"
put $U/package_00_die_01/max_freq_khz 2400000
run --cpu 3 --dry-run --json
is "a die that stays" "" "$(saved | grep uncore)"
run --cpu 2-3 --dry-run --json
is "a die that goes" intel_uncore_frequency/package_00_die_01/max_freq_khz "$(saved | grep uncore)"

note "package temperatures"
tree_set thermal
put sys/class/thermal/thermal_zone2/type acpitz
put sys/class/thermal/thermal_zone2/trip_point_0_temp 1
put sys/class/thermal/thermal_zone9/type x86_pkg_temp
put sys/class/thermal/thermal_zone9/trip_point_0_temp 80000
put sys/class/thermal/thermal_zone10/type x86_pkg_temp
put sys/class/thermal/thermal_zone10/trip_point_0_temp 85000
put sys/class/thermal/thermal_zone10/trip_point_1_temp 90000
krun --socket 1
put sys/class/thermal/thermal_zone10/trip_point_0_temp 0
krun --restore
is "the second zone is of the second package" "sys/class/thermal/thermal_zone10/trip_point_0_temp 85000" "$(written)"

note "resctrl"
tree_set resctrl
for cpu in 0 1 2 3; do
	put $C/cpu$cpu/cache/index3/id $((cpu / 2))
	put $C/cpu$cpu/cache/index2/id "$cpu"
done
put $R/cpus_list 0,2
put $R/schemata '    MB:0=100;1=50
    L3:0=fffff;1=ffff0'
put $R/db/cpus_list 1,3
put $R/db/schemata '    MB:0=100;1=100
    L3:0=fffff;1=0000f
    L2:0=ff;3=f0'
put $R/db/mon_groups/m/cpus_list 3
put $R/info/L3/cbm_mask fffff
freeze
run --cpu 3 --dry-run --json
is "a CPU: its groups, and the caches that are its own" "$R/db/cpus_list
$R/db/schemata L2:3
$R/db/mon_groups/m/cpus_list" "$(saved)"
run --socket 1 --dry-run --json
is "a socket: its domains, too" "$R/schemata MB:1
$R/schemata L3:1
$R/db/cpus_list
$R/db/schemata MB:1
$R/db/schemata L3:1
$R/db/schemata L2:3
$R/db/mon_groups/m/cpus_list" "$(saved)"
krun --socket 1
put $R/cpus_list 0,2-3
put $R/schemata '    MB:0=100;1=100
    L3:0=fffff;1=fffff'
put $R/db/cpus_list 1
put $R/db/schemata '    MB:0=100;1=100
    L3:0=fffff;1=fffff
    L2:0=ff;3=ff'
put $R/db/mon_groups/m/cpus_list ''
# The kernel merges what is written into the rest
new_rules "$R/*schemata write stays"
krun --restore
is "what was lost is written back" \
	"$R/schemata MB:1=50|$R/schemata L3:1=ffff0|$R/db/cpus_list 1,3|$R/db/schemata L3:1=0000f|$R/db/schemata L2:3=f0|$R/db/mon_groups/m/cpus_list 3" \
	"$(written)"
put $R/db/cpus_list 1,3
krun --socket 1
put $R/db/cpus_list 0
put $R/cpus_list 1-3
rm -r "$t/$R/db/mon_groups/m"
new_rules
krun --restore
is "others are left as somebody has made them" "0,3" "$(get $R/db/cpus_list)"
status "a group that is gone is no error" 0
put $R/db/cpus_list 1-3
krun --cpu 2
put $R/db/cpus_list 1,3
krun --cpu 3
put $R/db/cpus_list 1
krun "--restore=$(run --status --json && json '.operations[0].id')"
is "two operations: the first one's" "1,2" "$(get $R/db/cpus_list)"
krun --restore
is "two operations: the second one's" "1,2,3" "$(get $R/db/cpus_list)"

note "a failure puts back, too"
tree_set failure
policy 2 '2 3' amd-pstate-epp powersave
put $C/cpufreq/policy2/energy_performance_preference power
freeze
new_rules 'cpu2 offline ENOSPC'
krun --socket 1
status "rolled back" 1
as_before "rolled back"
tree_set refused
policy 2 '2 3' amd-pstate-epp powersave
put $C/cpufreq/policy2/energy_performance_preference power
krun --socket 1
put $C/cpufreq/policy2/energy_performance_preference performance
new_rules "$C/cpufreq/policy2/energy_performance_preference write EBUSY"
krun --restore
status "a value that cannot be written" 5
err_says "a value that cannot be written" 'energy_performance_preference could not be changed'
new_rules
krun --restore
is "the next restore tries it again" "0 power 0" \
	"$rc $(get $C/cpufreq/policy2/energy_performance_preference) $(journals)"

note "after an eject"
tree_set ejected
acpi ACPI0010:00- 2 3
policy 2 '2 3' intel_pstate powersave
krun --socket 1 --eject
plug 2 3
put $C/cpufreq/policy2/scaling_governor performance
krun --restore
is "all is written back" "cpufreq/policy2/scaling_governor powersave" "$(written)"

done_testing
