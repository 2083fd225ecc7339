# SPDX-License-Identifier: GPL-2.0-or-later
# terminal.sh - what is seen at a terminal: width, colour, progress, the question
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

command -v script >/dev/null || skip_all "script(1) is not installed"

# narrow FILE - no line has more than 80 columns
narrow() {
	awk 'length($0) > 80 { exit 1 }' "$1"
}

# typed COLUMNS [ARG...] - krun on a terminal of so many columns, which reads standard input; $out has all
# that is written to it, without carriage returns
typed() {
	typed_columns=$1
	shift
	last="(terminal) cpuoff --sysroot=$t $*"
	rc=0
	: >"$err"
	# the words of the tests have no blanks
	CPUOFF_SHIM_ROOT=$t CPUOFF_SHIM_RULES=$rules CPUOFF_SHIM_LOG=$log timeout --foreground -k 2 "$limit" \
		script -qec "stty cols $typed_columns; LD_PRELOAD=$abs_top_builddir/tests/cli/shim.so \
		$CPUOFF --sysroot=$t $*" /dev/null >"$work/typed" || rc=$?
	tr -d '\r' <"$work/typed" >"$out"
}

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

done_testing
