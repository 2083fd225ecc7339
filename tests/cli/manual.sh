# SPDX-License-Identifier: GPL-2.0-or-later
# manual.sh - the examples of the manual page do what they say, as far as a tree of files can show it
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

page=$abs_top_srcdir/man/cpuoff.8.in

# The lines of all examples, as they are typed: a line that ends in | has a second half
sed -n '/^\.SH EXAMPLES/,/^\.SH "SEE ALSO"/p' "$page" | sed -n '/^\.EX/,/^\.EE/{/^\.E[XE]/!p}' |
	sed 's/\\-/-/g; s/\\e/\\/g' | sed -e ':a' -e '/|$/{N;s/\n */ /;ba' -e '}' >"$work/examples"
jobs=$(sed -n '/^\.SH EXAMPLES/,/^\.SH "SEE ALSO"/p' "$page" | grep -c '^\.SS')
ok "there are examples of ten jobs and more" test "$jobs" -ge 10

tree quad --sockets 4 --cores 4 --threads 2 --numbering threads-last
krun --socket 3 --json
status "something is off" 0

# Every line that begins with cpuoff is understood, whatever this machine answers to it
grep -o '^cpuoff [^|&>]*' "$work/examples" | sort -u >"$work/commands"
ok "there are commands" test "$(wc -l <"$work/commands")" -ge 20
while IFS= read -r command; do
	eval "set -- ${command#cpuoff }" 2>/dev/null
	run "$@" --dry-run
	[ "$rc" -ne 2 ] || run "$@"
	# An example's id, file or CPU may not be here; an option has to be
	ok "$command: the options are there" not says "$err" 'unknown option|does not go with|needs'
done <"$work/commands"

# Every filter for jq finds something in a document
grep '^cpuoff.*| *jq' "$work/examples" >"$work/filters"
ok "there are filters" test "$(wc -l <"$work/filters")" -ge 4
temp_cpuoff() {
	"$CPUOFF" --sysroot="$t" "$@" 2>/dev/null
}
while IFS= read -r line; do
	case $line in
	*refuse*) line=$(printf '%s' "$line" | sed 's/--node 2/--node 0/') ;;
	*task.affinity*) line=$(printf '%s' "$line" | sed 's/task.affinity/cpu.offline/') ;;
	esac
	eval "temp_$line" >"$out" 2>"$err"
	rc=$? last=$line
	ok "${line#cpuoff }" test "$rc" -eq 0 -a -s "$out"
	ok "${line#cpuoff }: no null" not grep -q null "$out"
done <"$work/filters"

done_testing
