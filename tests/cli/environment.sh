# SPDX-License-Identifier: GPL-2.0-or-later
# environment.sh - what the caller's environment says changes nothing, and rights of the file give nothing
# shellcheck disable=SC2016

# Where such a bit has an effect
on_disk=yes
. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# ---- variables -------------------------------------------------------------------------------

home=$work/home
mkdir "$home"
cat >"$home/.popt" <<-'ALIASES'
	cpuoff alias --list --status
	cpuoff alias --dry-run --list
	cpuoff exec --status /bin/false
ALIASES

tree_2s
for action in "--list --socket 1" "--list --map" "--list --near none" "--socket 1 --dry-run" "--status" \
	"--core-of 3 --dry-run --json" "--report --node 1" "--help" "--persist=apply --dry-run --json"; do
	# shellcheck disable=SC2086
	run $action
	cp "$out" "$work/plain.out"
	cp "$err" "$work/plain.err"
	plain=$rc
	last="the same with variables of all kinds: $action"
	rc=0
	# shellcheck disable=SC2086
	env HOME="$home" XDG_CONFIG_HOME="$home" TMPDIR=/nonexistent TZ=Pacific/Kiritimati LANG=tr_TR.UTF-8 \
		LC_ALL=tr_TR.UTF-8 LC_NUMERIC=de_DE.UTF-8 LANGUAGE=de COLUMNS=20 LINES=3 PATH=/nonexistent \
		POSIXLY_CORRECT=1 HWLOC_SYNTHETIC='pack:3 core:5 pu:7' HWLOC_XMLFILE=/nonexistent \
		HWLOC_FSROOT=/nonexistent HWLOC_THISSYSTEM=1 HWLOC_COMPONENTS=synthetic HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1 \
		HWLOC_XML_VERBOSE=1 HWLOC_HIDE_ERRORS=0 CPUOFF_SYSROOT=/ CPUOFF_HOOK=x SYSTEMD_LOG_LEVEL=debug \
		"$CPUOFF" --sysroot="$t" $action >"$out" 2>"$err" </dev/null || rc=$?
	is "$action: exit status" "$plain" "$rc"
	ok "$action: stdout" cmp "$work/plain.out" "$out"
	ok "$action: stderr" cmp "$work/plain.err" "$err"
done

# ---- bits ------------------------------------------------------------------------------------

as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# shellcheck disable=SC2317
has_effect() {
	cp "$(command -v id)" "$work/id" && chmod 4755 "$work/id" && [ "$(as_nobody "$work/id" -u)" = 0 ]
}

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null || ! has_effect 2>/dev/null; then
	skip "a set-user-ID bit" "it cannot be given here, or has no effect"
	done_testing
fi
cp "$CPUOFF" "$work/program"
last="a copy, as nobody"
for mode in 4755 2755 6755; do
	chmod "$mode" "$work/program"
	for arguments in "--sysroot=$t --list" "--list" "--help" "--state-dir=$work --status --json"; do
		rc=0
		# shellcheck disable=SC2086
		as_nobody "$work/program" $arguments >"$out" 2>"$err" || rc=$?
		is "mode $mode, $arguments: refused" "4 0" "$rc $(wc -c <"$out")"
		err_says "mode $mode, $arguments" 'set-user-ID'
	done
done
chmod 755 "$work/program"
rc=0
as_nobody "$work/program" --sysroot="$t" --list >"$out" 2>"$err" || rc=$?
status "without such a bit" 0

# ---- capabilities of the file ------------------------------------------------------------------

# Those that the caller has of his own are his to use
with_own() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+sys_nice --ambient-caps=+sys_nice "$@"
}

if ! command -v setcap >/dev/null || ! with_own true 2>/dev/null || ! setcap cap_sys_nice+ep "$work/program" 2>/dev/null; then
	skip "file capabilities" "they cannot be given here"
	done_testing
fi
last="a copy with capabilities"
for capabilities in cap_sys_nice+ep cap_sys_nice+p cap_dac_override,cap_net_admin+ep; do
	setcap "$capabilities" "$work/program"
	for arguments in "--sysroot=$t --list" "--help"; do
		rc=0
		# shellcheck disable=SC2086
		as_nobody "$work/program" $arguments >"$out" 2>"$err" || rc=$?
		is "$capabilities, $arguments: refused" "4 0" "$rc $(wc -c <"$out")"
		err_says "$capabilities, $arguments" "capabilities of the program's file"
	done
	rc=0
	"$work/program" --sysroot="$t" --list >"$out" 2>"$err" || rc=$?
	status "$capabilities: root has them anyway" 0
done
setcap -r "$work/program"
rc=0
with_own "$work/program" --sysroot="$t" --list >"$out" 2>"$err" || rc=$?
status "capabilities of the caller's own" 0
setcap cap_sys_nice+i "$work/program"
rc=0
as_nobody "$work/program" --sysroot="$t" --list >"$out" 2>"$err" || rc=$?
status "a file that gives nothing to this caller" 0

done_testing
