# SPDX-License-Identifier: GPL-2.0-or-later
# restore.sh - CPUs come back: from which journal, which of them, and what cannot
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

returned() {
	writes | tr , '\n' | sed -n 's/=1$//p' | sort -n | paste -sd, -
}

# ---- one operation ---------------------------------------------------------------------------

tree_2s
freeze
krun --socket 1 --json
operation=$(json .operation)
new_rules
krun --restore --dry-run --json
verdict "--restore --dry-run" 0 ready
json_is "--restore --dry-run" .target.cpus 8-15,24-31
is "--restore --dry-run: no write" "" "$(cat "$log")"
is "--restore --dry-run: the journal stays" 1 "$(journals)"
krun --restore --json
verdict "--restore" 0 'done' as-asked
json_is "--restore" .action restore
json_is "--restore" .operation "$operation"
is "--restore writes what went" "$(expand 8-15,24-31)" "$(returned)"
is "--restore: rcu_expedited is up during each write" "" "$(grep '/online' "$log" | grep -v rcu=1)"
as_before "--restore"
is "--restore: no journal is left" 0 "$(journals)"
new_rules
krun --restore --json
verdict "--restore with nothing to undo" 0 nothing-to-do as-asked
krun --restore
status "--restore with nothing to undo" 0
is "--restore with nothing to undo: no write" "" "$(cat "$log")"

tree_2s slow
krun --socket 1 --json
new_rules '* online delay:0.7'
krun --restore
status "--restore, slow" 0
err_says "--restore, slow: progress within five seconds" 'bringing back: [1-9] of 16'

tree_2s byid
krun --socket 1 --json
operation=$(json .operation)
krun --restore=unheard-of
status "an unknown ID" 2
err_says "an unknown ID" 'unheard-of.*no-such-operation'
for id in ../../../etc/passwd .. . '' 'a/b' "$operation.json" "../cpuoff/$operation"; do
	krun "--restore=$id"
	status "--restore=$id" 2
done
is "unknown IDs: nothing came back" 0-7,16-23 "$(online)"
krun --restore "$operation"
status "an ID as a word of its own is left over" 2
krun --restore 7
status "--restore 7" 2
err_says "--restore 7" '7'
is "leftover words: nothing came back" 0-7,16-23 "$(online)"

tree_2s named
krun --socket 1 --json
krun --restore="$(json .operation)"
is "--restore=ID" "0 0-31" "$rc $(online)"

tree_2s text
krun --socket 1
krun --restore
status "--restore in text" 0
out_says "--restore in text" '8-15,24-31'

# CPUs that were off before stay off
tree_2s before --offline 9,30
krun --socket 1
krun --restore
is "9 and 30 were off before" "0 0-8,10-29,31" "$rc $(online)"

# ---- some of it ------------------------------------------------------------------------------

tree_2s partly
krun --socket 1
new_rules
krun --restore --cpu 9,25 --json
verdict "--restore --cpu 9,25" 0 'done' as-asked
is "--restore --cpu 9,25" 9,25 "$(returned)"
is "--restore --cpu 9,25" 0-7,9,16-23,25 "$(online)"
is "--restore --cpu 9,25: the journal has the rest" 1 "$(journals)"
krun --restore --core-of 8 --except 24
is "--restore --core-of 8 --except 24, by the journal" "0 0-9,16-23,25" "$rc $(online)"
krun --restore --smt
is "--restore --smt, by the journal" "0 0-9,16-31" "$rc $(online)"
krun --restore --node 1
is "--restore --node 1, by the journal" "0 0-31" "$rc $(online)"
is "all of it is back: no journal is left" 0 "$(journals)"

tree_2s socket
krun --cpu 8-15,24-31
new_rules
krun --restore --socket 1
is "--restore --socket 1 of CPUs taken by number" "0 0-31" "$rc $(online)"
tree_2s elsewhere
krun --socket 1
krun --restore --socket 0
ok "--restore --socket 0, none of which was taken" test "$rc" -eq 0 -o "$rc" -eq 2 -o "$rc" -eq 3
is "--restore --socket 0, none of which was taken" 0-7,16-23 "$(online)"
krun --restore --socket 5
ok "--restore of a socket that is nowhere is never done" test "$rc" -eq 2 -o "$rc" -eq 3
is "--restore of a socket that is nowhere" 0-7,16-23 "$(online)"
krun --restore --cpu 99
status "--restore of a CPU that does not exist" 2
krun --restore --cpu 9-8
status "--restore with a malformed list" 2

# ---- several operations ----------------------------------------------------------------------

# overlap TREE - socket 1's threads 28-31, then 12-15 and 28-31 once more
overlap() {
	tree_2s "$1"
	krun --cpu 24-31 --json
	first=$(json .operation)
	krun --cpu 12-15,28-31 --json
	verdict "a second operation" 0 'done' as-asked
	second=$(json .operation)
	json_is "a second operation" '.target.cpus + " " + .target.already_offline' "12-15 28-31"
	ok "operations have names of their own" test "$first" != "$second"
	is "two journals" 2 "$(journals)"
	new_rules
}

overlap none_named
krun --restore --json
verdict "several in force, none named" 3 refused
ok "several in force: both are listed" sh -c 'grep -q -e "$1" "$3" && grep -q -e "$2" "$3"' sh "$first" "$second" "$out"
krun --restore
status "several in force, none named" 3
err_says "several in force, none named" "$first.*several-operations"
err_says "several in force, none named" "$second"
is "several in force, none named: no write" "" "$(cat "$log")"
krun --restore=all --json
verdict "--restore=all" 0 'done' as-asked
is "--restore=all" 0-31 "$(online)"
is "--restore=all: no journal is left" 0 "$(journals)"

overlap first_first
krun --restore="$first" --json
verdict "the first one ends first" 0 'done' as-asked
is "the first one ends first" 24,25,26,27 "$(returned)"
is "the first one ends first: its journal is gone" 1 "$(journals)"
krun --restore
is "then the second one" "0 0-31" "$rc $(online)"
is "then the second one: no journal is left" 0 "$(journals)"

overlap second_first
krun --restore="$second" --json
verdict "the second one ends first" 0 'done' as-asked
is "the second one ends first" 12,13,14,15 "$(returned)"
krun --restore --json
verdict "then the first one" 0 'done' as-asked
is "then the first one" 0-31 "$(online)"
is "then the first one: no journal is left" 0 "$(journals)"

overlap by_cpu
krun --restore --cpu 12,28
is "--restore --cpu 12,28, from whichever took them" "0 12,28" "$rc $(returned)"
krun --restore="$first" --cpu 24,29
ok "--restore=ID --cpu 24,29" test "$rc" -eq 0
is "--restore=ID --cpu 24,29: the other one claims 29" 0-12,16-24,28 "$(online)"
krun --restore=all
is "then all" "0 0-31 0" "$rc $(online) $(journals)"

# The second one rolls back: what the first one took stays off
tree_2s second_fails
krun --cpu 24-31
freeze
new_rules 'cpu9 offline EIO'
krun --cpu 8-12,28-31 --json
verdict "the second one fails" 1 rolled-back as-before
as_before "the second one fails"
is "the second one fails: one journal" 1 "$(journals)"
krun --restore
is "the second one fails, --restore" "0 0-31" "$rc $(online)"

# ---- somebody else was there -----------------------------------------------------------------

tree_2s others
krun --socket 1
by_hand 1 9 31
new_rules
krun --restore --json
verdict "9 and 31 are back already" 0 'done' as-asked
is "9 and 31 are back already" 0-31 "$(online)"
is "9 and 31 are back already: not written" "" "$(returned | tr , '\n' | grep -E '^(9|31)$')"
is "9 and 31 are back already: no journal is left" 0 "$(journals)"

tree_2s all_back
krun --cpu 30-31
by_hand 1 30 31
new_rules
krun --restore --json
status "all are back already" 0
document "all are back already"
is "all are back already: no write" "" "$(returned)"
is "all are back already: no journal is left" 0 "$(journals)"

# ---- one stays away --------------------------------------------------------------------------

tree_2s stays
krun --socket 1
new_rules 'cpu25 online EIO'
krun --restore --json
verdict "CPU 25 does not come" 5 failed in-between
json_is "CPU 25 does not come" '.result.failed | map("\(.cpu) \(.errno)") | join(",")' '25 EIO'
is "CPU 25 does not come" 0-24,26-31 "$(online)"
is "CPU 25 does not come: the journal has it" 1 "$(journals)"
is "CPU 25 does not come: rcu_expedited is down" 0 "$(expedited)"
new_rules 'cpu25 online EIO'
krun --restore
status "CPU 25 does not come again" 5
err_says "CPU 25 does not come again" 'cpu ?25'
err_says "CPU 25 does not come again" 'EIO|start'
is "CPU 25 does not come again: only it is tried" 25 "$(writes | tr , '\n' | sed 's/=.*//' | sort -u)"
new_rules
krun --restore --json
verdict "CPU 25 comes" 0 'done' as-asked
is "CPU 25 comes: only it is tried" 25=1 "$(writes)"
is "CPU 25 comes: no journal is left" "0-31 0" "$(online) $(journals)"

tree_2s silent
krun --socket 1
new_rules 'cpu25 online stays'
krun --restore --json
verdict "success, and CPU 25 is still off" 5 failed in-between
is "success, and CPU 25 is still off" 0-24,26-31 "$(online)"
tree_2s busy
krun --cpu 30-31
new_rules 'cpu30 online EBUSY 2'
krun --restore --json
verdict "EBUSY on the way back is tried again" 0 'done' as-asked

tree_2s removed
krun --cpu 28-31
rm -r "$t/sys/devices/system/cpu/cpu30"
krun --restore --json
verdict "CPU 30 was taken out of the machine" 5 failed in-between
is "CPU 30 was taken out: the others are back" 0-29,31 "$(online)"

tree_2s readonly
krun --socket 1
new_rules 'sys/* open EROFS'
krun --restore --json
verdict "--restore on a read-only /sys" 4 refused
is "--restore on a read-only /sys: the journal stays" 1 "$(journals)"

# ---- without a journal -----------------------------------------------------------------------

tree_2s unknown --offline 5,9,30
krun --restore
status "nothing to undo, CPUs offline" 0
any_says "nothing to undo, CPUs offline" '5,9,30.*offline-unknown'
is "nothing to undo, CPUs offline: no write" "" "$(cat "$log")"
krun --restore --cpu 5,30 --dry-run --json
verdict "without a journal, --restore --cpu 5,30 --dry-run" 0 ready
json_is "without a journal, --restore --cpu 5,30 --dry-run" .target.cpus 5,30
krun --restore --cpu 5,30 --json
verdict "without a journal, --restore --cpu 5,30" 0 'done' as-asked
is "without a journal, --restore --cpu 5,30: 9 stays" 0-8,10-31 "$(online)"
new_rules
krun --restore --cpu 3 --json
status "--restore of a CPU that is online" 0
is "--restore of a CPU that is online: no write" "" "$(writes)"
for selection in "--socket 1" "--node 1" "--socket 0" "--smt" "--core-of 9"; do
	# shellcheck disable=SC2086
	krun --restore $selection --json
	ok "without a journal, --restore $selection is never done" test "$rc" -eq 3 -o "$rc" -eq 2
	document "without a journal, --restore $selection"
	is "without a journal, --restore $selection" 0-8,10-31 "$(online)"
done
tree_2s gone --offline 8-15,24-31
krun --restore --socket 1
status "without a journal, --restore --socket 1" 3
err_says "without a journal, --restore --socket 1" 'membership is unknown.*membership-unknown'
krun --restore --node 1
status "without a journal, --restore --node 1" 3

# What does not come leaves no operation behind that there never was
tree_2s fails --offline 5,30
freeze
new_rules 'cpu30 online EIO'
krun --restore --cpu 30 --json
verdict "without a journal, and it does not come" 5 failed
is "without a journal, and it does not come: none is left" 0 "$(journals)"
as_before "without a journal, and it does not come"
krun --restore --cpu 30
out_says "without a journal, and it does not come: what to do" 'run this again'
new_rules 'cpu30 online EIO'
krun --restore --cpu 5,30 --json
verdict "without a journal, and one does not come" 5 failed
is "without a journal, and one does not come" "0-29,31 0" "$(online) $(journals)"
krun --restore
any_says "without a journal, and one does not come: it is not forgotten" 'CPUs 30 are offline'
new_rules
krun --restore --cpu 30
is "without a journal, and now it comes" "0 0-31" "$rc $(online)"
tree_2s fails-off --offline 16-31 --smt off
new_rules 'cpu16 online EPERM'
krun --restore --cpu 16 --force --json
verdict "without a journal, forced, and refused" 5 failed
is "without a journal, forced, and refused: none is left" 0 "$(journals)"
tree_2s besides --offline 5
krun --cpu 30-31
new_rules
krun --restore --cpu 5,31 --json
ok "one CPU of the journal and one that none knows: not half in silence" \
	sh -c '[ "$1" -ne 0 ] || [ "$2" = 0-29,31 ]' sh "$rc" "$(online)"

# ---- --strict --------------------------------------------------------------------------------

tree standby --sockets 1 --cores 8 --standby 6,7 --offline 5
krun --restore --cpu 5-7 --strict --json
verdict "--restore --strict, CPUs on standby" 3 refused
is "--restore --strict, CPUs on standby: no write" "" "$(cat "$log")"
krun --restore --cpu 5 --strict
status "--restore --strict, others on standby" 0

# What is found while one operation is undone is no reason against the next
tree_2s strict
B=sys/devices/system/cpu/cpu31/power/energy_perf_bias
mkdir -p "$t/${B%/*}"
echo 6 >"$t/$B"
krun --cpu 31
krun --cpu 30
echo 0 >"$t/$B"
krun --restore=all --strict --json
verdict "--restore=all --strict" 0 'done' as-asked
json_is "--restore=all --strict: a setting was changed" \
	'[.findings[] | select(.rule == "setting-changed") | .severity] | join(" ")' warn
is "--restore=all --strict: all are back" "0-31 0" "$(online) $(journals)"

# ---- what the kernel or the machine forbids --------------------------------------------------

tree_2s smtoff --offline 16-31 --smt off
for value in off forceoff; do
	echo $value >"$t/sys/devices/system/cpu/smt/control"
	krun --restore --cpu 16-31 --json
	verdict "smt/control is $value" 3 refused
	krun --restore --cpu 16-31 --dry-run
	status "smt/control is $value, dry run" 3
	err_says "smt/control is $value" "smt/control.*$value"
	is "smt/control is $value: no write" "" "$(cat "$log")"
done

tree standby --sockets 1 --cores 8 --cpu0-online --standby 6,7 --offline 0
freeze
krun --restore --cpu 0,6,7 --dry-run --json
status "standby CPUs, dry run" 5
document "standby CPUs, dry run"
is "standby CPUs, dry run: 0 alone" 0 "$(steps_of)"
ok "standby CPUs, dry run: said of 6-7" jq -e '[.findings[] | select(.message | test("standby"))] | length > 0' "$out"
krun --restore --cpu 0,6,7 --dry-run
any_says "standby CPUs" standby
untouched "standby CPUs, dry run"
krun --restore --cpu 0,6,7 --json
status "standby CPUs" 5
is "standby CPUs" 0-5 "$(online)"
is "standby CPUs: never written" "" "$(writes | tr , '\n' | grep -E '^[67]=')"
krun --restore
is "standby CPUs are not brought back by --restore" 0-5 "$(online)"

done_testing
