# SPDX-License-Identifier: GPL-2.0-or-later
# instrumented.sh - all tests that need no guest, in a build with ASan and UBSan that counts the lines it runs
#
# It is built from the tarball, beside the tree, which may be configured in place. A test that fails here alone
# has met a sanitizer.

# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

# Of 100 lines of a room so many are run at least. What of host only a kernel can be asked is run in the guests,
# and the child that writes ends without telling what it ran.
floors='base 95
cli 90
core 90
host 80'

needs gcc gcov
build=$work/build
rm -rf "$build"
mkdir -p "$build"
tar -xf "$tarball" -C "$build" --strip-components=1
cd "$build" || exit 1
# What make says to those that it runs is not for another tree
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CPUOFF TESTS
step "it is configured" ./configure -q CC=gcc CFLAGS='-O1 -g --coverage' --enable-sanitizers || done_testing
step "it is built" make -s -j2 || done_testing

# Sweeps and huge machines take too long so, and what nobody runs complains that it cannot count its lines
scripts=$(sed -n '/^CLI_TESTS = /,/[^\\]$/p' Makefile | grep -o 'tests/cli/[a-z-]*[.]sh' | grep -v -E '/(big|environment|faults)[.]sh')
make -s -k -j2 check CLI_TESTS="$(echo "$scripts" | tr '\n' ' ')" \
	LINT_TESTS= PACKAGING_TESTS= QUALITY_TESTS= VM_TESTS= >"$out" 2>&1
for test in tests/*/*.trs; do
	rc=0
	! grep -q -E '^:test-result: (FAIL|XPASS|ERROR)' "$test" || rc=1
	result "$rc" "with ASan and UBSan: ${test%.trs}"
	[ "$rc" -eq 0 ] || grep -v '^PASS' "${test%.trs}.log" | tail -n 60 | sed 's/^/#    /'
done
set -- tests/*/*.trs
ok "these were many" test $# -gt 50

awk=$build/tests/quality/coverage.awk
find src -name '*.gcda' | sort | while read -r data; do
	gcov -n -r -s "$build" "$data"
done 2>/dev/null | awk -f "$awk" | sort -k 2n >"$work/coverage"
echo "$floors" | while read -r room floor; do
	echo "$room $floor $(sed -n "s/^$room \([0-9.]*\) .*/\1/p" "$work/coverage")"
done >"$work/rooms"
while read -r room floor percent; do
	is "coverage of $room: $percent% of its lines, $floor% are asked for" 1 \
		"$(awk "BEGIN { print ($percent + 0 >= $floor) }" </dev/null)"
done <"$work/rooms"
note "the files with the least of it:"
note "$(grep '^src' "$work/coverage" | head -n 20)"

cd "$abs_top_builddir" && rm -rf "$build"
done_testing
