# SPDX-License-Identifier: GPL-2.0-or-later
# terminal.sh - what is seen at a terminal: width, colour, progress, the question
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

command -v script >/dev/null || skip_all "script(1) is not installed"
script -qec true /dev/null >/dev/null 2>&1 || skip_all "no terminal can be made here: is /dev/pts mounted?"

# narrow FILE - no line has more than 80 columns
narrow() {
	awk 'length($0) > 80 { exit 1 }' "$1"
}

# What is typed once the question is there; nothing for an end of the input
answer=
answer_once() {
	[ -z "${asks:-}" ] || wait_for grep -q 'y/N' "$work/typed"
	printf '%b' "$answer"
}

# typed COLUMNS [ARG...] - krun on a terminal of so many columns, which reads standard input; $out has all
# that is written to it, without carriage returns
typed() {
	typed_columns=$1
	shift
	last="(terminal) cpuoff --sysroot=$t $*"
	rc=0
	: >"$err"
	: >"$work/typed"
	# the words of the tests have no blanks
	answer_once | CPUOFF_SHIM_ROOT=$t CPUOFF_SHIM_RULES=$rules CPUOFF_SHIM_LOG=$log timeout --foreground -k 2 "$limit" \
		script -qfec "stty cols $typed_columns; LD_PRELOAD=$abs_top_builddir/tests/cli/shim.so \
		$CPUOFF --sysroot=$t $*" /dev/null >"$work/typed" || rc=$?
	tr -d '\r' <"$work/typed" >"$out"
}

# Takes long by its nature, and is looked at in the end
tree_2s slow
new_rules '* offline delay:1.8'
aside slow --cpu 28-31

# ---- 80 columns ------------------------------------------------------------------------------

tree big --sockets 4 --cores 512 --threads 2 --caches 1 --lean --numbering interleaved --kernel-max 8191
for action in "--list --node 1" "--cpu 1-4095:2 --dry-run" "--node 1 --dry-run" "--service --socket 0"; do
	# shellcheck disable=SC2086
	typed 80 $action --no-progress
	status "$action" 0
	ok "$action: 80 columns" narrow "$out"
	ok "$action: a page or two ($(wc -l <"$out") lines)" test "$(wc -l <"$out")" -le 70
done
run --cpu 1-4095:2 --dry-run
out_says "what is cut is counted" ' and [0-9]+ more, see -v \(2048 CPUs\)'
run --cpu 1-4095:2 --dry-run -v
ok "-v cuts nothing" grep -q '^ *[0-9,]*4093,4095 (2048 CPUs)' "$out"
run --list --json --node 1
json_is "JSON has all of it" '.selection.cpus | split(",") | length' 1024

# ---- colour ----------------------------------------------------------------------------------

escape=$(printf '\033')
# coloured FILE
coloured() {
	grep -q "$escape\[[0-9]*m" "$1"
}

# colour WHERE STDOUT STDERR - whether both have colour
colour() {
	is "$1: colour on stdout, on stderr" "$2 $3" \
		"$(if coloured "$out"; then echo yes; else echo no; fi) $(if coloured "$err"; then echo yes; else echo no; fi)"
}

tree_2s colour
TERM=xterm
run --socket 1 --dry-run
colour "in files" no no
run --socket 1 --dry-run --color=never
colour "never" no no
NO_COLOR=1
export NO_COLOR
run --socket 1 --dry-run --color=always
colour "always, with NO_COLOR" yes yes
run --socket 1 --dry-run --color=always --json
colour "always, as JSON" no yes
document "always, as JSON"
run --list --color=always
out_says "--list" "$escape\\[1m32 CPUs"
run --list-rules --color=always
colour "--list-rules" yes no
typed 80 --socket 1 --dry-run
ok "on a terminal, with NO_COLOR" not coloured "$out"
NO_COLOR=
typed 80 --socket 1 --dry-run
ok "on a terminal, with an empty NO_COLOR" coloured "$out"
unset NO_COLOR
typed 80 --socket 1 --dry-run
ok "on a terminal" coloured "$out"
ok "nothing that cannot be read on white or on black" not grep -q "$escape\[[0-9;]*\(3[034567]\|9[0-7]\|4[0-9]\)m" "$out"
typed 80 --socket 1 --dry-run --color=never
ok "on a terminal, never" not coloured "$out"
typed 80 --socket 1 --dry-run '2>/dev/null' '|cat'
ok "stdout is no terminal" not coloured "$out"
typed 80 --socket 1 --dry-run '2>&1' '>/dev/null' '|cat'
ok "neither is stderr" not coloured "$out"
typed 80 --socket 1 --dry-run '>/dev/null'
ok "only stdout is no terminal: stderr has colour" coloured "$out"
typed 80 --socket 1 --dry-run --json '2>/dev/null'
ok "JSON on a terminal has none" not coloured "$out"
TERM=dumb
typed 80 --socket 1 --dry-run
ok "on a dumb terminal" not coloured "$out"
unset TERM
typed 80 --socket 1 --dry-run
ok "on a terminal without a name" not coloured "$out"
TERM=dumb
export TERM
usage_of_colour() {
	run --list "--color=$1"
	status "--color=$1" 2
	err_says "--color=$1" 'auto\|always\|never'
}
usage_of_colour blue
usage_of_colour ''

# ---- the line that matters -------------------------------------------------------------------

tree_2s first
run --socket 1 --dry-run
is "a plan" "16 CPUs would go offline." "$(head -n 1 "$out")"
is "a plan, at its end" "This was a dry run: nothing was changed." "$(tail -n 1 "$out")"
krun --socket 1
ok "a result" grep -q '^16 CPUs are offline: 8-15,24-31, in [0-9.]* s\.$' "$out"
operation=$(sed -n 's/^bring back *cpuoff --restore=//p' "$out")
ok "a result: how the CPUs come back" test -f "$t/run/cpuoff/$operation.json"
run --status
is "the status" "1 operation is in force; 16 of 32 CPUs are offline." "$(head -n 1 "$out")"
run --restore --dry-run
is "a plan of a restore" "16 CPUs would come back online." "$(head -n 1 "$out")"
krun --restore
ok "a result of a restore" grep -q '^16 CPUs are online again: 8-15,24-31, in [0-9.]* s\.$' "$out"

# ---- progress --------------------------------------------------------------------------------

# phases - the phases that were drawn, each once in a row
phases() {
	tr '\r' '\n' <"$work/typed" | sed -n "s/^$escape\[K\([a-z][a-z ]*[a-z]\)\( \[\|:\| the \| tasks\| [a-z]*\.\).*/\1/p" |
		grep -v '^cpuoff' | uniq | paste -sd, -
}

tree_2s progress
new_rules '* offline delay:0.2' '* online delay:0.15'
TERM=xterm
typed 80 --cpu 26-31
status "progress" 0
is "the phases" "checking,moving,removing,verifying,giving back" "$(phases)"
tr '\r' '\n' <"$work/typed" >"$out"
ok "progress fits into a line" not grep -q "^$escape\[K[^$escape]\{80\}" "$out"
out_says "progress: how much, which CPU, how fast, how long" \
	'removing \[#+\.+\] 4 of 6, cpu 27, [0-9.]+ CPUs/s, about 1 s left'
out_says "progress: all of it" 'removing \[#+\] 6 of 6, cpu 26$'
typed 40 --restore
is "the phases of a restore" "checking,bringing back,giving back,verifying" "$(phases)"
tr '\r' '\n' <"$work/typed" >"$out"
ok "progress fits into a narrow line" not grep -q "^$escape\[K[a-bd-z][^$escape]\{39\}" "$out"
typed 80 --cpu 26-31 --quiet
ok "--quiet is silent" not test -s "$out"
typed 80 --restore --no-progress
is "--no-progress" "" "$(phases)"
typed 80 --cpu 10,26 --migrate=none
tr '\r' '\n' <"$work/typed" >"$out"
ok "the result has a line of its own" grep -q -E "^$escape\[K($escape\[[0-9;]*m)*2 CPUs are offline: 10,26" "$out"
typed 80 --restore
TERM=dumb
typed 80 --cpu 26-31
ok "a dumb terminal has no line that is written over" not grep -q "$escape" "$work/typed"
TERM=dumb
export TERM

# ---- the question ----------------------------------------------------------------------------

tree_2s asked
freeze
# asked NAME ANSWER STATUS - of --cpu 4,20 with -i
asked() {
	answer=$2
	typed 80 --cpu 4,20 -i
	status "$1" "$3"
	is "$1: the question" 1 "$(grep -c '^Take CPUs 4,20 offline? \[y/N\]' "$out")"
}
asks=yes
for word in no '' yess 'y y' 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy' 1; do
	asked "the answer \"$word\"" "$word\n" 3
	out_says "the answer \"$word\"" not-confirmed
	untouched "the answer \"$word\""
done
asked "no answer" '\004' 3
untouched "no answer"
asked "SIGINT" '\003' 130
untouched "SIGINT"
ok "no state directory was made" not test -e "$t/run"
asked "y" 'y\n' 0
is "y: online" 0-3,5-19,21-31 "$(online)"
is "what would be done stands before the question" 1 "$(grep -c '^2 CPUs would go offline' "$out")"
is "a note is told once" 1 "$(grep -c evacuation-passed-over "$out")"
answer='YES\n'
typed 80 --restore --interactive
status "--restore, YES" 0
out_says "--restore" '^Bring CPUs 4,20 back online\? '
is "--restore: online" 0-31 "$(online)"
krun --cpu 4
answer='n\n'
typed 80 --restore -i --json '2>/dev/null'
status "--restore, no" 3
is "--restore, no: online" 0-3,5-31 "$(online)"
sed -n '/^{/,/^}/p' "$work/typed" | tr -d '\r' >"$out"
verdict "--restore, no, JSON" 3 refused as-before
json_is "--restore, no, JSON" '[.findings[].rule] | join(" ")' not-confirmed
json_is "--restore, no, JSON" .target.cpus 4
typed 80 --cpu 4 -i
status "CPUs that are off already, no" 3
out_says "CPUs that are off already" '^Keep these CPUs off'
is "CPUs that are off already: no journal" 1 "$(journals)"
krun --restore
answer='y\n'
typed 80 --cpu 1-31:2 -i
out_says "many CPUs" '^Take these 16 CPUs offline\? '
krun --restore

# Nothing to ask
asks=
answer='y\n'
typed 80 --restore -i
status "nothing to do" 0
out_says "nothing to do" '^Nothing to do'
typed 80 --socket 0 -i
status "refused" 3
ok "refused: no question" not grep -q 'y/N' "$out"
typed 80 --cpu 99 -i
status "wrong" 2
ok "wrong: no question" not grep -q 'y/N' "$out"
run --cpu 4 -i --dry-run
status "-i with --dry-run" 2
run --list -i
status "-i with --list" 2

# The machine has changed since
asks=yes
tree_2s changed
answer='y\n'
# what answers changes the machine first
answer_once() {
	wait_for grep -q 'y/N' "$work/typed"
	by_hand 0 20
	printf 'y\n'
}
typed 80 --cpu 4,20 -i
status "another target than agreed to" 3
out_says "another target than agreed to" online-changed
is "another target than agreed to: online" 0-19,21-31 "$(online)"

# Somebody else is at work: no question
tree_2s busy
new_gate
new_rules "cpu31 offline until:$gate"
kstart --cpu 31
wait_gate
asks=
answer_once() {
	:
}
typed 80 --cpu 4 -i
status "another is at work" 75
ok "another is at work: no question" not grep -q 'y/N' "$out"
open_gate
finish

# Nobody can answer
tree_2s nobody
freeze
rc=0
last="cpuoff -i without a terminal"
setsid -w "$CPUOFF" --sysroot="$t" --cpu 4 -i --json </dev/null >"$out" 2>"$err" || rc=$?
verdict "no terminal" 2 invalid as-before
err_says "no terminal" 'no terminal'
untouched "no terminal"

# ---- what took long --------------------------------------------------------------------------

aside_finish slow
status "slow, no terminal" 0
ok "a line after five seconds" grep -Eq '^cpuoff: removing: 3 of 4, cpu 28, 1\.[0-9] s a CPU, about [12] s left$' "$err"
is "and no other" 1 "$(grep -c removing "$err")"

done_testing
