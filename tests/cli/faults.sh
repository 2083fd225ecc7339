# SPDX-License-Identifier: GPL-2.0-or-later
# faults.sh - each call of a run fails in every way that it can, and each change is where a run is killed
#
# A sample of it; with CPUOFF_VM_LONG=1 all.
# shellcheck disable=SC2154,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"
. "$abs_top_srcdir/tests/cli/sweep.sh"

faults=$work/faults
before_undo=: # what has to be done before cpuoff can put things back

faulty() {
	faulty=$1
	shift
	last="(fault $faulty) cpuoff --sysroot=$t $*"
	rc=0
	: >"$faults"
	timeout --foreground -k 2 "$limit" env CPUOFF_SHIM_ROOT="$t" CPUOFF_SHIM_RULES="$rules" \
		CPUOFF_FAULTS_STATE="$faults" CPUOFF_FAULTS_LOG="$faults.log" ${faulty:+"CPUOFF_FAULT=$faulty"} \
		LD_PRELOAD="$abs_top_builddir/tests/cli/faults.so $abs_top_builddir/tests/cli/shim.so" \
		"$CPUOFF" --sysroot="$t" "$@" </dev/null >"$out" 2>"$err" || rc=$?
} 2>/dev/null

# How many operations are on record, and what the machine holds
machine_now() {
	set -- "$t"/run/cpuoff/*.json "$t"/var/lib/cpuoff/*.json
	for file; do
		[ -e "$file" ] || shift
	done
	echo "$# $(tar -C "$t" --sort=name --mtime=@0 -cf - sys proc | cksum)"
}

# as_asked - what the first run of a kind has made of the machine, and answered, is what the others have to. What
# they could not do, or see, they may leave undone, but not the CPUs, where not any of them may stay, and not without
# a word
as_asked() {
	if [ -z "${asked:-}" ]; then
		asked=$now asked_online=$(online)
		cp "$out" "$work/asked.out"
		cp "$err" "$work/asked.err"
	elif [ "$now" != "$asked" ]; then
		{ [ "$sweep_status" = 64 ] || [ "$(online)" = "$asked_online" ]; } &&
			{ [ "${now%% *}" = "${asked%% *}" ] || grep -q 'records-directory]$' "$err"; } &&
			{ ! cmp -s "$err" "$work/asked.err" || is_unseen; }
	elif "$is_question"; then
		cmp -s "$out" "$work/asked.out" || ! cmp -s "$err" "$work/asked.err" || is_unseen ||
			grep -q 'cannot be read' "$out"
	fi
}

# is_unseen - the fault hid a file of the kernel's, which is then taken as not there: another method does it, or the
# kernel narrows a cpuset of version 1 by itself
is_unseen() {
	case ${one_fault##* }:$hit in
	*/sys/fs/cgroup/cpuset/* | */smt/control) ;;
	EIO:*' - '*/sys/* | EIO:*' - '*/proc/* | EACCES:*' - '*/sys/* | EACCES:*' - '*/proc/*) ;;
	*) false ;;
	esac
}

machine_is() {
	now=$(machine_now)
	case $1 in
	start) [ "$now" = "$start" ] ;;
	clean) [ "$now" = "$clean" ] ;;
	asked) as_asked ;;
	esac
}

machine_forget() {
	asked=
}

machine_reset() {
	rm -rf "$t" "$t.shim"
	cp -a "$work/at-begin" "$t"
	[ ! -e "$work/at-begin.shim" ] || cp -a "$work/at-begin.shim" "$t.shim"
}

machine_undo() {
	cp "$rules" "$rules.kept"
	: >"$rules"
	$before_undo
	krun --restore=all
	cp "$rules.kept" "$rules"
	machine_is clean
}

# machine OPTION... - four cores in two sockets, with something of all that is moved and kept; socket 1 are 2
# and 3. It is clean
machine() {
	tree machine --sockets 2 --cores 2 --numbering threads-last "$@"
	for irq in 60 61; do
		mkdir -p "$t/proc/irq/$irq/eth0-$irq"
		put proc/irq/$irq/smp_affinity_list $((irq - 58))
		put proc/irq/$irq/effective_affinity_list $((irq - 58))
	done
	put proc/irq/default_smp_affinity f
	put sys/class/net/eth0/queues/rx-0/rps_cpus c
	put sys/class/net/eth0/queues/tx-0/xps_cpus 8
	put sys/devices/virtual/workqueue/cpumask f
	put sys/devices/system/cpu/cpufreq/policy2/affected_cpus '2 3'
	put sys/devices/system/cpu/cpufreq/policy2/scaling_driver acpi-cpufreq
	put sys/devices/system/cpu/cpufreq/policy2/scaling_governor ondemand
	put sys/devices/system/cpu/cpufreq/ondemand/up_threshold 95
	for cpu in 0 1 2 3; do
		printf 'processor\t: %d\nvendor_id\t: GenuineIntel\nmodel name\t: A CPU\ninitial apicid\t: %d\n\n' \
			"$cpu" "$((cpu * 2))"
	done >"$t/proc/cpuinfo"
	acpi ACPI0004:01- 2 3
	new_rules
	before_undo=: is_question=false
	clean_here
}

# clean_here - the tree as it is now is clean, and where the runs begin
clean_here() {
	clean=$(machine_now)
	from_here
}

# with_cpusets - a machine that has some; not for runs that begin with an operation in force, since they are known
# by the numbers of their directories, and the tree is copied
with_cpusets() {
	put proc/mounts 'cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0'
	for group in cpuset cpuset/docker; do
		put sys/fs/cgroup/$group/cpuset.cpus 0-3
		: >"$t/sys/fs/cgroup/$group/tasks"
	done
	clean_here
}

# from_here - this is where the runs begin
from_here() {
	rm -rf "$work/at-begin" "$work/at-begin.shim"
	cp -a "$t" "$work/at-begin"
	[ ! -e "$t.shim" ] || cp -a "$t.shim" "$work/at-begin.shim"
	start=$(machine_now)
}

# begin_with ARG... - they begin with what this run has made of it
begin_with() {
	machine_reset
	krun "$@"
	status "begin with $*" 0
	from_here
}

# do_all NAME STATUS ARG... - a sweep of faults, and where CPUs change one of those that last, and one of kills
do_all() {
	do_name=$1 do_status=$2
	shift 2
	sweep "$do_name" "$do_status" faults "$early" "$late" "$@"
	! "$is_question" || return 0
	sweep "$do_name" "$do_status" lasting "$lasting" "$lasting" "$@"
	sweep "$do_name" "$do_status" kills "$kills" "$kills" "$@"
}

early=all late=all lasting=all kills=all
[ -n "${CPUOFF_VM_LONG:-}" ] || early=30 late=50 lasting=12 kills=25

machine
with_cpusets
do_all offline 0 --socket 1
do_all "offline, JSON" 0 --socket 1 --json
do_all "offline, on record" 0 --socket 1 --persist
new_rules 'cpu2 offline EAGAIN'
from_here
do_all rollback 1 --socket 1
do_all "rollback, on record" 1 --socket 1 --persist
do_all "some stay" 64 --socket 1 --on-error=continue
machine
begin_with --socket 1
do_all restore 0 --restore
do_all "restore of a part" 0 --restore --cpu 2
only=' memory - libjson'
sweep "restore, what json-c wants of memory" 0 faults all 1 --restore
only=

# Not with interrupts: the kernel would not let one go back to a CPU that another operation has taken
machine
rm -r "$t/proc/irq"
clean_here
begin_with --socket 1
do_all "a second operation" 0 --cpu 1-3

machine --bulk
do_all bulk 0 --socket 1
machine --threads 2 --hotplug
do_all smt 0 --smt
begin_with --smt
do_all "smt, restore" 0 --restore

machine
before_undo='plug 2 3'
do_all eject 0 --socket 1 --eject
machine
begin_with --socket 1 --persist
do_all "restore of what is on record" 0 --restore
machine_reset
rm -r "$t/run"
by_hand 1 2 3
new_rules
put proc/sys/kernel/random/boot_id 5c0ffee0-0000-4000-8000-000000000002
from_here
clean="0 ${start#* }"
do_all "the boot" 0 --persist=apply

machine
for when in pre-offline post-offline pre-restore post-restore; do
	put etc/cpuoff/hooks.d/$when/10-one '#!/bin/sh'
	chmod 755 "$t/etc/cpuoff/hooks.d/$when/10-one"
done
from_here
do_all hooks 0 --socket 1 --hooks-dir=/etc/cpuoff/hooks.d
begin_with --socket 1
do_all "hooks, restore" 0 --restore --hooks-dir=/etc/cpuoff/hooks.d

machine
begin_with --cpu 3
is_question=true
do_all status 0 --status
do_all "status, JSON" 0 --status --json
do_all list 0 --list --socket 1
do_all service 0 --service --socket 1
do_all "dry run" 0 --socket 1 --dry-run
do_all "dry run of a restore" 0 --restore --dry-run

sweep_done
done_testing
