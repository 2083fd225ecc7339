# SPDX-License-Identifier: GPL-2.0-or-later
# status.sh - --status: what is in force, what drifted, what is still to be undone
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

tree_2s
freeze
run --status --json
verdict "nothing in force" 0 'done'
json_is "nothing in force" .action status
json_is "nothing in force" '.operations | type + " \(length)"' 'array 0'
run --status
status "nothing in force, text" 0
ok "nothing in force: says so" test -s "$out"
untouched "nothing in force"
ok "--status makes no state directory" not test -e "$t/run"

krun --socket 1 --json
first=$(json .operation)
krun --cpu 4,20 --json
second=$(json .operation)
freeze
run --status --json
status "two in force" 0
document "two in force"
json_is "two in force" '.operations | length' 2
json_is "two in force, oldest first" '[.operations[] | .operation // .id] | join(" ")' "$first $second"
ok "two in force: their CPUs" jq -e '.operations[0] | tostring | contains("\"8-15,24-31\"")' "$out"
ok "two in force: their CPUs" jq -e '.operations[1] | tostring | contains("\"4,20\"")' "$out"
json_is "no drift" '[.operations[].drift] | unique | join(" ")' ''
run --status
status "two in force, text" 0
out_says "two in force, text" "$first"
out_says "two in force, text" "$second"
out_says "two in force, text" '8-15,24-31'
out_says "two in force, text" '4,20'
untouched_traces=$(traces)
is "--status writes nothing" "$frozen_traces" "$untouched_traces"

# ---- drift -----------------------------------------------------------------------------------

by_hand 1 9 31
run --status --json
status "9 and 31 are back" 0
json_is "9 and 31 are back" '.operations[0].drift' 9,31
json_is "9 and 31 are back" '.operations[1].drift' ''
run --status
status "9 and 31 are back, text" 0
out_says "9 and 31 are back, text" '9,31'
out_says "9 and 31 are back, text" 'drift|back|online'
by_hand 0 9 31

# ---- without rights --------------------------------------------------------------------------

if can_drop; then
	run_dropped --status --json
	status "unprivileged" 0
	json_is "unprivileged" '.operations | length' 2
else
	skip "unprivileged" "cannot drop rights here"
fi

# ---- what is still to be undone --------------------------------------------------------------

tree_2s rest
krun --socket 1
new_rules 'cpu25 online EIO'
krun --restore
status "CPU 25 stays away" 5
run --status --json
json_is "CPU 25 stays away" '.operations | length' 1
ok "CPU 25 stays away: it is still to be undone" jq -e '.operations[0] | [.. | strings] | any(. == "25")' "$out"
run --status
out_says "CPU 25 stays away, text" '(^|[^0-9-])25([^0-9-]|$)'

tree_2s killed
new_gate
new_rules "cpu29 offline until:$gate"
kstart --socket 1
wait_gate
kill -s KILL "$pid"
finish
open_gate
run --status --json
status "a killed run" 0
json_is "a killed run is in force" '.operations | length' 1
run --status
any_says "a killed run: what to do" 'restore'
krun --restore --wait

# ---- while one runs --------------------------------------------------------------------------

new_gate
new_rules "cpu29 offline until:$gate"
kstart --cpu 28-31
wait_gate
run --status --json
status "while one runs" 0
document "while one runs"
open_gate
finish

# A selection has no meaning here
run --status --socket 1
ok "--status with a selection" test "$rc" -eq 2 -o "$rc" -eq 0

# ---- exact text ------------------------------------------------------------------------------

tree_2s golden
run --status
ok "nothing in force, to the letter" cmp "$out" "$here/expected/status-none"

done_testing
