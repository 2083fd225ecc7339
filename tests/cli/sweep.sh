# shellcheck shell=sh disable=SC2154 # what is not set here is there
# SPDX-License-Identifier: GPL-2.0-or-later
# sweep.sh - each call of a run fails once, or is where the run is killed; on trees and in guests alike
#
# Whoever sources this has `note` and `result`, $err, and
#	$faults			a file for the counter of faults.so; others are put beside it
#	faulty FAULT ARG...	runs cpuoff with faults.so, which logs to $faults.log; leaves $rc
#	machine_is start|asked|clean	whether the machine is what it was at the begin of the run, what the run
#				is to make of it, or what it was before all operations, with nothing on record
#	machine_forget		the next run is the one that tells what is asked for
#	machine_reset		makes it what it was at the begin
#	machine_undo		makes it clean by cpuoff alone; fails where that is not possible

sweep_scenarios=0 sweep_faults=0 sweep_left=0
only= # a pattern for the calls that are to fail, as they are logged

# list_faults faults|lasting|kills EARLY LATE - what is to be done to a run with these calls (stdin), a line each: of
# all before the writer's start about EARLY, of those after it LATE, evenly. What lasts are faults of all calls of
# the kind from there on: a full or read-only file system, no more descriptors or memory, a machine that fails
list_faults() {
	awk -v how="$1" -v early="$2" -v late="$3" '
		BEGIN {
			can["open"] = "EMFILE ENFILE EACCES ENOMEM EIO EINTR"
			can["read"] = "EIO EINTR ENOMEM short"
			can["readdir"] = "EIO ENOMEM"
			can["stat"] = "EIO ENOMEM"
			can["write"] = "EIO ENOSPC EINTR EAGAIN EINVAL"
			can["cpu"] = "EIO EINTR EAGAIN EINVAL EPERM late:EIO late:EINTR"
			can["save"] = "EIO ENOSPC EDQUOT EROFS EINTR short late:EIO"
			can["fsync"] = "EIO ENOSPC EDQUOT"
			can["rename"] = "EIO ENOSPC EACCES EROFS late:EIO late:EINTR"
			can["mkdir"] = "ENOMEM ENOSPC EACCES EROFS"
			can["unlink"] = "EIO EACCES EROFS EINTR"
			can["lock"] = "ENOLCK EINTR"
			can["socket"] = "EMFILE ENFILE ENOMEM"
			can["connect"] = "ECONNREFUSED EACCES EINTR EAGAIN"
			can["send"] = "EPIPE EAGAIN EINTR ENOMEM"
			can["recv"] = "EINTR EIO ENOMEM"
			can["poll"] = "EINTR ENOMEM"
			can["wait"] = "ECHILD EINTR"
			can["kill"] = "ESRCH EPERM"
			can["fork"] = "EAGAIN ENOMEM"
			can["sched"] = "EINVAL EPERM ESRCH ENOMEM"
			can["mmap"] = can["memory"] = "ENOMEM"
			lasts["open"] = "EMFILE"
			lasts["read"] = "EIO"
			lasts["write"] = "ENOMEM"
			lasts["cpu"] = "EIO"
			lasts["save"] = "ENOSPC EROFS"
			lasts["rename"] = lasts["unlink"] = lasts["mkdir"] = "EROFS"
			lasts["sched"] = "EPERM"
			lasts["send"] = lasts["recv"] = "EPIPE"
			lasts["memory"] = "ENOMEM"
			is_late = 0
			kills = "kill:before:self kill:before:other kill:before:all " \
				"kill:after:self kill:after:other kill:after:all"
			# Of the journal\047s files: who else lives, or dies before, makes no difference
			kills_of["save"] = kills_of["unlink"] = "kill:after:all"
			kills_of["rename"] = "kill:before:all kill:after:self kill:after:all"
		}
		$2 == "fork" { is_late = 1 }
		{
			what = can[$2]
			# The kernel\047s own words there: it manages the interrupt itself, or another CPU is to be tried
			if ($4 ~ "/proc/irq/")
				gsub(/EIO|ENOSPC|EACCES/, "", what)
			if (how == "lasting")
				what = lasts[$2]
			else if (how == "kills")
				what = $3 != "change" ? "" : $2 in kills_of ? kills_of[$2] : kills
			n = split(what, action, " ")
			for (i = 1; i <= n; i++)
				list[is_late, ++nr[is_late]] = $1 (how == "lasting" ? "+ " : " ") $2 " " action[i]
		}
		function sample(part, wanted,  step, at) {
			step = wanted == "all" || nr[part] <= wanted ? 1 : nr[part] / wanted
			for (at = (step + 1) / 2; int(at) <= nr[part]; at += step)
				print list[part, int(at)]
		}
		END { sample(0, early); sample(1, late) }'
}

# find_wrong - what the run that had the fault has done wrong, to $wrong
find_wrong() {
	wrong=
	case $rc in
	"$sweep_status") machine_is asked || wrong="status $rc, and not as asked" ;;
	1 | 2 | 3 | 4 | 75) machine_is start || wrong="status $rc, and not as before" ;;
	5 | 64) ;;
	134 | 139)
		# hwloc, and json-c when it reads, do not survive a want of memory: before anything is changed
		case $fault$hit in
		*memory*libhwloc* | *memory*libjson* | *+*memory*) machine_is start || wrong="died, and not as before" ;;
		*) wrong=died ;;
		esac
		;;
	137) [ "$how" = kills ] || wrong=killed ;;
	*) wrong="status $rc" ;;
	esac
	case $rc in
	0 | 134 | 137 | 139) return ;;
	esac
	# An errno alone helps nobody, but where there is no memory for more
	case $fault in
	*memory*) return ;;
	esac
	grep -v ': note: ' "$err" | grep -Eq '^cpuoff: .*([/0-9]|: )' || grep -q memory "$err" ||
		wrong="$wrong; status $rc without a message that names anything"
}

# undo - whether all that the run has left can be undone
undo() {
	machine_is start && machine_is clean && return
	machine_undo && undo_rc=0 || undo_rc=1
	machine_reset
	return "$undo_rc"
}

# one_fault FAULT ARG... - one run with it, and what repairs it
one_fault() {
	one_fault=$1
	shift
	rm -f "$faults.log"
	faulty "$one_fault" "$@"
	hit=
	[ ! -s "$faults.log" ] || read -r hit <"$faults.log"
	find_wrong
	[ -z "$wrong" ] || cp "$err" "$faults.err"
	undo || wrong="$wrong; not undone"
	# It may be over sooner this time
	[ -n "$hit" ] && nr_faults=$((nr_faults + 1))
	[ -n "$wrong" ] || return 0
	nr_wrong=$((nr_wrong + 1))
	[ "$nr_wrong" -gt "${SWEEP_SHOWN:-10}" ] || {
		note "$sweep_name: ${one_fault##* } at $hit: $wrong"
		[ ! -s "$faults.err" ] || head -n 3 "$faults.err" | cut -c1-200 | sed 's/^/#    /'
	}
	rm -f "$faults.err"
}

# has_calls ARG... - the calls of a run without a fault, to $faults.calls
has_calls() {
	rm -f "$faults.log"
	machine_forget
	faulty '' "$@"
	[ "$rc" = "$sweep_status" ] && [ -s "$faults.log" ] && machine_is asked &&
		mv "$faults.log" "$faults.calls" && undo
}

# sweep NAME STATUS faults|lasting|kills EARLY LATE ARG... - runs `cpuoff ARG...`, which exits with STATUS, with the faults
# of list_faults
sweep() {
	sweep_name=$1 sweep_status=$2 how=$3
	list_early=$4 list_late=$5
	shift 5
	nr_faults=0 nr_wrong=0
	machine_reset
	if ! has_calls "$@"; then
		result 1 "$sweep_name: without a fault"
		machine_reset
		return
	fi
	grep -e "$only" "$faults.calls" | list_faults "$how" "$list_early" "$list_late" >"$faults.list"
	while read -r fault <&3; do
		one_fault "$fault" "$@"
	done 3<"$faults.list"
	sweep_scenarios=$((sweep_scenarios + 1))
	sweep_faults=$((sweep_faults + nr_faults))
	sweep_left=$((sweep_left + nr_wrong))
	note "$sweep_name: $nr_faults $how, $nr_wrong left something"
	result "$nr_wrong" "$sweep_name, $how: as before, as asked, or on record and undone"
}

sweep_done() {
	note "$sweep_scenarios scenarios, $sweep_faults faults and kills, $sweep_left left something"
}
