# SPDX-License-Identifier: GPL-2.0-or-later
# big.sh - 4096 CPUs are nothing special: no mask is cut, no table is endless, nothing takes long
# shellcheck disable=SC2016,SC2119,SC2317

on_disk=yes
CPUOFF_SHIM_KIN=no
export CPUOFF_SHIM_KIN
. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# Eight sockets of 256 cores, threads n and n+2048
tree big --sockets 8 --cores 256 --threads 2 --caches 1 --lean --numbering threads-last --kernel-max 8191

# CPU time of what was run so far, in whole seconds: a busy machine does not add to it
cpu_seconds() {
	times >"$work/times"
	awk 'NR == 2 { gsub(/[ms]/, " "); print int(60 * $1 + $2 + 60 * $3 + $4) }' "$work/times"
}

# timed COMMAND... - leaves what it took in $seconds
timed() {
	timed_start=$(cpu_seconds)
	"$@"
	seconds=$(($(cpu_seconds) - timed_start))
}

timed run --list --json
verdict "--list --json" 0 'done'
ok "--list --json: ten seconds of CPU time at most ($seconds)" test "$seconds" -le 10
json_is "--list --json" '.cpus | length' 4096
json_is "--list --json: CPU 4095" '.cpus[4095] | [.cpu, .socket, .node, .thread, .online, .can_offline] | map(tostring) | join(" ")' \
	'4095 7 7 1 true true'
run --list
status "--list" 0
ok "--list is a page ($(wc -l <"$out") lines)" test "$(wc -l <"$out")" -le 40
ok "--list has short lines" test "$(awk '{ if (length($0) > m) m = length($0) } END { print m }' "$out")" -le 120

run --list --json --socket 7
json_is "--socket 7" .selection.cpus 1792-2047,3840-4095
run --list --json --node 3,7
json_is "--node 3,7" .selection.cpus 768-1023,1792-2047,2816-3071,3840-4095
run --list --json --smt
json_is "--smt" .selection.cpus 2048-4095
run --list --json --core-of 2047 --cpu 1
json_is "--core-of 2047 --cpu 1" .selection.cpus 1,2047,4095
run --list --json --l3-of 4000
json_is "--l3-of 4000" .selection.cpus 1792-2047,3840-4095
run --list --json --cpu 1-4095:2 --except 1001-4095
json_is "a thousand of ranges: the first" '.selection.cpus | split(",") | .[0]' 1
json_is "a thousand of ranges: all" '.selection.cpus | split(",") | length' 500
run --cpu 4096 --dry-run
status "--cpu 4096" 2
err_says "--cpu 4096" '0-4095'
run --socket 8 --dry-run
status "--socket 8" 2

timed run --socket 7 --dry-run --json
verdict "--socket 7 --dry-run" 0 ready as-before
ok "--socket 7 --dry-run: ten seconds of CPU time at most ($seconds)" test "$seconds" -le 10
json_is "--socket 7 --dry-run" '.target.count, .survivors.count' '512
3584'
is "--socket 7 --dry-run: highest first" "$(expand_down 1792-2047,3840-4095)" "$(steps_of)"
run --cpu 1-4095 --dry-run --json
verdict "all but one" 0 ready as-before
json_is "all but one" .survivors.cpus 0
run --socket 7 --dry-run
status "--socket 7 --dry-run, text" 0
ok "--socket 7 --dry-run, text, is read by people ($(wc -c <"$out") bytes)" test "$(wc -c <"$out")" -le 100000
run --cpu 1-4095:2 --dry-run --json
verdict "every second one" 0 ready as-before
json_is "every second one" .target.count 2048

# ---- for real --------------------------------------------------------------------------------

timed krun --cpu 4080-4095 --json
verdict "4080-4095" 0 'done' as-asked
is "4080-4095" 0-4079 "$(online)"
run --list --json
json_is "4080-4095 are offline in the list" '[.cpus[] | select(.online | not).cpu] | "\(length) \(.[0]) \(.[-1])"' '16 4080 4095'
run --status --json
status "--status" 0
krun --restore --core-of 2047
is "one core of them comes back" "0 0-4079,4095" "$rc $(online)"
krun --restore
is "--restore" "0 0-4095" "$rc $(online)"
is "no journal is left" 0 "$(journals)"

done_testing
