# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lib.sh - what every script of this directory has: TAP, machine trees, the program with or without a kernel
#
# $t is the tree in use. `run` runs cpuoff on it as it lies there, `krun` with shim.so as its kernel, which
# answers by $rules and writes $log. Both leave $rc, and the output in $out and $err. A script ends with
# `done_testing`: one that dies before has no plan, and so fails.

# The scripts use what is set here
# shellcheck disable=SC2031,SC2034,SC2119,SC2120
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${abs_top_builddir:=$abs_top_srcdir}"
: "${CPUOFF:=$abs_top_builddir/cpuoff}"
abs_top_builddir=$(cd "$abs_top_builddir" && pwd -P)

here=$abs_top_srcdir/tests/cli
script=${0##*/}
script=${script%.sh}
limit=60
rc=0
last=
tests=0
t=

LC_ALL=C
TERM=dumb
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
export LC_ALL TERM ASAN_OPTIONS
umask 022
unset HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT HWLOC_COMPONENTS HWLOC_THISSYSTEM COLUMNS CDPATH

# ---- TAP -------------------------------------------------------------------------------------

note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# result STATUS DESCRIPTION - one line of TAP; on failure what the last run was and printed
result() {
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
		return 0
	fi
	echo "not ok $tests - $2"
	note "$last"
	note "exit status $rc"
	[ ! -s "$out" ] || { note "stdout:" && head -n 30 "$out" | cut -c1-400 | sed 's/^/#    /'; }
	[ ! -s "$err" ] || { note "stderr:" && head -n 30 "$err" | cut -c1-400 | sed 's/^/#    /'; }
	[ ! -s "$log" ] || { note "writes:" && tail -n 12 "$log" | sed 's/^/#    /'; }
	return 0
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# ok DESCRIPTION COMMAND... - the command succeeds
ok() {
	ok_what=$1
	shift
	ok_status=0
	"$@" >/dev/null 2>&1 || ok_status=$?
	result "$ok_status" "$ok_what"
	[ "$ok_status" -eq 0 ] || note "failed: $*"
}

# is DESCRIPTION EXPECTED ACTUAL
is() {
	if [ "$2" = "$3" ]; then
		result 0 "$1"
	else
		result 1 "$1"
		note "expected: $2"
		note "got:      $3"
	fi
}

# status DESCRIPTION EXPECTED - of the last run
status() {
	is "$1: exit status" "$2" "$rc"
}

done_testing() {
	echo "1..$tests"
	exit 0
}

not() {
	! "$@"
}

# ---- the output of the last run --------------------------------------------------------------

# says FILE PATTERN - an extended regular expression, letters of either case
says() {
	grep -Eiq -e "$2" "$1"
}

err_says() {
	ok "$1: says \"$2\"" says "$err" "$2"
}

out_says() {
	ok "$1: prints \"$2\"" says "$out" "$2"
}

# any_says DESCRIPTION PATTERN - on stdout or on stderr
any_says() {
	if says "$out" "$2" || says "$err" "$2"; then
		result 0 "$1: says \"$2\""
	else
		result 1 "$1: says \"$2\""
	fi
}

json() {
	jq -r "$1" "$out" 2>/dev/null
}

# json_is DESCRIPTION FILTER EXPECTED
json_is() {
	is "$1: $2" "$3" "$(json "$2")"
}

# One JSON document of the known level on stdout, whatever happened
is_document() {
	jq -es --argjson rc "$rc" 'length == 1 and (.[0] | type == "object" and .api_level == 1 and
		.exit_status == $rc)' "$out" >/dev/null
}

document() {
	ok "$1: one JSON document" is_document
}

# verdict DESCRIPTION STATUS VERDICT [MACHINE] - of a run with --json
verdict() {
	status "$1" "$2"
	document "$1"
	if [ $# -gt 3 ]; then
		json_is "$1" '.verdict + " " + .machine' "$3 $4"
	else
		json_is "$1" .verdict "$3"
	fi
}

# The CPUs that a plan or a run takes, in its order: "31,30,29"
steps_of() {
	json "[.steps[] | select(.kind == \"cpu.offline\").object | ltrimstr(\"cpu \")] | join(\",\")"
}

# A list without ranges, numbers ascending
expand() {
	printf '%s' "$1" | awk -F, '{
		for (i = 1; i <= NF; i++) {
			n = split($i, r, "-")
			for (c = r[1] + 0; c <= r[n] + 0; c++)
				printf "%s%d", k++ ? "," : "", c
		}
	}'
}

# The same, descending
expand_down() {
	expand "$1" | awk -F, '{ for (i = NF; i; i--) printf "%s%s", $i, (i > 1 ? "," : "") }'
}

# ---- machine trees ---------------------------------------------------------------------------

# tree NAME OPTION... - a new machine of mktree's, as $t, in the place of the last one
tree() {
	[ -z "$made" ] || rm -rf "$made" "$made.shim"
	t=$work/$1
	made=$t
	shift
	rm -rf "$t" "$t.shim"
	"$abs_top_builddir/tests/cli/mktree" "$@" "$t" || exit 1
	new_rules
}

# Two sockets and nodes, 8 cores each, 2 threads: socket 1 is 8-15,24-31
tree_2s() {
	tree_2s_name=${1:-2s}
	[ $# -eq 0 ] || shift
	tree "$tree_2s_name" --sockets 2 --cores 8 --threads 2 --numbering threads-last "$@"
}

# Sets, for the shim, the lines of the arguments, and starts a new log
new_rules() {
	: >"$log"
	: >"$rules"
	[ $# -eq 0 ] || printf '%s\n' "$@" >"$rules"
	rm -f "$t.shim/state"
}

# put FILE TEXT... - a file of the tree, a line an argument
put() {
	put_file=$t/$1
	shift
	mkdir -p "${put_file%/*}"
	printf '%s\n' "$@" >"$put_file"
}

# acpi CONTAINER CPU... - objects of the firmware for these CPUs, all in that container; a container whose
# name has a dash at its end cannot be ejected
acpi() {
	acpi_dir=devices/LNXSYSTM:00/LNXSYBUS:00/${1%-}
	mkdir -p "$t/sys/$acpi_dir"
	[ "$1" != "${1%-}" ] || : >"$t/sys/$acpi_dir/eject"
	echo 15 >"$t/sys/$acpi_dir/status"
	shift
	for acpi_cpu in "$@"; do
		acpi_object=$acpi_dir/LNXCPU:$(printf %02x "$acpi_cpu")
		mkdir -p "$t/sys/$acpi_object"
		: >"$t/sys/$acpi_object/eject"
		echo '\_SB.CPU' >"$t/sys/$acpi_object/path"
		ln -s "../../../${acpi_object#devices/}" "$t/sys/devices/system/cpu/cpu$acpi_cpu/firmware_node"
	done
}

# plug CPU... - somebody puts these back into the machine
plug() {
	for plug_cpu in "$@"; do
		# shellcheck disable=SC2016
		with_kernel sh -c 'echo 0 >"$1"' sh \
			"$(find "$t/sys/devices/LNXSYSTM:00" -name "LNXCPU:$(printf %02x "$plug_cpu")")/eject"
	done
}

# block NODE NUMBER STATE ZONE - a memory block of 128 MiB
block() {
	mkdir -p "$t/sys/devices/system/memory/memory$2"
	echo 8000000 >"$t/sys/devices/system/memory/block_size_bytes"
	echo "$3" >"$t/sys/devices/system/memory/memory$2/state"
	echo "$4" >"$t/sys/devices/system/memory/memory$2/valid_zones"
	ln -s "../../memory/memory$2" "$t/sys/devices/system/node/node$1/memory$2"
}

# pci ADDRESS NODE CLASS DRIVER|- LOCAL-CPUS - a PCI device below the root bridge, CPUs 0-31 at most
pci() {
	pci_dir=$t/sys/devices/pci0000:00/$1
	mkdir -p "$pci_dir" "$t/sys/bus/pci/devices"
	ln -s "../../../devices/pci0000:00/$1" "$t/sys/bus/pci/devices/$1"
	echo "$2" >"$pci_dir/numa_node"
	echo "$3" >"$pci_dir/class"
	echo "$5" >"$pci_dir/local_cpulist"
	pci_mask=0
	for pci_cpu in $(expand "$5" | tr , ' '); do
		pci_mask=$((pci_mask | 1 << pci_cpu))
	done
	printf '%08x\n' "$pci_mask" >"$pci_dir/local_cpus"
	[ "$4" = - ] || ln -s "../../../bus/pci/drivers/$4" "$pci_dir/driver"
}

# on_pci ADDRESS CLASS PATH - a name of a class (net, block) on that device, PATH below it
on_pci() {
	on_pci_path=devices/pci0000:00/$1/$3
	mkdir -p "$t/sys/$on_pci_path" "$t/sys/class/$2"
	ln -s "../../$on_pci_path" "$t/sys/class/$2/${3##*/}"
	on_pci_path=$t/sys/$on_pci_path
}

online() {
	cat "$t/sys/devices/system/cpu/online"
}

expedited() {
	cat "$t/sys/kernel/rcu_expedited"
}

# What the machine holds, whenever it was written
content() {
	(cd "$t" && find sys proc -printf '%y %p %l\n' | sort &&
		find sys proc -type f -exec grep -a . {} + | sort) | cksum
}

# Every write would show: sizes and times too
traces() {
	(cd "$t" && find . -path ./run -prune -o ! -path . -printf '%y %m %p %l %s %T@\n' | sort) | cksum
}

freeze() {
	frozen_content=$(content)
	frozen_traces=$(traces)
}

journals() {
	find "$t/run/cpuoff" -name '*.json' 2>/dev/null | wc -l
}

# untouched DESCRIPTION - nothing was written since `freeze`, and there is no journal
untouched() {
	is "$1: no write" "$frozen_traces" "$(traces)"
	is "$1: no journal" 0 "$(journals)"
}

# as_before DESCRIPTION - written or not, the machine is what it was at `freeze`
as_before() {
	is "$1: the machine is as before" "$frozen_content" "$(content)"
}

# ---- running ---------------------------------------------------------------------------------

# All variables of the shim's, for one command
with_kernel() {
	CPUOFF_SHIM_ROOT=$t CPUOFF_SHIM_RULES=$rules CPUOFF_SHIM_LOG=$log \
		LD_PRELOAD=$abs_top_builddir/tests/cli/shim.so "$@"
}

run() {
	last="cpuoff --sysroot=$t $*"
	rc=0
	timeout --foreground -k 2 "$limit" "$CPUOFF" --sysroot="$t" "$@" \
		</dev/null >"$out" 2>"$err" || rc=$?
}

krun() {
	last="(shim) cpuoff --sysroot=$t $*"
	rc=0
	# shellcheck disable=SC2016
	timeout --foreground -k 2 "$limit" env CPUOFF_SHIM_ROOT="$t" CPUOFF_SHIM_RULES="$rules" \
		CPUOFF_SHIM_LOG="$log" LD_PRELOAD="$abs_top_builddir/tests/cli/shim.so" \
		"$CPUOFF" --sysroot="$t" "$@" </dev/null >"$out" 2>"$err" || rc=$?
}

# kstart ARG... - krun in the background, as $pid; `finish` waits for it
kstart() {
	last="(shim, background) cpuoff --sysroot=$t $*"
	# A shell without job control lets its background processes ignore SIGINT
	CPUOFF_SHIM_ROOT=$t CPUOFF_SHIM_RULES=$rules CPUOFF_SHIM_LOG=$log \
		env --default-signal=INT,QUIT LD_PRELOAD="$abs_top_builddir/tests/cli/shim.so" \
		"$CPUOFF" --sysroot="$t" "$@" </dev/null >"$work/background.out" 2>"$work/background.err" &
	pid=$!
}

finish() {
	rc=0
	wait "$pid" || rc=$?
	cp "$work/background.out" "$out"
	cp "$work/background.err" "$err"
}

# aside NAME ARG... - krun in the background with files of its own, beside what follows. What takes long by
# its nature need not be waited for: `aside_finish NAME` does, and leaves $rc, $seconds and the rest.
aside() {
	aside_dir=$work/aside-$1
	shift
	mkdir "$aside_dir"
	mv "$t" "$aside_dir/tree"
	[ ! -e "$t.shim" ] || mv "$t.shim" "$aside_dir/tree.shim"
	t=$aside_dir/tree
	cp "$rules" "$aside_dir/rules"
	# shellcheck disable=SC2030
	(
		log=$aside_dir/log
		rules=$aside_dir/rules
		out=$aside_dir/out
		err=$aside_dir/err
		: >"$log"
		aside_start=$(date +%s)
		krun "$@"
		echo "$rc $(($(date +%s) - aside_start))" >"$aside_dir/result"
	) &
	echo $! >"$aside_dir/pid"
	echo "(shim, aside) cpuoff --sysroot=$t $*" >"$aside_dir/last"
}

aside_finish() {
	aside_dir=$work/aside-$1
	wait "$(cat "$aside_dir/pid")"
	t=$aside_dir/tree
	cp "$aside_dir/rules" "$rules"
	cp "$aside_dir/log" "$log"
	cp "$aside_dir/out" "$out"
	cp "$aside_dir/err" "$err"
	last=$(cat "$aside_dir/last")
	read -r rc seconds <"$aside_dir/result"
}

# Something else than cpuoff changes a CPU: by_hand 0|1 CPU...
by_hand() {
	by_hand_value=$1
	shift
	for cpu in "$@"; do
		# shellcheck disable=SC2016
		with_kernel sh -c 'echo "$1" >"$2"' sh "$by_hand_value" \
			"$t/sys/devices/system/cpu/cpu$cpu/online"
	done
}

# The CPUs written so far, "31=0,30=0", failures marked: "30=0!EBUSY"
writes() {
	sed -n 's,^write sys/devices/system/cpu/cpu\([0-9]*\)/online \([01]\) \([^ ]*\) .*,\1=\2!\3,p' "$log" |
		sed 's/!ok$//' | paste -sd, -
}

nr_writes() {
	grep -c '^write sys/devices/system/cpu/cpu[0-9]*/online' "$log"
}

# wait_for COMMAND... - until it succeeds, half a minute at most
wait_for() {
	wait_left=600
	until "$@" >/dev/null 2>&1 || [ "$wait_left" -eq 0 ]; do
		sleep 0.05
		wait_left=$((wait_left - 1))
	done
}

has_writes() {
	[ "$(nr_writes)" -ge "$1" ]
}

# wait_writes N - until the log has N writes of CPUs
wait_writes() {
	wait_for has_writes "$1"
}

# A rule "cpuN offline until:$gate" holds a write back until `open_gate`; `wait_gate` returns once it is held.
gate=
new_gate() {
	gate=$work/gate-$tests
	rm -f "$gate"
}

wait_gate() {
	wait_for grep -q '^wait' "$log"
}

open_gate() {
	: >"$gate"
}

# Runs as somebody without rights; 1 where that cannot be done here
can_drop() {
	if [ "$(id -u)" -ne 0 ]; then
		drop=
		return 0
	fi
	drop='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all'
	$drop test -r "$t/sys/devices/system/cpu/online" -a -x "$CPUOFF" 2>/dev/null &&
		$drop "$CPUOFF" --version >/dev/null 2>&1
}

run_dropped() {
	last="(unprivileged) cpuoff --sysroot=$t $*"
	rc=0
	# shellcheck disable=SC2086
	timeout --foreground -k 2 "$limit" $drop "$CPUOFF" --sysroot="$t" "$@" \
		</dev/null >"$out" 2>"$err" || rc=$?
}

# ----------------------------------------------------------------------------------------------

command -v jq >/dev/null || skip_all "jq is not installed"

# The program syncs its journal each time, which takes long on a busy disk, and no time in memory
work=$abs_top_builddir/tests/cli/work-$script
rm -rf "$work"
if [ -z "${on_disk:-}" ] && [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -gt 300000 ]; then
	work=$(mktemp -d "/dev/shm/cpuoff-$script.XXXXXX") || exit 1
else
	mkdir -p "$work" || exit 1
fi
out=$work/out
err=$work/err
rules=$work/rules
log=$work/log
made=
chmod 755 "$work"
: >"$log"
: >"$rules"
: >"$out"
: >"$err"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
