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

# host NAME - a machine of two sockets below $hosts, and a program that works on it: lib.sh of tests/cli looks
# at the last one made, or at that of `on NAME'
hosts=$work/hosts
host() {
	mkdir -p "$hosts/$1"
	"$abs_top_builddir/tests/cli/mktree" --sockets 2 --cores 8 --threads 2 --numbering threads-last \
		"$hosts/$1/machine" || exit 1
	: >"$hosts/$1/rules"
	cat >"$hosts/$1/cpuoff" <<-PROGRAM
		#!/bin/sh
		CPUOFF_SHIM_ROOT='$hosts/$1/machine' CPUOFF_SHIM_RULES='$hosts/$1/rules' CPUOFF_SHIM_LOG='$hosts/$1/log' \\
			LD_PRELOAD='$abs_top_builddir/tests/cli/shim.so' exec '$CPUOFF' --sysroot='$hosts/$1/machine' "\$@"
	PROGRAM
	chmod +x "$hosts/$1/cpuoff"
	on "$1"
}

on() {
	t=$hosts/$1/machine
	log=$hosts/$1/log
	rules=$hosts/$1/rules
}
