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
	new_gate
	new_rules "cpu29 offline until:$gate"
	kstart --socket 1 --json
	wait_gate
	kill -s "${signal%:*}" "$pid"
	open_gate
	finish
	verdict "$name" "${signal#*:}" rolled-back as-before
	is "$name: the write in hand is the last" 29,30,31 "$(went)"
	is "$name: what went is back" 29,30,31 "$(returned)"
	as_before "$name"
	is "$name: no journal is left" 0 "$(journals)"
	is "$name: rcu_expedited is up on the way back" "" "$(grep 'online 1' "$log" | grep -v rcu=1)"
done

tree_2s text
new_gate
new_rules "cpu29 offline until:$gate"
kstart --socket 1
wait_gate
kill -s INT "$pid"
open_gate
finish
status "SIGINT in text" 130
any_says "SIGINT in text" 'back|before'

# From the whole terminal: the child that writes is in a group of its own
tree_2s group
freeze
new_gate
new_rules "cpu29 offline until:$gate"
CPUOFF_SHIM_ROOT=$t CPUOFF_SHIM_RULES=$rules CPUOFF_SHIM_LOG=$log \
	setsid env --default-signal=INT LD_PRELOAD="$abs_top_builddir/tests/cli/shim.so" \
	"$CPUOFF" --sysroot="$t" --socket 1 </dev/null >"$work/background.out" 2>"$work/background.err" &
pid=$!
wait_gate
kill -s INT -- "-$pid"
open_gate
finish
status "SIGINT to the group" 130
as_before "SIGINT to the group"

# ---- a second one stops at once --------------------------------------------------------------

tree_2s second
freeze
new_gate
new_rules "cpu28 offline until:$gate" "* online until:$gate.2 1"
kstart --socket 1 --json
wait_gate
kill -s INT "$pid"
open_gate
wait_for grep -q '^wait [^ ]* online' "$log"
kill -s INT "$pid"
: >"$gate.2"
finish
verdict "a second SIGINT" 5 failed in-between
is "a second SIGINT: the journal has the rest" 1 "$(journals)"
is "a second SIGINT: the write in hand is the last" 1 "$(returned | tr , '\n' | grep -c .)"
new_rules
krun --restore --wait
status "a second SIGINT, --restore" 0
as_before "a second SIGINT, --restore"
is "a second SIGINT, --restore: no journal is left" 0 "$(journals)"

# ---- what --on-error allows to stay ----------------------------------------------------------

for policy in stop continue; do
	tree_2s "keep_$policy"
	freeze
	new_gate
	new_rules "cpu29 offline until:$gate"
	kstart --socket 1 --on-error="$policy" --json
	wait_gate
	kill -s INT "$pid"
	open_gate
	finish
	verdict "SIGINT under --on-error=$policy" 64 partial in-between
	is "SIGINT under --on-error=$policy: nothing is put back" "" "$(returned)"
	json_is "SIGINT under --on-error=$policy" .result.offlined 29-31
	is "SIGINT under --on-error=$policy: the journal" 1 "$(journals)"
	is "SIGINT under --on-error=$policy: rcu_expedited" 0 "$(expedited)"
	new_rules
	krun --restore
	status "SIGINT under --on-error=$policy, --restore" 0
	as_before "SIGINT under --on-error=$policy, --restore"
done

# ---- SIGHUP, SIGTSTP, SIGPIPE: the run goes on -----------------------------------------------

tree_2s hup
new_gate
new_rules "cpu29 offline until:$gate"
kstart --cpu 26-31 --json
wait_gate
kill -s HUP "$pid"
kill -s TSTP "$pid"
kill -s PIPE "$pid"
open_gate
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
wait_for test -s "$work/status"
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
new_gate
new_rules "cpu10 online until:$gate"
kstart --restore --json
wait_gate
kill -s INT "$pid"
open_gate
finish
ok "SIGINT during --restore: not done" test "$rc" -eq 5 -o "$rc" -eq 130
document "SIGINT during --restore"
is "SIGINT during --restore: the journal has the rest" 1 "$(journals)"
is "SIGINT during --restore: rcu_expedited" 0 "$(expedited)"
ok "SIGINT during --restore: it stopped early" test "$(online)" != 0-31
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

# killed NAME - killed by $way while a write is held, then repaired
killed() {
	wait_gate
	$way
	finish
	open_gate
	status "$1" 137
	is "$1: there is a journal" 1 "$(journals)"
	krun --status --json
	status "$1, --status" 0
	krun --restore --wait --json
	verdict "$1, --restore" 0 'done' as-asked
	as_before "$1, --restore"
	is "$1, --restore: no journal is left" 0 "$(journals)"
}

for way in kill_alone kill_all; do
	tree_2s $way
	freeze
	new_gate
	new_rules "sys/kernel/rcu_expedited write until:$gate 1"
	kstart --socket 1
	killed "SIGKILL ($way) while rcu_expedited is raised"

	for cpu in 31 30 15 8; do
		tree_2s "${way}_$cpu"
		freeze
		new_gate
		new_rules "cpu$cpu offline until:$gate"
		kstart --socket 1
		killed "SIGKILL ($way) while CPU $cpu goes"
	done

	# On the way back
	for cpu in 26 30 31; do
		tree_2s "${way}_back_$cpu"
		freeze
		new_gate
		new_rules 'cpu25 offline EIO' "cpu$cpu online until:$gate"
		kstart --socket 1
		killed "SIGKILL ($way) while a rollback brings CPU $cpu back"
	done

	for cpu in 8 15 31; do
		tree_2s "${way}_restore_$cpu"
		freeze
		krun --socket 1
		new_gate
		new_rules "cpu$cpu online until:$gate"
		kstart --restore
		killed "SIGKILL ($way) while --restore brings CPU $cpu back"
	done
done

# Another operation is not touched by the repair
tree_2s beside
krun --cpu 12,28 --json
first=$(json .operation)
freeze
new_gate
new_rules "cpu29 offline until:$gate"
kstart --cpu 24-31
wait_gate
kill -s KILL "$pid"
finish
open_gate
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
new_gate
new_rules "cpu29 offline until:$gate 1"
kstart --cpu 26-31 --json
wait_gate
# shellcheck disable=SC2046
kill -s KILL $(cat "/proc/$pid/task/$pid/children")
open_gate
finish
if [ "$rc" -eq 0 ]; then
	is "the writing child is killed, and the run goes on" 0-25 "$(online)"
else
	status "the writing child is killed" 1
	as_before "the writing child is killed"
fi
document "the writing child is killed"

# It is stopped: whoever waits for it says so, and how it goes on
tree_2s stopped
freeze
new_gate
new_rules "cpu31 offline until:$gate"
kstart --socket 1 --timeout=1
wait_gate
child=$(cat "/proc/$pid/task/$pid/children")
child=${child% }
kill -s STOP "$child"
finish
status "the writing child is stopped" 5
err_says "the writing child is stopped" \
	"cpu 31: waiting for 1 s for process $child, which is stopped: kill -CONT $child lets it go on"
# With its parent's end the kernel has let it go on (kernel/exit.c: kill_orphaned_pgrp())
kill -s STOP "$child"
kstart --restore
wait_for grep -q stopped "$work/background.err"
kill -s CONT "$child"
open_gate
finish
status "the writing child was stopped: restore" 0
err_says "the writing child was stopped: restore" \
	"the lock: waiting for 0 s for process $child, which is stopped: kill -CONT $child lets it go on"
as_before "the writing child was stopped: restore"

done_testing
