# SPDX-License-Identifier: GPL-2.0-or-later
# options.sh - the help, the manual page and the completion know the same options and exit statuses

: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${abs_top_builddir:=$abs_top_srcdir}"
: "${CPUOFF:=$abs_top_builddir/cpuoff}"
LC_ALL=C
export LC_ALL

page=$abs_top_builddir/man/cpuoff.8
[ -f "$page" ] || page=$abs_top_srcdir/man/cpuoff.8
completion=$abs_top_srcdir/completions/cpuoff
work=$abs_top_builddir/tests/lint/work-options
tests=0

result() {
	tests=$((tests + 1))
	if [ -z "$1" ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
		printf '%s\n' "$1" | sed 's/^/# /'
	fi
}

rm -rf "$work"
mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT

# ---- variables -------------------------------------------------------------------------------

sed -n '/^\.SH ENVIRONMENT/,/^\.SH [^E]/p' "$page" >"$work/environment"
result "$(grep -o -h -E 'getenv\("[^"]*"\)' "$abs_top_srcdir"/src/*/*.c | sed 's/.*"\(.*\)".*/\1/' | sort -u |
	while read -r variable; do
		grep -q -x -F ".B $variable" "$work/environment" || echo "$variable"
	done)" "every variable that is read is in the manual page"
result "$(grep -n -E '(getenv|environ)[^a-z_(]*\([^"]|poptReadDefaultConfig|poptReadConfigFile|setlocale' "$abs_top_srcdir"/src/*/*.c |
	grep -v -E 'make_environment|read_environment|set_environment|struct environment|%d/environ|^[^:]*:[0-9]*:[[:space:]]*(/?\*)')" \
	"no other is, nor a file of aliases or a locale"

# ---- three lists of options ------------------------------------------------------------------

"$CPUOFF" --help | sed -n 's/^ *\(-[^ ]*, \)\{0,1\}--\([a-z0-9-]*\).*/--\2/p' | sort -u >"$work/help"
# The tags of the manual page: what follows .TP
awk '/^\.T[PQ]/ { getline; print }' "$page" | sed 's/\\-/-/g' | grep -o -e '--[a-z0-9][a-z0-9-]*' | sort -u >"$work/man"
grep -o -e '--[a-z0-9][a-z0-9-]*' "$completion" | sort -u >"$work/completion"

result "$([ "$(wc -l <"$work/help")" -ge 20 ] || cat "$work/help")" "--help lists the options"
result "$(comm -23 "$work/help" "$work/man")" "every option of --help is in the manual page"
result "$(comm -13 "$work/help" "$work/man")" "every option of the manual page is in --help"
result "$(comm -23 "$work/help" "$work/completion")" "every option of --help is completed"
result "$(comm -13 "$work/help" "$work/completion")" "every completed option is in --help"

# Short options: the manual page's tags have the same pairs
"$CPUOFF" --help | sed -n 's/^ *-\([^ ]\), --\([a-z0-9-]*\).*/\1 \2/p' | sort >"$work/help.short"
awk '/^\.T[PQ]/ { getline; print }' "$page" | sed 's/\\-/-/g; s/\\f[A-Z]//g; s/^\.[A-Z]* //; s/[" ,]\{1,\}/ /g' |
	sed -n 's/^ *-\([^ -]\) \{0,1\}--\([a-z0-9-]*\).*/\1 \2/p' | sort >"$work/man.short"
result "$(diff "$work/help.short" "$work/man.short")" "short options are the same in both"

# What --usage says
"$CPUOFF" --usage | grep -o -e '--[a-z0-9][a-z0-9-]*' | sort -u >"$work/usage"
result "$(comm -3 "$work/help" "$work/usage")" "--usage has the same options"

# ---- the manual page -------------------------------------------------------------------------

if command -v groff >/dev/null; then
	result "$(groff -man -ww -b -z -Tutf8 "$page" 2>&1)" "groff has no complaint"
else
	tests=$((tests + 1))
	echo "ok $tests - groff has no complaint # SKIP groff is not installed"
fi

awk '/^\.SH/ { on = /EXIT STATUS/ } on && /^\.T[PQ]/ { getline; print }' "$page" |
	grep -o '[0-9][0-9]*' | sort -n | uniq >"$work/statuses"
result "$(printf '%s\n' 0 1 2 3 4 5 64 75 130 143 | diff - "$work/statuses")" "the manual page has all exit statuses"

# ---- the rules -------------------------------------------------------------------------------

"$CPUOFF" --list-rules | sed -n 's/^\([a-z][a-z0-9-]*\) .*/\1/p' | sort >"$work/rules"
# Their tags: .BR ID ", " ID " \- how severe"
awk '/^\.SH/ { on = /PREFLIGHT RULES/ } on && /^\.TP/ { getline; tag = $0
	while (tag ~ /\\$/) { sub(/\\$/, "", tag); getline; tag = tag $0 }
	print tag }' "$page" | sed 's/" \\- .*//; s/^\.BR //; s/\\-/-/g' | tr -s '", ' '\n' | grep . | sort >"$work/rules.man"
result "$(uniq -d "$work/rules")$([ "$(wc -l <"$work/rules")" -ge 60 ] || echo few)" "--list-rules has each rule once"
result "$(comm -23 "$work/rules" "$work/rules.man")" "every rule is in the manual page"
result "$(comm -13 "$work/rules" "$work/rules.man")" "every rule of the manual page is in --list-rules"
"$CPUOFF" --list-rules --json | grep -o '"rule": *"[^"]*"' | cut -d'"' -f4 | sort >"$work/rules.json"
result "$(comm -3 "$work/rules" "$work/rules.json")" "--list-rules prints the same in JSON"
# What the source calls a finding, wherever it makes one
cat "$abs_top_srcdir"/src/*/*.c | tr '\n\t' '  ' |
	grep -o -E '(findings_add|reject|refuse|tell|refuse_restore)\([^;]*' |
	grep -o -E '"[a-z][a-z0-9]*(-[a-z0-9]+)*", *(SEVERITY|NULL|[a-z_]+,)' | cut -d'"' -f2 | sort -u >"$work/rules.source"
result "$(comm -13 "$work/rules" "$work/rules.source")" "every finding of the source is in --list-rules"

# Those with a check have their machines in t-preflight, which counts them; the others are met where their
# cause is, and tests name them. But for measure-not-realtime: nothing here refuses SCHED_FIFO to root
grep -v '^measure-not-realtime$' "$work/rules" | while read -r rule; do
	grep -q -r -e "$rule" "$abs_top_srcdir/tests/unit" "$abs_top_srcdir/tests/cli" "$abs_top_srcdir/tests/vm" \
		--include='t-*.c' --include='*.sh' --include='*.vmt' || echo "$rule"
done >"$work/rules.untested"
result "$(cat "$work/rules.untested")" "every rule is named by a test"

for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" FILES EXAMPLES "SEE ALSO"; do
	result "$(grep -Eq "^\.SH \"?$section\"?\$" "$page" || echo missing)" "the manual page has the section $section"
done

result "$(bash -n "$completion" 2>&1)" "the completion is a valid script"

echo "1..$tests"
