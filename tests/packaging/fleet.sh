# SPDX-License-Identifier: GPL-2.0-or-later
# fleet.sh - several machines through ClusterShell and pdsh, which know a result by its exit status
# shellcheck disable=SC2317

on_disk=
# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

needs clush pdsh

LC_ALL=C.UTF-8
CLUSTERSHELL_CFGDIR=$work
export LC_ALL CLUSTERSHELL_CFGDIR
for name in node1 node2 node3; do
	host $name
done
freeze
cat >"$work/cpuoff" <<PROGRAM
#!/bin/sh
program=$hosts/\$1/cpuoff
shift
exec "\$program" "\$@"
PROGRAM
chmod +x "$work/cpuoff"

# with TOOL OPTION... - cpuoff on all three at a time; here both run it on this machine, with the name of another
with() {
	tool=$1
	shift
	last="$tool cpuoff $*"
	rc=0
	"$tool" -R exec -w 'node[1-3]' -S "$work/cpuoff" %h "$@" >"$out" 2>"$err" </dev/null || rc=$?
}

for tool in clush pdsh; do
	with "$tool" --socket 1 --dry-run --quiet
	status "$tool: nobody refuses" 0
	is "$tool: nobody refuses, and nothing is said" '' "$(cat "$out" "$err")"
	as_before "$tool: nobody refuses"

	echo 'cpu9 offline ENOSPC' >"$hosts/node3/rules"
	with "$tool" --socket 1 --quiet
	status "$tool: one fails" 1
	any_says "$tool: one fails" 'node3: cpuoff: cpu 9 could not be taken offline'
	any_says "$tool: one fails" 'node3: .*exited with exit code 1'
	ok "$tool: one fails, the others are not named" not grep -q 'node[12]' "$out" "$err"
	as_before "$tool: one fails"
	on node1
	is "$tool: the others are done" 0-7,16-23 "$(online)"
	on node3
	: >"$rules"

	with "$tool" --restore=all --quiet
	status "$tool: all are as before" 0
	for name in node1 node2 node3; do
		on $name
		as_before "$tool: all are as before, $name"
	done

	with "$tool" --socket 0 --quiet
	status "$tool: all refuse" 3
done

done_testing
