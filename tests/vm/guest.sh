# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest.sh - what every payload has in the guest: mounts, TAP, faults, snapshots
#
# Runs under busybox's shell, as the guest's init (guest_boot, guest_run) and again at
# the head of each payload. A payload runs cpuoff with `run`, says what it expects
# with `ok` and `is`, and ends with `done_testing`: a payload that dies before has
# no plan and so fails.

# The payloads use what is set here
# shellcheck disable=SC2034
C=/sys/devices/system/cpu
T=/sys/kernel/tracing
out=/tmp/out
err=/tmp/err
rc=0
tests=0

# ---- boot ------------------------------------------------------------------------

# guest_boot - mount what a small machine has, as its first process
guest_boot() {
	mkdir -p /proc /sys /dev /tmp /run /root /var/log
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev 2>/dev/null
	mount -t tmpfs run /run
	mount -t tmpfs tmp /tmp
	mount -t tracefs trace $T
	mount -t debugfs debug /sys/kernel/debug 2>/dev/null
	mount -t cgroup2 cgroup /sys/fs/cgroup
	mkdir -p /dev/pts /dev/shm
	chmod 1777 /tmp
	hostname guest
	echo 0 >/proc/sys/kernel/printk_ratelimit
	[ ! -f /modules/order ] || while read -r module; do
		insmod "/modules/$module"
	done </modules/order
	[ "$(which_boot)" = 0 ] || guest_disk
	[ ! -x /lib/systemd/systemd ] || guest_systemd
	# Debian has its own
	echo root:x:0:0:root:/root:/bin/sh >/etc/passwd
	echo nobody:x:65534:65534:nobody:/:/bin/sh >>/etc/passwd
	printf 'root:x:0:\nnogroup:x:65534:\n' >/etc/group
	[ -e /bin/sh ] || ln -s busybox /bin/sh
}

# which_boot - of a guest that has several, from 1 on; 0 in others
which_boot() {
	sed -n 's/.* boot=\([0-9]*\).*/\1/p' /proc/cmdline
}

# guest_disk - what stays over the boots of a guest that has more than one
guest_disk() {
	left=100
	until [ -b /dev/nvme0n1 ] || [ $left = 0 ]; do
		sleep 0.1
		left=$((left - 1))
	done
	mkdir -p /var/lib
	mount -t ext4 /dev/nvme0n1 /var/lib
}

# guest_systemd - go on as systemd; the payload is a service beside those of a small server
guest_systemd() {
	mkdir -p /run/systemd/system
	cat >/run/systemd/system/guest.target <<-UNIT
		[Unit]
		Requires=basic.target
		Wants=dbus.service irqbalance.service payload.service
		After=basic.target
		AllowIsolate=yes
	UNIT
	cat >/run/systemd/system/payload.service <<-UNIT
		[Unit]
		After=guest.target dbus.service irqbalance.service
		[Service]
		ExecStart=/init
		StandardOutput=null
		TasksMax=infinity
	UNIT
	unit=/lib/systemd/system/cpuoff-persist.service
	[ ! -f $unit ] || {
		mkdir -p /run/systemd/system/sysinit.target.wants
		ln -s $unit /run/systemd/system/sysinit.target.wants/
	}
	exec /lib/systemd/systemd --unit=guest.target
}

# guest_run MODE - run the payload, power off
guest_run() {
	# The second serial port is the console, so that nothing of the kernel's
	# falls into the middle of a line of TAP
	stty -F /dev/ttyS0 115200 -onlcr -echo cols 100 rows 40
	case $1 in
	interactive)
		stty -F /dev/ttyS0 onlcr echo
		echo "A guest: cpuoff, jq, vmload and busybox. '. /guest.sh' loads the test helpers. exit ends it."
		setsid -c sh -l </dev/ttyS0 2>&1
		;;
	*)
		# Not as the terminal's session leader: its end would hang up the port
		# and throw away what is not sent yet
		[ "$1" = script ] || note "guest $(uname -r) $(online)"
		sh -c '. /guest.sh; . /set; . /payload' </dev/ttyS0 2>&1
		;;
	esac >/dev/ttyS0
	poweroff -f
}

# ---- TAP -------------------------------------------------------------------------

note() {
	printf '# %s\n' "$*"
}

# result STATUS DESCRIPTION - one line of TAP; on failure what the last run printed
result() {
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests - $2"
		return 0
	fi
	echo "not ok $tests - $2"
	note "the last run was: $last_run (exit $rc)"
	head -n 20 $out 2>/dev/null | cut -c1-400 | sed 's/^/#   stdout: /'
	head -n 20 $err 2>/dev/null | cut -c1-400 | sed 's/^/#   stderr: /'
	note "  online: $(cat $C/online)"
	return 1
}

# ok DESCRIPTION COMMAND... - passes where the command does
ok() {
	description=$1
	shift
	"$@"
	result $? "$description"
}

# not COMMAND... - the opposite
not() {
	! "$@"
}

# is DESCRIPTION SEEN WANTED
is() {
	[ "$2" = "$3" ]
	result $? "$1" && return
	note "  seen:   $2"
	note "  wanted: $3"
}

# skip COUNT REASON
skip() {
	n=$1
	shift
	while [ "$n" -gt 0 ]; do
		tests=$((tests + 1))
		n=$((n - 1))
		echo "ok $tests # SKIP $*"
	done
}

done_testing() {
	kernel_is_quiet
	echo "1..$tests"
}

# power_off - end one of several boots, as a power failure does: nothing is synced
power_off() {
	done_testing
	sleep 1
	echo b >/proc/sysrq-trigger
	sleep 60
}

last_run=none
# run COMMAND... - its output in $out and $err, its exit status in $rc
run() {
	last_run=$*
	rc=0
	"$@" >$out 2>$err || rc=$?
}

# run_bg COMMAND... - start it, pid in $pid; `reap` waits for it, sets $rc and puts
# its output where `run` does. Not a plain "&": with that the shell has it ignore SIGINT
run_bg() {
	bg_run=$*
	vmload signals "$@" >/tmp/bg.out 2>/tmp/bg.err &
	pid=$!
	# Until the program itself runs, signals are still the shell's to ignore
	while read -r comm <"/proc/$pid/comm" && { [ "$comm" = sh ] || [ "$comm" = vmload ]; }; do
		:
	done 2>/dev/null
}

reap() {
	rc=0
	wait "$pid" || rc=$?
	last_run=$bg_run
	mv /tmp/bg.out $out
	mv /tmp/bg.err $err
}

# exits DESCRIPTION STATUS COMMAND... - run, and expect this exit status
exits() {
	description=$1
	wanted=$2
	shift 2
	run "$@"
	is "$description: exit $wanted" "$rc" "$wanted"
}

said() {
	grep -q -e "$1" $err
}

printed() {
	grep -q -e "$1" $out
}

# json FILTER - of the last run's document
json() {
	jq -r "$1" $out
}

# json_is DESCRIPTION FILTER WANTED
json_is() {
	is "$1" "$(json "$2" 2>&1)" "$3"
}

# items KIND - what the plan that `run` had in JSON has of this kind, a line each
items() {
	jq -r --arg kind "$1" '.steps[] | select(.kind == $kind) | "\(.object): \(.before) -> \(.after)"' $out
}

# ---- the machine -----------------------------------------------------------------

online() {
	cat $C/online
}

# online_is DESCRIPTION LIST
online_is() {
	is "$1" "$(online)" "$2"
}

# set_online VALUE CPU... - what an administrator without cpuoff would do
set_online() {
	value=$1
	shift
	for cpu; do
		echo "$value" >"$C/cpu$cpu/online"
	done
}

# until_online_differs LIST - wait, without starting a process, for a change
until_online_differs() {
	while read -r mask <$C/online && [ "$mask" = "$1" ] && [ -d "/proc/$pid" ]; do
		:
	done
}

# held ACT COMMAND... - run the command in the background, stop it once its first CPU has gone
# or come, call ACT, let it go on and wait for its end; $at is what was online meanwhile
held() {
	act=$1
	shift
	was=$(online)
	run_bg "$@"
	until_online_differs "$was"
	kill -STOP $pid
	# Its child may be at the next one
	usleep 300000
	at=$(online)
	$act
	kill -CONT $pid
	reap
}

# beside WHAT [--from-change] COMMAND... - run the command while the function WHAT is called again
# and again, from the beginning or from its first change of a CPU on; $rounds is how often. A
# minute is a hang, and killed
beside() {
	what=$1
	shift
	from=
	[ "$1" != --from-change ] || { from=$1 && shift; }
	rm -f /tmp/stop
	echo 0 >/tmp/rounds
	was=$(online)
	run_bg timeout -s KILL 60 "$@"
	[ -z "$from" ] || until_online_differs "$was"
	(
		n=0
		while [ ! -e /tmp/stop ]; do
			$what
			n=$((n + 1))
		done 2>/dev/null
		echo $n >/tmp/rounds
	) &
	other=$!
	reap
	touch /tmp/stop
	wait $other
	rounds=$(cat /tmp/rounds)
}

# state_of CPU... - what these are: on, off or mixed
state_of() {
	states=
	for cpu; do
		read -r state <"$C/cpu$cpu/online"
		states=$states$state
	done
	case $states in
	*01* | *10*) echo mixed ;;
	*0*) echo off ;;
	*) echo on ;;
	esac
}

# agree DESCRIPTION CPU... - whether exit status, document and machine agree on these CPUs of the
# target, which nobody else has touched
agree() {
	what=$1
	shift
	seen=$(state_of "$@")
	case "$rc $(json '"\(.exit_status) \(.action) \(.machine)"' 2>&1)" in
	"0 0 offline as-asked") wanted=off ;;
	"0 0 restore as-asked" | "1 1 offline as-before") wanted=on ;;
	"3 3 "*" as-before" | "5 5 "*" in-between") wanted=$seen ;;
	*) wanted="another exit status or verdict" ;;
	esac
	is "$what: exit $rc, and so it is" "$seen" "$wanted"
}

# plug_cpu CPU SOCKET CORE THREAD - put a CPU into the machine, by the monitor of the
# guest's own qemu: only with "# hotplug"
plug_cpu() {
	stty -F /dev/ttyS2 raw -echo
	echo "device_add Skylake-Server-v1-x86_64-cpu,id=cpu$1,socket-id=$2,die-id=0,core-id=$3,thread-id=$4" \
		>/dev/ttyS2
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ ! -d "$C/cpu$1" ] || return 0
		sleep 0.2
	done
	return 1
}

# state_number NAME - of a hotplug state; the numbers differ between kernels
state_number() {
	sed -n "s|^ *\([0-9]*\): $1\$|\1|p" $C/hotplug/states
}

# arm CPU STATE - make the next way of this CPU through this state fail (EAGAIN, once)
arm() {
	number=$(state_number "$2")
	[ -n "$number" ] && echo "$number" >"$C/cpu$1/hotplug/fail"
}

armed() {
	[ "$(cat "$C/cpu$1/hotplug/fail")" != -1 ]
}

disarm() {
	echo -1 >"$C/cpu$1/hotplug/fail"
}

# start_load MODE N [CPULIST] - load in the background, its pid in $load
start_load() {
	vmload "$@" &
	load=$!
	sleep 0.2
}

stop_load() {
	kill "$load"
	wait "$load" 2>/dev/null
}

# load_only_on LIST - whether the load last ran on CPUs of this list alone. Asked
# a few times: a thread that sleeps still shows the CPU where it fell asleep.
load_only_on() {
	for try in 1 2 3 4 5 6 7 8 9 10; do
		elsewhere=
		for cpu in $(vmload where | cut -d' ' -f1); do
			in_list "$cpu" "$1" || elsewhere="$elsewhere $cpu"
		done
		[ -n "$elsewhere" ] || return 0
		sleep 0.1
	done
	note "load on:$elsewhere"
	return 1
}

# in_list CPU LIST
in_list() {
	for range in $(echo "$2" | tr , ' '); do
		[ "$1" -lt "${range%-*}" ] || [ "$1" -gt "${range#*-}" ] || return 0
	done
	return 1
}

loads=
# add_load CGROUP MODE N [CPULIST] - one more load, in a cgroup ("." is the root); its
# pid in $load. For end_loads
add_load() {
	cgroup=$1
	shift
	sh -c 'echo $$ >"$0/cgroup.procs"; exec vmload "$@"' "/sys/fs/cgroup/$cgroup" "$@" &
	load=$!
	loads="$loads $load"
}

end_load() {
	kill "$1"
	wait "$1" 2>/dev/null
}

end_loads() {
	for load in $loads; do
		kill "$load" 2>/dev/null
		wait "$load" 2>/dev/null
	done
	loads=
}

# mask PID - the CPUs that it may run on
mask() {
	sed -n 's/^Cpus_allowed_list:[^0-9]*//p' "/proc/$1/status"
}

# repin PID CPULIST - as the process itself or an administrator would
repin() {
	taskset -pc "$2" "$1" >/dev/null
}

# has_partitions - whether the kernel remembers the masks that users gave, so that
# cpuoff moves work by a partition
has_partitions() {
	[ -f /sys/fs/cgroup/cpuset.cpus.isolated ]
}

# pinned_load - threads pinned in every way, in cgroups of every kind, for a machine of
# eight CPUs whose target are the last four
pinned_load() {
	cgroup=/sys/fs/cgroup
	echo +cpuset >$cgroup/cgroup.subtree_control
	mkdir -p $cgroup/a.slice/n.service $cgroup/b.slice $cgroup/c.slice
	echo +cpuset >$cgroup/a.slice/cgroup.subtree_control
	echo 2-5 >$cgroup/a.slice/cpuset.cpus
	echo 3-5 >$cgroup/a.slice/n.service/cpuset.cpus
	echo 0-1 >$cgroup/c.slice/cpuset.cpus
	add_load . doze 8
	add_load . doze 2 2-5
	add_load . doze 2 4-7
	add_load . doze 2 6
	add_load . sleep 1 6-7
	add_load . sleep 1
	add_load . fifo 1 5
	add_load a.slice/n.service doze 2
	add_load a.slice/n.service doze 1 5
	add_load a.slice/n.service sleep 1 3,5
	add_load b.slice doze 2 6
	add_load c.slice doze 1 0
	sleep 0.5
}

# cycles N [OPTION...] - take the second node off and bring it back so often, under the
# loads; whether every time, and compared with the snapshot of before, all is as before
cycles() {
	count=$1
	shift
	cycle=0
	while [ $cycle -lt "$count" ]; do
		cycle=$((cycle + 1))
		run cpuoff --node 1 --pinned=move "$@"
		if [ $rc != 0 ] || [ "$(online)" != 0-3 ]; then
			note "cycle $cycle: off: exit $rc, $(online)"
			return 1
		fi
		run cpuoff --restore
		if [ $rc != 0 ]; then
			note "cycle $cycle: back: exit $rc, $(online)"
			return 1
		fi
		# The comparison takes longer than the rest
		[ "$count" -lt 10 ] || [ $((cycle % 10)) = 0 ] || continue
		if ! same_as_before; then
			note "in cycle $cycle"
			return 1
		fi
	done
}

# ---- failures, signals and kills, for each way of taking CPUs ---------------------

# The states whose teardown can be made to fail; a kernel need not have them all
teardown_states='sched:active RCU/tree:online workqueue:online lockup_detector:online perf:online block/mq:online
	smpboot/threads:online sched:waitempty cpu:teardown io-wq/online mm/vmstat:online padata:online
	base/cacheinfo:online'

# inject STATES CPUS COMMAND... - make each of these CPUs fail at each of these states, and
# expect that all is put back. $nr_states is how many the kernel had. Where $when_armed is
# set, it is called with the CPU before each run
inject() {
	inject_states=$1
	inject_cpus=$2
	shift 2
	nr_states=0
	for state in $inject_states; do
		known=
		for cpu in $inject_cpus; do
			if ! arm "$cpu" "$state" 2>/dev/null; then
				note "this kernel has no $state to fail at"
				break
			fi
			[ -n "$known" ] || nr_states=$((nr_states + 1))
			known=yes
			[ -z "${when_armed:-}" ] || $when_armed "$cpu"
			exits "$state on CPU $cpu" 1 "$@" --json
			json_is "$state on CPU $cpu: put back" '"\(.verdict) \(.exit_status) \(.machine)"' \
				"rolled-back 1 as-before"
			json_is "$state on CPU $cpu: named" '.result.failed[] | "\(.cpu) \(.errno)"' "$cpu EAGAIN"
			# A fault of this kind hits before the callback runs: the state is what is known
			json_is "$state on CPU $cpu: where" '.result.failed[0].callback' "$state"
			ok "$state on CPU $cpu: as before" same_as_before
			! armed "$cpu" || disarm "$cpu"
		done
	done
}

# started COMMAND... - in the background, and its first CPU is off
started() {
	run_bg "$@"
	until_online_differs "$(head -n 1 /tmp/before | cut -d' ' -f2)"
}

# random_below N - into $drawn
random_below() {
	random=${random:-$((SEED % 2147483647 + 1))}
	random=$((random * 48271 % 2147483647))
	drawn=$((random % $1))
}

# now_us - into $now; the clock has hundredths of a second
now_us() {
	read -r now _ </proc/uptime
	now=${now%.*}${now#*.}0000
}

# kill_at_random TIMES COMMAND... - SIGKILL at random instants of a command that takes CPUs,
# every fourth time of its restore as well; the next restore repairs it
kill_at_random() {
	times=$1
	shift
	# How long a whole run and a restore take
	now_us
	start=$now
	exits "whole" 0 "$@"
	now_us
	off_us=$((now - start))
	start=$now
	exits "whole: restore" 0 cpuoff --restore
	now_us
	on_us=$((now - start))
	note "seed $SEED; a run takes $((off_us / 1000)) ms, a restore $((on_us / 1000)) ms"
	ok "whole: as before" same_as_before
	kills=0
	while [ $kills -lt "$times" ]; do
		kills=$((kills + 1))
		run_bg "$@"
		random_below $((off_us + off_us / 10))
		where="killed after $((drawn / 1000)) ms"
		usleep $drawn
		kill -KILL "$pid" 2>/dev/null
		reap
		where="$where ($(online))"
		if [ $((kills % 4)) = 0 ]; then
			run_bg cpuoff --restore --wait
			random_below $((on_us + on_us / 10))
			usleep $drawn
			kill -KILL "$pid" 2>/dev/null
			reap
			where="$where, its restore after $((drawn / 1000)) ms ($(online))"
		fi
		exits "$where: restore" 0 cpuoff --restore --wait
		ok "$where: as before" same_as_before || repair
	done
}

# ---- faults at each call, and kills ------------------------------------------------

# For sweep.sh. `begin_with ARG...`: the runs begin with what cpuoff makes of the machine with these;
# without, as it was at the snapshot
faults=/tmp/faults
begin_with=

begin_with() {
	end_begin
	begin_with=$*
	with_machine cpuoff "$@"
	begin_online=$(online)
}

# end_begin - they no longer do
end_begin() {
	[ -z "$begin_with" ] || machine_undo
	begin_with=
}

# with_machine COMMAND... - run, and whether the machine is as before is to be looked at anew
is_same=
with_machine() {
	is_same=
	run "$@"
}

faulty() {
	faulty=$1
	shift
	: >$faults
	with_machine timeout 120 env LD_PRELOAD=/lib/faults.so CPUOFF_FAULTS_STATE=$faults \
		CPUOFF_FAULTS_LOG=$faults.log ${faulty:+"CPUOFF_FAULT=$faulty"} cpuoff "$@"
}

machine_is() {
	case $1${begin_with:+-off} in
	clean* | start)
		[ -n "$is_same" ] || { same_as_before >/tmp/differs && is_same=yes || is_same=no; }
		[ $is_same = yes ]
		;;
	start-off) [ "$(online)" = "$begin_online" ] && has_journal ;;
	asked*)
		[ "$(online)" = "${asked:=$(online)}" ] && [ "$(cat /sys/kernel/rcu_expedited)" = 0 ] &&
			[ ! -d $T/instances/cpuoff ] && [ ! -d /sys/fs/cgroup/cpuoff ]
		;;
	esac
}

has_journal() {
	set -- /run/cpuoff/*.json
	[ -e "$1" ]
}

machine_forget() {
	asked=
}

machine_undo() {
	with_machine cpuoff --restore=all --wait
	[ $rc = 0 ] && machine_is clean && return
	note "restore: exit $rc"
	cat $err /tmp/differs | head -n 20 | sed 's/^/# /'
	repair
	snapshot
	is_same=
	false
}

# few_threads - some of each kind, for a machine of four CPUs whose target are the last two, or the second threads
few_threads() {
	cgroup=/sys/fs/cgroup
	echo +cpuset >$cgroup/cgroup.subtree_control
	mkdir -p $cgroup/a.slice
	echo 1-2 >$cgroup/a.slice/cpuset.cpus
	add_load . doze 3
	add_load . doze 1 3
	add_load . sleep 1 1-2
	add_load . sleep 1
	add_load a.slice doze 1
	add_load a.slice sleep 1 2
	sleep 0.5
}

machine_reset() {
	# shellcheck disable=SC2086 # options
	[ -z "$begin_with" ] || machine_is start || with_machine cpuoff $begin_with
}

# repair - so that one failure is not the next one's
repair() {
	cpuoff --status
	echo on >$C/smt/control
	for file in "$C"/cpu[0-9]*/online; do
		echo 1 >"$file"
	done
	rm -rf /run/cpuoff
}

# ---- what arrives on the target ----------------------------------------------------

watched="sched/sched_migrate_task sched/sched_wakeup_new sched/sched_switch irq/irq_handler_entry"

# watch_arrivals FIRST - from the moment when the first CPU begins to go record tasks
# and interrupts that come to CPUs from this one on
watch_arrivals() {
	echo 0 >$T/tracing_on
	echo global >$T/trace_clock
	echo >$T/trace
	echo "dest_cpu >= $1" >$T/events/sched/sched_migrate_task/filter
	echo "target_cpu >= $1 && comm ~ \"vm*\"" >$T/events/sched/sched_wakeup_new/filter
	echo "CPU >= $1 && (next_comm ~ \"vm*\" || next_comm ~ \"kworker/u*\")" \
		>$T/events/sched/sched_switch/filter
	echo "CPU >= $1" >$T/events/irq/irq_handler_entry/filter
	for event in $watched; do
		echo 1 >$T/events/"$event"/enable
	done
	# On the way down: a tracing instance that is made calls back on all CPUs, too
	for event in cpuhp_enter cpuhp_multi_enter; do
		echo "traceon if cpu >= $1 && target <= $(state_number cpu:teardown)" \
			>$T/events/cpuhp/$event/trigger
	done
}

# count_arrivals - end the record, when the CPUs are off: $arrived tasks migrated to the
# target (but for workers that belong to its CPUs and are new), $born ones of the load began there, the load was switched to there $ran times,
# unbound workers $worked times, $interrupted interrupts were delivered there
count_arrivals() {
	read -r began <$T/tracing_on
	echo 0 >$T/tracing_on
	for event in cpuhp_enter cpuhp_multi_enter; do
		sed '/^#/d; s/^/!/' $T/events/cpuhp/$event/trigger >/tmp/trigger
		cat /tmp/trigger >$T/events/cpuhp/$event/trigger
	done
	for event in $watched; do
		echo 0 >$T/events/"$event"/enable
		echo 0 >$T/events/"$event"/filter
	done
	awk '
		/ sched_migrate_task: comm=kworker\/[0-9]/ { next }
		/ sched_migrate_task: / { arrived++ }
		/ sched_wakeup_new: / { born++ }
		/ sched_switch: .*next_comm=vm/ { ran++ }
		/ sched_switch: .*next_comm=kworker/ { worked++ }
		/ irq_handler_entry: / { interrupted++ }
		END { print arrived + 0, born + 0, ran + 0, worked + 0, interrupted + 0 }' \
		$T/trace >/tmp/arrivals
	read -r arrived born ran worked interrupted </tmp/arrivals
	# Who they were
	sed -n 's/.* sched_migrate_task: comm=\([^ ]*\) .*/\1/p' $T/trace |
		sort | uniq -c | sort -nr | head -n 10 | sed 's/^/#   arrived: /' >/tmp/arrived
	echo >$T/trace
	echo 1 >$T/tracing_on
	[ "$began" = 1 ]
}

# ---- snapshots -------------------------------------------------------------------

# machine - everything that cpuoff may touch, one fact a line. Tasks are named by
# pid, thread, name and start time: the ones that came or went between two snapshots
# are not compared (their first word is "task").
machine() {
	echo "online $(online)"
	echo "rcu_expedited $(cat /sys/kernel/rcu_expedited)"
	find $T/instances -mindepth 1 -maxdepth 1 | sed 's/^/instance /'
	find /run/cpuoff -type f ! -name '*lock*' 2>/dev/null | sed 's/^/state /'
	echo "default_smp_affinity $(cat /proc/irq/default_smp_affinity)"
	grep -H '' /proc/irq/*/smp_affinity_list
	echo "workqueue $(cat /sys/devices/virtual/workqueue/cpumask)"
	find /sys/fs/cgroup -type d | sed 's/^/cgroup /'
	grep -H '' /sys/fs/cgroup/cgroup.subtree_control
	find /sys/fs/cgroup -mindepth 2 -name 'cpuset.cpus*' -exec grep -H '' {} +
	vmload masks
}

snapshot() {
	machine >/tmp/before
}

# same_as_before - compare with the snapshot; what differs goes to the log
same_as_before() {
	machine >/tmp/after
	awk '
		$1 == "task" { key = $2 " " $3 }
		FNR == NR {
			if ($1 == "task")
				mask[key] = $4
			else
				fact[$0] = 1
			next
		}
		$1 == "task" {
			if (key in mask && mask[key] != $4) {
				print "# " key ": " mask[key] " -> " $4
				bad = 1
			}
			next
		}
		$0 in fact { delete fact[$0]; next }
		{ print "# now:    " $0; bad = 1 }
		END {
			for (f in fact) {
				print "# before: " f
				bad = 1
			}
			exit bad
		}' /tmp/before /tmp/after
}

# ---- the kernel's log ------------------------------------------------------------

# Warnings of the kernels themselves, seen without cpuoff too: a regular
# expression, matched within one report ("cut here" to "end trace"):
# - 6.12 under saturation, without a deadline task
known_faults='kernel/sched/deadline\.c:[0-9]* '

# kernel_is_quiet - nothing in the log that a healthy kernel does not print. As a
# last test of every boot
kernel_is_quiet() {
	dmesg | sed 's/^\[[^]]*\] //; /^RETBleed: /d' | awk -v known="$known_faults" '
		/cut here/ { report = ""; open = 1 }
		open { report = report $0 "\n" }
		!open { print }
		/end trace/ && open {
			if (report !~ known)
				printf "%s", report
			open = 0
		}
		END { if (open) printf "%s", report }' |
		grep -A 30 -E 'Call Trace|BUG:|Oops|WARNING:' >/tmp/faults
	[ ! -s /tmp/faults ]
	result $? "the kernel's log has no fault" || head -n 60 /tmp/faults | sed 's/^/#   /'
}
