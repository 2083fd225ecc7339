# SPDX-License-Identifier: GPL-2.0-or-later
# signals.sh - a run that is told to stop, cut off, or killed
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

went() {
	writes | tr , '\n' | sed -n 's/=0$//p' | sort -n | paste -sd, -
}

returned() {
	writes | tr , '\n' | sed -n 's/=1$//p' | sort -n | paste -sd, -
}

# ---- SIGINT, SIGTERM: put back ---------------------------------------------------------------

for signal in INT:130 TERM:143; do
	name=SIG${signal%:*}
	tree_2s "$name"
	freeze
	new_rules '* offline delay:0.15'
	kstart --socket 1 --json
	wait_writes 3
	kill -s "${signal%:*}" "$pid"
	finish
	verdict "$name" "${signal#*:}" rolled-back as-before
	is "$name: what went is back" "$(went)" "$(returned)"
	ok "$name: it stopped early" test "$(went | tr , '\n' | wc -l)" -le 5
	as_before "$name"
	is "$name: no journal is left" 0 "$(journals)"
	is "$name: rcu_expedited is up on the way back" "" "$(grep 'online 1' "$log" | grep -v rcu=1)"
done

tree_2s text
new_rules '* offline delay:0.15'
kstart --socket 1
wait_writes 2
kill -s INT "$pid"
finish
status "SIGINT in text" 130
any_says "SIGINT in text" 'back|before'

# From the whole terminal: the child that writes is in a group of its own
tree_2s group
freeze
new_rules '* offline delay:0.15'
CPUOFF_SHIM_ROOT=$t CPUOFF_SHIM_RULES=$rules CPUOFF_SHIM_LOG=$log \
	setsid env --default-signal=INT LD_PRELOAD="$abs_top_builddir/tests/cli/shim.so" \
	"$CPUOFF" --sysroot="$t" --socket 1 </dev/null >"$work/background.out" 2>"$work/background.err" &
pid=$!
wait_writes 2
kill -s INT -- "-$pid"
finish
status "SIGINT to the group" 130
as_before "SIGINT to the group"

# ---- a second one stops at once --------------------------------------------------------------

tree_2s second
freeze
new_rules '* online delay:0.3' '* offline delay:0.05'
kstart --socket 1 --json
wait_writes 8
kill -s INT "$pid"
wait_left=200
while ! grep -q 'online 1' "$log" && [ "$wait_left" -gt 0 ]; do
	sleep 0.05
	wait_left=$((wait_left - 1))
done
kill -s INT "$pid"
finish
verdict "a second SIGINT" 5 failed in-between
is "a second SIGINT: the journal has the rest" 1 "$(journals)"
ok "a second SIGINT: some are off" test "$(online)" != 0-31
new_rules
krun --restore --wait
status "a second SIGINT, --restore" 0
as_before "a second SIGINT, --restore"
is "a second SIGINT, --restore: no journal is left" 0 "$(journals)"

# ---- what --on-error allows to stay ----------------------------------------------------------

for policy in stop continue; do
	tree_2s "keep_$policy"
	freeze
	new_rules '* offline delay:0.15'
	kstart --socket 1 --on-error="$policy" --json
	wait_writes 3
	kill -s INT "$pid"
	finish
	verdict "SIGINT under --on-error=$policy" 64 partial in-between
	is "SIGINT under --on-error=$policy: nothing is put back" "" "$(returned)"
	json_is "SIGINT under --on-error=$policy" .result.offlined "$(went | sed 's/,.*,/-/')"
	is "SIGINT under --on-error=$policy: the journal" 1 "$(journals)"
	is "SIGINT under --on-error=$policy: rcu_expedited" 0 "$(expedited)"
	new_rules
	krun --restore
	status "SIGINT under --on-error=$policy, --restore" 0
	as_before "SIGINT under --on-error=$policy, --restore"
done

# ---- SIGHUP, SIGTSTP, SIGPIPE: the run goes on -----------------------------------------------

tree_2s hup
new_rules '* offline delay:0.1'
kstart --cpu 26-31 --json
wait_writes 1
kill -s HUP "$pid"
kill -s TSTP "$pid"
kill -s PIPE "$pid"
wait_writes 3
kill -s HUP "$pid"
finish
verdict "SIGHUP, SIGTSTP, SIGPIPE" 0 'done' as-asked
is "SIGHUP, SIGTSTP, SIGPIPE" 0-25 "$(online)"

tree_2s pipe
new_rules '* offline delay:0.05'
rm -f "$work/status"
{
	with_kernel "$CPUOFF" --sysroot="$t" --socket 1 -v
	echo $? >"$work/status"
} 2>&1 | true
wait_left=100
while [ ! -s "$work/status" ] && [ "$wait_left" -gt 0 ]; do
	sleep 0.05
	wait_left=$((wait_left - 1))
done
is "nobody reads its output" "0 0-7,16-23" "$(cat "$work/status") $(online)"
krun --restore
is "nobody reads its output, --restore" "0 0-31" "$rc $(online)"

tree_2s full
rc=0
last="cpuoff --socket 1 --json >/dev/full"
with_kernel "$CPUOFF" --sysroot="$t" --socket 1 --json >/dev/full 2>"$err" || rc=$?
is "the result cannot be printed: the work is done" 0-7,16-23 "$(online)"
is "the result cannot be printed: the journal is there" 1 "$(journals)"

# ---- while CPUs come back --------------------------------------------------------------------

tree_2s returning
freeze
krun --socket 1
new_rules '* online delay:0.15'
kstart --restore --json
wait_writes 3
kill -s INT "$pid"
finish
ok "SIGINT during --restore: not done" test "$rc" -eq 5 -o "$rc" -eq 130
document "SIGINT during --restore"
is "SIGINT during --restore: the journal has the rest" 1 "$(journals)"
is "SIGINT during --restore: rcu_expedited" 0 "$(expedited)"
ok "SIGINT during --restore: it stopped early" test "$(returned | tr , '\n' | wc -l)" -le 5
krun --restore
status "SIGINT during --restore, and again" 0
as_before "SIGINT during --restore, and again"
is "SIGINT during --restore, and again: no journal is left" 0 "$(journals)"

# ---- SIGKILL ---------------------------------------------------------------------------------

# kill_all - the program and the child that writes
kill_all() {
	# shellcheck disable=SC2046
	kill -s KILL "$pid" $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null
}

kill_alone() {
	kill -s KILL "$pid"
}

# killed NAME CONDITION... - killed by $way once the condition held, then repaired
killed() {
	killed_name=$1
	shift
	"$@"
	$way
	finish
	status "$killed_name" 137
	ok "$killed_name: a journal, or nothing was done" \
		sh -c '[ "$1" -eq 1 ] || { [ "$2" = 0-31 ] && [ "$3" = 0 ]; }' sh "$(journals)" "$(online)" "$(expedited)"
	krun --status --json
	status "$killed_name, --status" 0
	new_rules
	krun --restore --wait --json
	ok "$killed_name, --restore: done" test "$rc" -eq 0
	document "$killed_name, --restore"
	as_before "$killed_name, --restore"
	is "$killed_name, --restore: no journal is left" 0 "$(journals)"
}

journal_is_there() {
	wait_left=2000
	while [ "$(journals)" -eq 0 ] && [ "$wait_left" -gt 0 ]; do
		wait_left=$((wait_left - 1))
	done
}

for way in kill_alone kill_all; do
	tree_2s $way
	freeze
	new_rules 'sys/kernel/rcu_expedited write delay:0.1'
	kstart --socket 1
	killed "SIGKILL ($way) while rcu_expedited is raised" journal_is_there

	for n in 1 4 15; do
		tree_2s "${way}_$n"
		freeze
		new_rules '* offline delay:0.08'
		kstart --socket 1
		killed "SIGKILL ($way) after $n writes" wait_writes "$n"
	done

	# On the way back
	tree_2s "${way}_back"
	freeze
	new_rules 'cpu25 offline EIO' '* online delay:0.1'
	kstart --socket 1
	killed "SIGKILL ($way) during a rollback" wait_writes 9

	tree_2s "${way}_restore"
	freeze
	krun --socket 1
	new_rules '* online delay:0.08'
	kstart --restore
	killed "SIGKILL ($way) during --restore" wait_writes 5
done

# Another operation is not touched by the repair
tree_2s beside
krun --cpu 12,28 --json
first=$(json .operation)
freeze
new_rules '* offline delay:0.08'
kstart --cpu 24-31
wait_writes 3
kill -s KILL "$pid"
finish
new_rules
krun --restore --wait --json
verdict "SIGKILL beside another operation: one must be named" 3 refused
id=$(find "$t/run/cpuoff" -name '*.json' ! -name "$first.json")
id=${id##*/}
krun --restore="${id%.json}" --json
status "SIGKILL beside another operation, --restore=ID" 0
as_before "SIGKILL beside another operation, --restore=ID"

# The child that writes is killed: the program goes on, or puts back
tree_2s child
freeze
new_rules '* offline delay:0.1'
kstart --cpu 26-31 --json
wait_writes 2
# shellcheck disable=SC2046
kill -s KILL $(cat "/proc/$pid/task/$pid/children")
finish
if [ "$rc" -eq 0 ]; then
	is "the writing child is killed, and the run goes on" 0-25 "$(online)"
else
	status "the writing child is killed" 1
	as_before "the writing child is killed"
fi
document "the writing child is killed"

done_testing
