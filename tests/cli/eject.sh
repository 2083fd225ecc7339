# SPDX-License-Identifier: GPL-2.0-or-later
# eject.sh - CPUs are given back to the firmware, and waited for
# shellcheck disable=SC2016

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

present() {
	cat "$t/sys/devices/system/cpu/present"
}

# The objects ejected so far, in order
ejected() {
	sed -n 's,^write sys/devices/LNXSYSTM:00/LNXSYBUS:00/\(.*\)/eject 1 ok .*,\1,p' "$log" | paste -sd' ' -
}

cpus_of_1='8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31'

# Two sockets whose CPUs are objects of the firmware, each socket in a container
tree_acpi() {
	tree_2s "$@"
	mkdir "$t/sys/bus"
	acpi ACPI0004:00 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
	# shellcheck disable=SC2086
	acpi ACPI0004:01 $cpus_of_1
}

note "a whole container"
tree_acpi whole
freeze
run --socket 1 --eject --dry-run --json
verdict "plan" 0 ready
json_is "plan" '[.steps[] | select(.kind == "cpu.eject") | .object] | [length, first, last] | join(" ")' \
	"16 cpu 31 (LNXCPU:1f) cpu 8 (LNXCPU:08)"
json_is "plan" '.steps[-1] | [.kind, .object, .before, .after] | join(" ")' \
	"container.eject LNXSYSTM:00/LNXSYBUS:00/ACPI0004:01 present ejected"
untouched "plan"
krun --socket 1 --eject --json
verdict "run" 0 'done' as-asked
is "run: they are gone" "0-7,16-23 0-7,16-23" "$(online) $(present)"
is "run: highest first, then what held them" \
	"$(for cpu in 31 30 29 28 27 26 25 24 15 14 13 12 11 10 9 8; do
		printf 'ACPI0004:01/LNXCPU:%02x ' $cpu
	done)ACPI0004:01" "$(ejected)"
is "run: no CPU is ejected before all are off" 0 \
	"$(sed -n '/eject 1/,$p' "$log" | grep -c '/online 0')"
run --status
out_says "run" 'cpu.offline cpu.eject container.eject'

note "they are not back"
freeze
run --restore --json
verdict "absent" 5 failed
json_is "absent" '[.findings[] | select(.rule == "cpu-absent") | .cpus] | join(" ")' 8-15,24-31
is "absent: the journal stays" 1 "$(journals)"
run --restore --strict --json
verdict "absent, --strict" 3 refused
run --restore --socket 1
err_says "absent" '8-15,24-31 are not in the machine.*ejected'
err_says "absent" '--restore --wait'
run --restore --cpu 31 --json
verdict "one of them" 5 failed
run --restore --cpu 99
status "one that never was" 2
run --socket 1 --service --json
json_is "the verdict knows where they were" '.service.blockers | map(.kind + " " + .object) | join(",")' 'memory node 1'

note "some are back"
plug 8 9 31
krun --restore --json
verdict "some" 5 failed
is "some: they are online" "0-9,16-23,31 0-9,16-23,31" "$(online) $(present)"
is "some: the journal keeps the rest" 10-15,24-30 "$(run --status --json && json '.operations[0].cpus')"

note "--wait"
kstart --restore --wait --json
sleep 1
ok "it waits" kill -0 "$pid"
is "nothing is written meanwhile" 0-9,16-23,31 "$(online)"
run --status
status "others are not locked out" 0
krun --cpu 31
status "others can work" 0
krun --restore --cpu 31
status "others can restore" 0
plug 10 11 12 13 14
sleep 0.5
ok "it waits for all" kill -0 "$pid"
plug 15 24 25 26 27 28 29 30
finish
verdict "--wait" 0 'done'
is "--wait: they are online, and nothing is left" "0-31 0" "$(online) $(journals)"
ok "--wait: says what for" says "$err" 'CPU 10-15,24-30 to be plugged in'
tree_acpi signal
krun --core-of 9 --eject
kstart --restore --wait --json
sleep 0.5
kill -s INT "$pid"
finish
verdict "--wait, SIGINT" 130 refused
is "--wait, SIGINT: the journal stays" 1 "$(journals)"
run --restore --wait --dry-run
status "--wait and --dry-run do not wait" 5
err_says "--wait and --dry-run do not wait" 'CPUs 9,25 are not in the machine'

note "a part of a container"
tree_acpi part
krun --core-of 9 --eject --json
verdict "a core" 0 'done'
is "a core: the container stays" "ACPI0004:01/LNXCPU:19 ACPI0004:01/LNXCPU:09" "$(ejected)"
json_is "a core: a note says why" '[.findings[] | select(.rule == "container-stays") | .message] | join(" ")' \
	"ACPI0004:01 is not ejected: it also holds LNXCPU:08, which is not of this operation"
tree_2s fixed
# shellcheck disable=SC2086
acpi ACPI0010:00- $cpus_of_1
krun --socket 1 --eject --json
verdict "a container that cannot go" 0 'done'
json_is "a container that cannot go: no note" '[.findings[] | select(.rule == "container-stays")] | length' 0
tree_acpi memory
mkdir "$t/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:01/PNP0C80:01"
echo '\_SB.MEM' >"$t/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:01/PNP0C80:01/path"
run --socket 1 --eject --dry-run --json
json_is "a container with memory" '[.findings[] | select(.rule == "container-stays") | .message] | join(" ")' \
	"ACPI0004:01 is not ejected: it also holds PNP0C80:01, which is not of this operation"

note "refused"
tree_2s without
freeze
krun --socket 1 --eject
status "no firmware objects" 3
err_says "no firmware objects" 'cannot be ejected.*firmware_node/eject.*eject-impossible'
untouched "no firmware objects"
tree_acpi claimed
krun --cpu 31
krun --core-of 15 --eject
status "another operation has it" 3
err_says "another operation has it" 'CPU 31 cannot be ejected: another operation claims it.*eject-not-ours'
is "another operation has it: nothing is ejected" "" "$(ejected)"
run --restore --eject
status "--restore --eject" 2

note "failures"
tree_acpi stays
freeze
new_rules 'sys/devices/LNXSYSTM:00/*/LNXCPU:1e/eject write stays'
krun --socket 1 --eject --timeout 1 --json
verdict "one stays" 64 partial in-between
is "one stays: the rest is not tried" "0-31" "$(present | sed 's/-30$/-31/')"
is "one stays: all are off" 0-7,16-23 "$(online)"
ok "one stays: said" says "$out" 'cpu 30 .LNXCPU:1e. was not ejected: it is still present'
ok "one stays: its rule" says "$out" eject-failed
plug 31
krun --restore
status "one stays: back" 0
as_before "one stays: back"
tree_acpi error
freeze
new_rules 'sys/devices/LNXSYSTM:00/*/LNXCPU:1f/eject write ENODEV'
krun --socket 1 --eject --json
verdict "the first fails" 64 partial
is "the first fails: all are there" 0-31 "$(present)"
krun --restore
as_before "the first fails: back"
tree_acpi kept
new_rules 'cpu9 offline ENOSPC'
krun --socket 1 --eject --on-error=continue --json
verdict "one is kept online" 64 partial
is "one is kept online: it and what follows are not ejected" "0-7,9,16-23 0-9,16-23" "$(online) $(present)"
tree_acpi rolled-back
freeze
new_rules 'cpu9 offline ENOSPC'
krun --socket 1 --eject --json
verdict "a CPU cannot go" 1 rolled-back
is "a CPU cannot go: nothing is ejected" "" "$(ejected)"
as_before "a CPU cannot go"

done_testing
