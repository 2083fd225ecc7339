# SPDX-License-Identifier: GPL-2.0-or-later
# analysis.sh - what gcc, clang and cppcheck find in the source without running it: nothing
#
# None of them knows the attribute cleanup, or follows what is put into a list: what they say of leaks is not
# asked for here. Leaks are looked for by the sanitizers, in instrumented.sh and in the fuzz targets.

# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

needs gcc clang cppcheck pkg-config
cd "$abs_top_srcdir" || exit 1
flags="-DHAVE_CONFIG_H -D_GNU_SOURCE -Isrc -I$abs_top_builddir $(pkg-config --cflags hwloc popt json-c)"

# each DESCRIPTION COMMAND - the command, with a source of ours as its "$1", prints nothing
each() {
	last=$2
	rc=0
	printf '%s\n' src/*/*.c | xargs -P 2 -n 1 sh -c "$2" sh >"$out" 2>&1 || rc=$?
	[ ! -s "$out" ] || rc=1
	: >"$err"
	result "$rc" "$1"
}

# Without optimization, since what is inlined confuses it
each "gcc -fanalyzer" "gcc -std=gnu11 -O0 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-file-leak $flags \
	-c -o /dev/null \"\$1\""
each "clang --analyze" "clang --analyze -Xclang -analyzer-output=text -std=gnu11 $flags -o /dev/null \"\$1\" 2>&1 |
	awk '/: (warning|error): / { is_told = !/Potential leak of memory/ } is_told && !/ generated[.]\$/'"
# shellcheck disable=SC2086 # flags
step "cppcheck" cppcheck -q -j 2 --std=c11 --library="posix,gnu,$abs_top_srcdir/tests/quality/json-c.cfg" \
	--enable=warning,performance --inline-suppr --suppress=memleak --suppress=resourceLeak --error-exitcode=1 \
	$flags src

done_testing
