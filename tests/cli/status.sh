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
run --list
out_says "two in force: a socket without a CPU online is counted" '^32 CPUs: 14 online, 18 offline; 2 sockets'
run --socket 1 --dry-run --json
verdict "what an operation took is not taken again" 0 nothing-to-do as-before
json_is "what an operation took is not taken again" .target.count 0
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

# ---- metrics ---------------------------------------------------------------------------------

# exposition FILE - the text exposition format: a HELP and a TYPE before the samples of each metric, names and
# labels as they have to be, no sample twice, no line without a meaning, no _total that is no counter
exposition() {
	awk '
		/^# HELP [a-z][a-z0-9_]* [A-Z0-9].*\.$/ { if (helped[$3]++) exit 1; next }
		/^# TYPE [a-z][a-z0-9_]* gauge$/ {
			if (!helped[$3] || typed[$3]++ || $3 ~ /_total$/)
				exit 1
			metric = $3
			next
		}
		/^[a-z][a-z0-9_]*(\{operation="([^"\\]|\\[\\"n])*"\})? [0-9]+$/ {
			name = $0
			sub(/[{ ].*/, "", name)
			if (name != metric || samples[$1]++)
				exit 1
			nr++
			next
		}
		{ exit 1 }
		END { exit nr < 5 }
	' "$1"
}

metric() {
	sed -n "s/^cpuoff_$1 //p" "$out"
}

tree_2s metrics
run --status --prometheus
status "nothing in force" 0
ok "nothing in force: the format" exposition "$out"
is "nothing in force: CPUs" "32 32 0 0 0" \
	"$(metric cpus_present) $(metric cpus_online) $(metric cpus_unclaimed) $(metric operations) $(metric journals_unusable)"
before=$(date +%s)
krun --socket 1 --json
first=$(json .operation)
krun --cpu 4,20 --json
second=$(json .operation)
after=$(date +%s)
by_hand 1 9
by_hand 0 3
run --status --prometheus -q
status "two in force" 0
ok "two in force: the format" exposition "$out"
is "two in force: CPUs" "32 14 1 2" \
	"$(metric cpus_present) $(metric cpus_online) $(metric cpus_unclaimed) $(metric operations)"
is "of the first one" "15 1" "$(metric "cpus_offline{operation=\"$first\"}") $(metric "cpus_drifted{operation=\"$first\"}")"
is "of the second one" "2 0" "$(metric "cpus_offline{operation=\"$second\"}") $(metric "cpus_drifted{operation=\"$second\"}")"
started=$(metric "operation_start_time_seconds{operation=\"$first\"}")
ok "when it began" test "$started" -ge "$before" -a "$started" -le "$after"
ok "-q: nothing else" not test -s "$err"
echo broken >"$t/run/cpuoff/20200101-000000.json"
run --status --prometheus
is "a journal that cannot be read" 1 "$(metric journals_unusable)"
ok "a journal that cannot be read: the format" exposition "$out"
run --status --prometheus --json
status "as JSON" 2
run --prometheus
status "--prometheus alone" 2
run --list --prometheus
status "--list --prometheus" 2
t=$work/nowhere
run --status --prometheus
status "no machine" 2
ok "no machine: no metric" not test -s "$out"

# ---- exact text ------------------------------------------------------------------------------

tree_2s golden
run --status
ok "nothing in force, to the letter" cmp "$out" "$here/expected/status-none"

done_testing
