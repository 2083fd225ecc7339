# SPDX-License-Identifier: GPL-2.0-or-later
# list.sh - --list: the machine as a table and as JSON, read only and without rights
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# ---- JSON ------------------------------------------------------------------------------------

tree_2s json --offline 30 --no-online 9
freeze
run --list --json
verdict "--list --json" 0 'done'
json_is "--list --json" .action list
json_is "--list --json" '.cpus | length' 32
json_is "--list --json" '[.cpus[].cpu] == [range(32)]' true
json_is "CPU 25" '.cpus[25] | [.socket, .die, .core, .node, .thread, .online, .can_offline] | map(tostring) | join(" ")' \
	'1 0 1 1 1 true true'
json_is "CPU 0" '.cpus[0] | [.socket, .die, .core, .node, .thread, .online, .can_offline] | map(tostring) | join(" ")' \
	'0 0 0 0 0 true false'
json_is "CPU 9 has no online file" '.cpus[9].can_offline' false
json_is "CPU 30 is offline" '.cpus[30].online' false
json_is "no selection asked for" 'has("selection")' false
untouched "--list"
ok "--list makes no state directory" not test -e "$t/run"

run --list --json --socket 1
json_is "with a selection" .selection.cpus 8-15,24-29,31

tree noids --sockets 2 --cores 4 --no-ids --nodes 0
run --list --json
status "without ids" 0
document "without ids"
json_is "without ids" '[.cpus[] | .socket, .node] | map(select(. != null and . != -1)) | length' 0

# ---- text ------------------------------------------------------------------------------------

tree_2s text --offline 30-31 --no-online 9
run --list
status "--list" 0
ok "socket 1 is in the table" says "$out" '(^|[^0-9])1([^0-9].*)?8'
out_says "--list" '30-31'
out_says "--list" 'offline'
ok "what cannot go is visible: CPU 9" says "$out" '(^|[^0-9-])9([^0-9-]|$)'
ok "a page at most" test "$(wc -l <"$out")" -le 24
ok "stderr is empty" not test -s "$err"

run --list --socket 0 --except 3
status "--list with a selection" 0
out_says "--list with a selection" '0-2,4-7,16-23'

run --list --socket 5
status "--list of what does not exist" 2
err_says "--list of what does not exist" '0-1'
run --list --json --socket 5
verdict "--list --json of what does not exist" 2 invalid as-before

# ---- where it looks --------------------------------------------------------------------------

tree_2s env
run --list --json
cp "$out" "$work/plain"
last="the same with HWLOC_* set"
HWLOC_SYNTHETIC='pack:3 core:5 pu:7' HWLOC_XMLFILE=/nonexistent HWLOC_COMPONENTS=synthetic \
	HWLOC_FSROOT=/ HWLOC_THISSYSTEM=1 "$CPUOFF" --sysroot="$t" --list --json >"$out" 2>"$err" || rc=$?
ok "hwloc's variables of the caller change nothing" cmp "$work/plain" "$out"
HWLOC_SYNTHETIC='pack:3 core:5 pu:7' HWLOC_XMLFILE=/nonexistent HWLOC_COMPONENTS=synthetic \
	"$CPUOFF" --sysroot="$t" --list --json --l3-of 9 >"$out" 2>"$err" || rc=$?
json_is "hwloc's variables of the caller change nothing" .selection.cpus 8-15,24-31

tree_2s
ln -s 2s "$work/link"
t=$work/link
run --list --json --socket 1
json_is "--sysroot through a link" .selection.cpus 8-15,24-31

t=$work/nowhere
run --list
status "--sysroot that does not exist" 2
err_says "--sysroot that does not exist" nowhere
mkdir "$work/empty"
t=$work/empty
run --list --json
verdict "--sysroot without a machine" 2 invalid as-before
run --socket 0
status "--sysroot without a machine" 2
mkdir -p "$work/hollow/sys/devices/system/cpu"
t=$work/hollow
run --list --json
ok "--sysroot without CPUs is an error" test "$rc" -ne 0
ok "nothing of the running machine in it" not jq -e '.cpus | length > 0' "$out"
: >"$work/file"
t=$work/file
run --list
status "--sysroot that is a file" 2

# What lies inside of the copy, the machine's own /proc tells; what looks for leaks needs it, too
without_proc() {
	unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
}
tree_2s
if ! grep -q __asan_ "$CPUOFF" && without_proc true 2>/dev/null; then
	last="--list, without /proc"
	rc=0
	without_proc "$CPUOFF" --sysroot="$t" --list >"$out" 2>"$err" || rc=$?
	status "$last" 2
	err_says "$last" '/proc/self/fd cannot be read'
	err_says "$last: what to do" 'Mount proc on /proc'
else
	skip "--list, without /proc" "no name space can be made here, or this is a build with sanitizers"
fi
rm -r "$t/proc"
run --list
status "a copy that has no /proc is as good" 0
mv "$t/sys/devices/system/cpu/present" "$work/present"
ln -s "$work/present" "$t/sys/devices/system/cpu/present"
run --list
status "a file that is a link out of the copy" 2
err_says "a file that is a link out of the copy" 'cpu/present cannot be read: it is a link that leads out of the copy'
tree_2s

# A file that is damaged is named
for file in sys/devices/system/cpu/online sys/devices/system/cpu/present sys/devices/system/cpu/isolated \
	sys/devices/system/node/node1/cpulist sys/fs/cgroup/cpuset.cpus.effective; do
	tree_2s damaged
	mkdir -p "$t/sys/fs/cgroup"
	echo cpuset | tee "$t/sys/fs/cgroup/cgroup.controllers" >"$t/sys/fs/cgroup/cgroup.subtree_control"
	echo "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0" >"$t/proc/mounts"
	echo 0-x >"$t/$file"
	run --socket 1 --dry-run
	status "a damaged $file" 2
	err_says "a damaged $file" "$t/$file cannot be read: its text is not what the kernel writes .machine-unreadable"
done
# ... also one that is met while the steps are planned
tree_2s damaged
echo many >"$t/sys/kernel/rcu_expedited"
run --socket 1 --dry-run --json
verdict "a damaged file in the plan" 2 invalid as-before
json_is "a damaged file in the plan" '.findings[] | select(.severity == "refuse") |
	.rule + " " + (.message | test("sys/kernel/rcu_expedited cannot be read") | tostring)' 'machine-unreadable true'
tree_2s damaged
rm "$t/sys/devices/system/node/node1/cpulist"
echo 'ff,xy' >"$t/sys/devices/system/node/node1/cpumap"
run --list --json
verdict "a damaged mask" 2 invalid as-before
json_is "a damaged mask" '.findings[0] | .rule + " " + (.message | test("node/node1/cpumap cannot be read") | tostring)' \
	'machine-unreadable true'

# hwloc would end the program here: it is left out, and that is said
tree_2s damaged
for text in 18446744073709551617 0-4294967295 x ''; do
	echo "$text" >"$t/sys/devices/system/node/online"
	run --list --socket 1 --json
	verdict "nodes \"$text\" online" 0 'done'
	json_is "nodes \"$text\" online" .selection.cpus 8-15,24-31
done

# A link out of the tree is not followed
tree_2s leak
echo 0-3 >"$work/outside"
rm "$t/sys/devices/system/node/node1/cpulist" "$t/sys/devices/system/node/node1/cpumap"
ln -s "$work/outside" "$t/sys/devices/system/node/node1/cpulist"
run --list --json --node 1
ok "a link that leaves the tree is not followed" test "$rc" -ne 0 -o "$(json .selection.cpus)" = 8-15,24-31

# ---- without rights --------------------------------------------------------------------------

tree_2s plain
if can_drop; then
	run_dropped --list --json
	verdict "unprivileged --list" 0 'done'
	run_dropped --socket 1 --dry-run --json
	verdict "unprivileged --dry-run" 0 ready as-before
else
	skip "unprivileged --list" "cannot drop rights here"
fi

# ---- exact text ------------------------------------------------------------------------------

tree_2s golden --offline 30-31 --no-online 9
run --list
ok "the table, to the letter" cmp "$out" "$here/expected/list"
run --list --socket 1
ok "the table with a selection, to the letter" cmp "$out" "$here/expected/list-socket"

done_testing
