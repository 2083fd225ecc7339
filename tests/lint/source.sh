# SPDX-License-Identifier: GPL-2.0-or-later
# source.sh - the walls between the rooms of the source, its headers, its scripts

: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
LC_ALL=C
export LC_ALL
tests=0

cd "$abs_top_srcdir" || exit 1

result() {
	tests=$((tests + 1))
	if [ -z "$1" ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
		printf '%s\n' "$1" | sed 's/^/# /'
	fi
}

# code FILE... - "file:line: text" without comments and without what strings hold
code() {
	awk '
		FNR == 1 { in_comment = 0 }
		{
			line = $0
			gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
			if (in_comment) {
				if (!match(line, /\*\//))
					next
				line = substr(line, RSTART + 2)
				in_comment = 0
			}
			while (match(line, /\/\*/)) {
				head = substr(line, 1, RSTART - 1)
				tail = substr(line, RSTART + 2)
				if (!match(tail, /\*\//)) {
					line = head
					in_comment = 1
					break
				}
				line = head substr(tail, RSTART + 2)
			}
			print FILENAME ":" FNR ": " line
		}
	' "$@"
}

# ---- rooms: cli may look into core, core into host, all into base -----------------------------

includes() {
	grep -n -E "^#[[:space:]]*include \"($2)/" "src/$1"/*.[ch]
}
result "$(includes base 'host|core|cli')" "base looks into no other room"
result "$(includes host 'core|cli')" "host does not look into core or cli"
result "$(includes core 'cli')" "core does not look into cli"
result "$(grep -n -E '^#[[:space:]]*include "[^/]*"' src/*/*.[ch] | grep -v '"config.h"')" \
	"headers are named with their room"

# ---- walls -----------------------------------------------------------------------------------

result "$(grep -n -E '^#[[:space:]]*include <hwloc' src/*/*.[ch] | grep -v '<hwloc/bitmap\.h>' |
	grep -v '^src/host/topology\.[ch]:')" "only host/topology has hwloc beyond its bitmaps"
result "$(grep -n -E '^#[[:space:]]*include <json' src/*/*.[ch] | grep -v -E '^src/(cli/|core/(document|journal|persist)\.[ch]:|host/neighbours\.c:)')" \
	"JSON is in what core keeps on disk, cli, and where host/neighbours reads that of others"
result "$(grep -n -E '^#[[:space:]]*include <popt' src/*/*.[ch] | grep -v '^src/cli/')" "popt is in cli alone"
result "$(grep -n -E '^#[[:space:]]*include <(cpuset|bitmask)\.h>' src/*/*.[ch] | grep -v '^src/host/cpusets\.[ch]:')" \
	"libcpuset is in host/cpusets alone"
# shellcheck disable=SC2046
result "$(code $(ls src/base/*.[ch] src/host/*.[ch] src/core/*.[ch]) |
	grep -E '(^|[^a-z_])(v?printf|v?fprintf|puts|fputs|putchar|fputc|fwrite|perror|v?warnx?|v?errx?|error|syslog)[[:space:]]*\(' |
	grep -v -E '__attribute__|format\(printf')" "only cli prints"
# shellcheck disable=SC2046
result "$(code $(ls src/base/*.[ch] src/host/*.[ch] src/core/*.[ch]) |
	grep -E '(^|[^a-z_])(stdout|stderr|STDOUT_FILENO|STDERR_FILENO)([^a-z_]|$)')" "only cli knows stdout and stderr"
# shellcheck disable=SC2046
result "$(code $(ls src/base/*.[ch] src/host/*.[ch] src/core/*.[ch]) | grep -E '(^|[^a-z_])(exit|abort|quick_exit)[[:space:]]*\(')" \
	"only cli exits"
# shellcheck disable=SC2046
result "$(code $(ls src/*/*.[ch]) | grep -E '(^|[^a-z])_exit[[:space:]]*\(' | grep -v '^src/host/writer\.c:')" \
	"only the writing child uses _exit"
result "$(grep -n -E '(^|[^a-z_])(open|openat|creat|fopen|freopen|opendir|scandir|mkostemp|mkstemp)[[:space:]]*\(' \
	src/base/*.[ch] src/host/*.[ch] src/core/*.[ch] | grep -v -E '^src/host/(root|state)\.[ch]:' |
	grep -v -E 'open\("/dev/null"|^[^:]*:[0-9]*:[[:space:]]*(/?\*)')" "only host/root and host/state open files"
# shellcheck disable=SC2046
result "$(code $(ls src/*/*.[ch]) | grep -v '^src/host/hooks\.c:' |
	grep -E '(^|[^a-z_])(system|popen|execl|execlp|execv|execvp|execve|posix_spawnp?)[[:space:]]*\(')" \
	"no other program is run, but for hooks"
# shellcheck disable=SC2046
result "$(code $(ls src/*/*.[ch]) | grep -E '(^|[^a-z_])(strcpy|strcat|sprintf|gets|strtok|alloca)[[:space:]]*\(|cpu_set_t[[:space:]]+[a-z_]|CPU_SETSIZE')" \
	"no buffer without a bound, no CPU set of a fixed size"
result "$(grep -n 'hotplug/target' src/*/*.c | grep -v -E '^[^:]*:[0-9]*:[[:space:]]*(/?\*)')" "hotplug/target is not used"

# ---- headers of files ------------------------------------------------------------------------

sources=$(find src tests packaging -name cache -prune -o -name 'work-*' -prune -o -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.vmt' \
	-o -name '*.jq' -o -name '*.py' \) -print | sort)
result "$(for file in $sources Makefile.am configure.ac; do
	head -n 8 "$file" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' || echo "$file"
done)" "every source names its licence"
result "$(for file in $sources Makefile.am configure.ac; do
	name=$(basename "$file" | sed 's/[.]\([^.]*\)$/([.]\1)?/')
	head -n 9 "$file" | grep -q -E "^([/ ]\*|/\*|#) $name - [^ ]" || echo "$file"
done)" "every source says what it is for"
result "$(for file in src/*/*.h; do
	grep -q '^#pragma once' "$file" || echo "$file"
done)" "every header is read once"
result "$(for file in $sources; do
	grep -n -H -E '[[:space:]]+$' "$file"
	[ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at its end"
done)" "no white space at the end of lines"

# ---- scripts ---------------------------------------------------------------------------------

if command -v shellcheck >/dev/null; then
	scripts=$(find tests packaging share/examples bootstrap .ci -name cache -prune -o -name 'work-*' -prune -o -type f \( -name '*.sh' -o -name '*.vmt' \
		-o -perm -u+x \) -print 2>/dev/null | sort)
	for script in $scripts; do
		case $script in
		*.sh | *.vmt) ;;
		*) head -n 1 "$script" | grep -a -q '^#!.*sh' || continue ;;
		esac
		dialect=
		head -n 1 "$script" | grep -a -q -E '^#!|shellcheck shell' || dialect='-s sh'
		# shellcheck disable=SC2086
		result "$(shellcheck -x -P "$abs_top_srcdir" $dialect "$script" 2>&1)" "shellcheck: $script"
	done
else
	tests=$((tests + 1))
	echo "ok $tests - shellcheck # SKIP shellcheck is not installed"
fi

echo "1..$tests"
