# SPDX-License-Identifier: GPL-2.0-or-later
# rights.sh - a root that lacks capabilities: what it could not give back is refused before the first write
# shellcheck disable=SC2016

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# The bits of capabilities(7)
dac_override=1
net_admin=12
all=0x1ffffffffff
queue=sys/class/net/eth0/queues/rx-0/rps_cpus
v1=sys/fs/cgroup/cpuset

# lacks [BIT] - what the process that is to come may do: all but this
lacks() {
	put proc/self/status "Name:	cpuoff" \
		"$(printf 'CapEff:\t%016x' $((all ^ (${1:+1 << }${1:-0}))))" "CapBnd:	000001ffffffffff"
}

# missing FIELD - of the finding
missing() {
	json ".findings[] | select(.rule == \"capability-missing\").$1"
}

# ---- network queues ----------------------------------------------------------------------------

tree_2s
put $queue 00000100
lacks $net_admin
freeze
krun --socket 1 --json
verdict "a queue" 4 refused as-before
is "a queue: the finding" "refuse CAP_NET_ADMIN is missing, without which this cannot be changed: /$queue" \
	"$(missing severity) $(missing message)"
is "a queue: no write, and no journal" " 0" "$(writes) $(journals)"
ok "a queue: nor a state directory" not test -e "$t/run/cpuoff"
as_before "a queue"
ok "a queue: as the schema has it" jq -es --slurpfile schema \
	"$abs_top_srcdir/share/cpuoff/cpuoff.schema.json" -f "$here/schema.jq" "$out"
err_says "a queue: what to do" 'CapabilityBoundingSet='
krun --socket 1 --dry-run --json
verdict "a dry run asks for no rights" 0 ready as-before
is "a dry run asks for no rights: no finding" "" "$(missing severity)"

put sys/class/net/eth0/queues/tx-0/xps_cpus 00000200
krun --socket 1
status "two queues" 4
err_says "two queues: how many" 'rps_cpus and 1 more'
rm "$t/sys/class/net/eth0/queues/tx-0/xps_cpus"

put $queue 00000001
krun --socket 1 --json
verdict "a queue elsewhere asks for nothing" 0 'done' as-asked
is "a queue elsewhere: no finding" "" "$(missing severity)"
krun --restore --json
verdict "a queue elsewhere: restore" 0 'done' as-asked
is "a queue elsewhere: restore, no finding" "" "$(missing severity)"

put $queue 00000100
lacks
krun --socket 1 --json
verdict "with all rights" 0 'done' as-asked
is "with all rights: no finding" "" "$(missing severity)"
krun --restore --json
verdict "with all rights: restore" 0 'done' as-asked

# ---- forced, and back ----------------------------------------------------------------------------

lacks $net_admin
new_rules "$queue write EPERM"
krun --socket 1 --force --strict --json
verdict "forced" 0 'done' as-asked
is "forced: a warning" "warn" "$(missing severity)"
krun --restore --json
verdict "forced, what was never moved: restore" 0 'done' as-asked
is "forced: the queue was left alone" 00000100 "$(cat "$t/$queue")"

new_rules
lacks
krun --socket 1
status "taken with all rights" 0
lacks $net_admin
new_rules "$queue write EPERM"
krun --restore --cpu 8 --json
verdict "a part of it back: nothing is due yet" 0 'done' as-asked
is "a part of it back: no finding" "" "$(missing severity)"
krun --restore --strict --json
verdict "back, strict" 4 refused
is "back, strict: the journal stays" 1 "$(journals)"
krun --restore --json
verdict "back" 5 failed
is "back: a warning" "warn CAP_NET_ADMIN is missing, without which this cannot be changed: /$queue" \
	"$(missing severity) $(missing message)"
err_says "back: what to do" 'the journal keeps what cannot be given back: run cpuoff --restore once more'
is "back: the CPUs are, and the journal has the rest" "0-31 1" "$(cat "$t/sys/devices/system/cpu/online") $(journals)"
lacks
new_rules
krun --restore --json
verdict "once more, with all rights" 0 'done' as-asked
is "once more: all of it" "00000100 0" "$(cat "$t/$queue") $(journals)"

# ---- cgroups of users ----------------------------------------------------------------------------

# asks_where_users_own WHAT FILE OBJECT - on this tree: what is root's asks for nothing, and what is a user's is refused
asks_where_users_own() {
	lacks $dac_override
	new_rules
	krun --cpu 2-3 --json
	verdict "a $1 of root's" 0 'done' as-asked
	krun --restore --json
	verdict "a $1 of root's: restore" 0 'done' as-asked
	new_rules "$2 open EACCES"
	krun --cpu 2-3 --json
	verdict "a user's $1" 4 refused as-before
	is "a user's $1: the finding" "CAP_DAC_OVERRIDE is missing, without which this cannot be changed: $3" \
		"$(missing message)"
}

tree v1 --sockets 1 --cores 4
put proc/mounts "cgroup /$v1 cgroup rw,cpuset 0 0"
for group in $v1 $v1/box; do
	put "$group/cpuset.cpus" 0-3
	: >"$t/$group/tasks"
done
asks_where_users_own cpuset "$v1/box/cpuset.cpus" "/$v1/box"

tree v2 --sockets 1 --cores 4
put proc/mounts "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0"
put sys/fs/cgroup/cgroup.controllers cpuset
put sys/fs/cgroup/cgroup.subtree_control cpuset
put sys/fs/cgroup/cpuset.cpus.effective 0-3
put sys/fs/cgroup/mine/cpuset.cpus 1-3
put sys/fs/cgroup/mine/cpuset.cpus.effective 1-3
put sys/fs/cgroup/mine/cpuset.cpus.partition root
asks_where_users_own partition sys/fs/cgroup/mine/cpuset.cpus.partition /sys/fs/cgroup/mine

done_testing
