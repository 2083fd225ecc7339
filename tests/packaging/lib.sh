# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lib.sh - what the tests of the packages have beside that of tests/cli: what they need, and what to build

# Packages are larger than what should be kept in memory
: "${on_disk=yes}"
# shellcheck source=tests/cli/lib.sh
. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# missing WHAT - this machine cannot run the test
missing() {
	[ -n "${CPUOFF_VM_REQUIRED:-}${CI:-}" ] || skip_all "$*"
	echo "1..1"
	echo "not ok 1 - $*"
	exit 0
}

# needs TOOL...
needs() {
	for tool; do
		command -v "$tool" >/dev/null || missing "$tool is not installed"
	done
}

# step DESCRIPTION COMMAND... - the command succeeds; its output is kept, and shown where it fails
step() {
	step_what=$1
	shift
	last=$*
	rc=0
	"$@" >"$out" 2>"$err" </dev/null || rc=$?
	result "$rc" "$step_what"
	[ "$rc" -eq 0 ] || {
		note "the end of it:"
		tail -n 40 "$out" "$err" | sed 's/^/#    /'
	}
	return "$rc"
}

# The version of the tarball, which `make dist' made
tarball=${CPUOFF_TARBALL:?}
version=${tarball##*/cpuoff-}
version=${version%.tar.xz}
