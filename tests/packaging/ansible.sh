# SPDX-License-Identifier: GPL-2.0-or-later
# ansible.sh - the collection of Ansible: linted, its module and its role on several machines that are trees
# shellcheck disable=SC2016,SC2119,SC2317

on_disk=
# shellcheck source=tests/packaging/lib.sh
. "${abs_top_srcdir:-.}/tests/packaging/lib.sh"

needs ansible ansible-playbook ansible-galaxy ansible-doc ansible-lint
# Ansible's own, which need not be the first one of the PATH
python=$(sed -n '1s/^#! *//p' "$(command -v ansible)")

collection=$abs_top_srcdir/packaging/ansible
results=$work/results
# Ansible insists on UTF-8; nothing of the user's is read or written
LC_ALL=C.UTF-8
HOME=$work/home
ANSIBLE_HOME=$HOME/.ansible
ANSIBLE_CONFIG=$work/ansible.cfg
ANSIBLE_COLLECTIONS_PATH=$work/collections
ANSIBLE_LOCALHOST_WARNING=false
ANSIBLE_NOCOLOR=1
ANSIBLE_PIPELINING=1
export ANSIBLE_PIPELINING LC_ALL HOME ANSIBLE_HOME ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH ANSIBLE_LOCALHOST_WARNING ANSIBLE_NOCOLOR
unset ANSIBLE_INVENTORY ANSIBLE_STDOUT_CALLBACK
mkdir -p "$HOME"
echo '[defaults]' >"$ANSIBLE_CONFIG"

# module HOST OPTIONS [ARGUMENT...] - the module as a single task; its result in $out, Ansible's words in $said
said=$work/said
module() {
	module_host=$1
	module_options=$2
	shift 2
	last="ansible $module_host -m cpuoff.cpuoff.cpuoff -a {$module_options} $*"
	rm -rf "$results"
	rc=0
	ansible -i "$work/inventory.yml" "$module_host" -m cpuoff.cpuoff.cpuoff -t "$results" \
		-a "{\"executable\": \"$hosts/{{ inventory_hostname }}/cpuoff\", $module_options}" "$@" \
		>"$said" 2>"$err" </dev/null || rc=$?
	cat "$results/${module_host%%:*}" >"$out" 2>/dev/null || cp "$said" "$out"
}

# gave DESCRIPTION EXPECTED FILTER - the same as json_is, arguments in the order of `is'
gave() {
	is "$1" "$2" "$(json "$3")"
}

# playbook FILE [ARGUMENT...]
playbook() {
	last="ansible-playbook $*"
	rc=0
	ansible-playbook -i "$work/inventory.yml" "$@" >"$out" 2>"$err" </dev/null || rc=$?
}

# ---- the collection ----------------------------------------------------------------------------

step "the collection is built" ansible-galaxy collection build --output-path "$work" "$collection"
step "it is installed" ansible-galaxy collection install --offline -p "$work/collections" "$work"/cpuoff-cpuoff-*.tar.gz
step "ansible-doc shows the module" ansible-doc cpuoff.cpuoff.cpuoff
step "ansible-doc shows the role" ansible-doc -t role cpuoff.cpuoff.cpu_maintenance
out_says "ansible-doc shows the role" cpu_maintenance_selection
step "documentation, arguments and the program agree" "$python" "$abs_top_srcdir/tests/packaging/ansible/spec.py" \
	"$collection/plugins/modules/cpuoff.py" "$CPUOFF"
is "documentation, arguments and the program agree" '' "$(cat "$out")"
# It leaves a cache there
cp -R "$collection" "$work/lint"
lint() {
	(cd "$work/lint" && ansible-lint --offline --nocolor --profile production)
}
step "ansible-lint is content, for production" lint

# ---- the module --------------------------------------------------------------------------------

printf 'all:\n  vars:\n    ansible_connection: local\n    ansible_python_interpreter: %s\n' \
	"$python" >"$work/inventory.yml"
printf '  children:\n    rack:\n      hosts:\n' >>"$work/inventory.yml"
for name in m1 m2 m3 m4; do
	host $name
	printf '        %s:\n' $name >>"$work/inventory.yml"
done
on m1
freeze

module m1 '"state": "status"'
status "nothing in force" 0
gave "nothing in force" 'false 0 done' '"\(.changed) \(.operations | length) \(.verdict)"'

module m1 '"state": "offline", "socket": 1' --check --diff
status "check mode" 0
gave "check mode: would change" 'true 8-15,24-31 ready' '"\(.changed) \(.cpus) \(.verdict)"'
untouched "check mode"
ok "diff mode shows what was" grep -q '^-cpu.offline cpu 31: 1' "$said"
ok "diff mode shows what will be" grep -q '^+cpu.offline cpu 31: 0' "$said"

module m1:m2 '"state": "offline", "socket": "1"'
status "offline" 0
gave "offline: changed" 'true done as-asked 0' '"\(.changed) \(.verdict) \(.machine) \(.exit_status)"'
gave "offline: what went" '8-15,24-31 16' '"\(.cpus) \(.report.target.count)"'
operation=$(json .operation)
is "offline: the machine" 0-7,16-23 "$(online)"
on m2
is "offline: the other machine" 0-7,16-23 "$(online)"
on m1

module m1 '"state": "offline", "socket": 1'
status "offline already" 0
gave "offline already: not changed" 'false ' '"\(.changed) \(.cpus)"'
is "offline already: no other operation" 1 "$(journals)"
module m1 '"state": "status", "socket": 1'
gave "one in force" "$operation 8-15,24-31" '"\(.operations[0].id) \(.cpus)"'
gave "what the selection is" '8-15,24-31' .selection.already_offline

module m1 '"state": "online", "cpu": ["8-9", 24]' --check
gave "some online, check mode" 'true 8-9,24' '"\(.changed) \(.cpus)"'
is "some online, check mode: the machine" 0-7,16-23 "$(online)"
module m1 '"state": "online", "cpu": ["8-9", 24]'
gave "some online: changed" 'true 8-9,24' '"\(.changed) \(.cpus)"'
is "some online: the machine" 0-9,16-24 "$(online)"
module m1 '"state": "online", "cpu": ["8-9", 24]'
gave "some online already: not changed" false .changed

module m1 "\"state\": \"online\", \"operation\": \"$operation\""
status "online by operation" 0
gave "online by operation: changed" 'true done' '"\(.changed) \(.verdict)"'
as_before "online by operation"
module m1 "\"state\": \"online\", \"operation\": \"$operation\""
status "not in force any more" 0
gave "not in force any more" "false operation $operation is not in force" '"\(.changed) \(.msg)"'
module m1 '"state": "online"'
gave "nothing to undo: not changed" false .changed
module m1 '"state": "online", "socket": 1'
status "all are online" 0
gave "all are online: not changed" false .changed

by_hand 0 9
module m1 '"state": "online", "socket": 1'
status "one is offline of which no journal knows" 2
gave "one is offline of which no journal knows" '3 refused' '"\(.exit_status) \(.verdict)"'
ok "one is offline of which no journal knows: the reason" grep -q 'no journal knows' "$out"
module m1 '"state": "online", "cpu": 9'
gave "it is brought back by its number" 'true 9' '"\(.changed) \(.cpus)"'
as_before "it is brought back by its number"

module m2 '"state": "online", "operation": "all"'
gave "all operations" true .changed

# ---- over a reboot -----------------------------------------------------------------------------

records() {
	find "$t/var/lib/cpuoff" -name '*.json' 2>/dev/null | wc -l
}

module m1 '"state": "offline", "socket": 1, "persist": true'
status "over a reboot" 0
gave "over a reboot: changed" 'true true' '"\(.changed) \(.report.recorded)"'
is "over a reboot: it is recorded" 1 "$(records)"
module m1 '"state": "offline", "socket": 1, "persist": true'
gave "over a reboot, again: not changed" false .changed
module m1 '"state": "online", "socket": 1'
gave "over a reboot, and back" true .changed
is "over a reboot, and back: the record has ended" 0 "$(records)"
rm -rf "${t:?}/var"
as_before "over a reboot, and back"

# ---- what fails ------------------------------------------------------------------------------

module m1 '"state": "offline", "socket": 7'
status "no such socket" 2
gave "no such socket" 'false 2 invalid' '"\(.changed) \(.exit_status) \(.verdict)"'
ok "no such socket: cpuoff's own message" grep -q 'there is no socket 7; sockets are 0-1 \[no-such-socket\]' "$out"
module m1 '"state": "offline", "socket": 0'
gave "refused" 'false 3 as-before' '"\(.changed) \(.exit_status) \(.machine)"'
ok "refused: reason and remedy" grep -q 'cpu0 has no online file.*--skip-unpluggable' "$out"
module m1 '"state": "offline", "socket": 0' --check
status "refused in check mode too" 2
gave "refused in check mode too" 3 .exit_status
module m1 '"state": "offline"'
status "no selection" 2
gave "no selection" 2 .exit_status
module m1 '"state": "offline", "core": 65'
status "a core must be in quotes" 2
gave "a core must be in quotes" 2 .exit_status
module m1 '"state": "offline", "socket": 1, "operation": "all"'
status "an operation is not taken offline" 2
gave "an operation is not taken offline" 2 .exit_status

echo 'cpu9 offline EAGAIN' >"$rules"
module m1 '"state": "offline", "core": "1:0-1"'
status "a CPU that cannot go" 2
gave "a CPU that cannot go" 'false 1 rolled-back as-before' '"\(.changed) \(.exit_status) \(.verdict) \(.machine)"'
ok "a CPU that cannot go: its name and the reason" grep -q 'cpu 9 could not be taken offline.*EAGAIN' "$out"
as_before "a CPU that cannot go"
module m1 '"state": "offline", "core": "1:0-1", "on_error": "continue"'
status "without the CPU that cannot go" 0
gave "without the CPU that cannot go" 'true true 64 8,24-25' '"\(.changed) \(.partial) \(.exit_status) \(.cpus)"'
: >"$rules"
module m1 '"state": "online"'
as_before "without the CPU that cannot go, and back"

module m1 '"state": "offline", "node": 0, "except": "3", "skip_unpluggable": true'
status "what can go of a socket" 0
gave "what can go of a socket" 'true true 1-2,4-7,16-23' '"\(.changed) \(.partial) \(.cpus)"'
module m1 '"state": "offline", "node": 0, "except": "3", "skip_unpluggable": true'
status "what can go of a socket, again" 0
gave "what can go of a socket, again: not changed" 'false true' '"\(.changed) \(.partial)"'
module m1 '"state": "online"'
as_before "what can go of a socket, and back"

# ---- the role --------------------------------------------------------------------------------

for name in drain work resume; do
	cat >"$work/$name.yml" <<-TASKS
		- name: Note it
		  ansible.builtin.shell:
		    cmd: echo "$name {{ inventory_hostname }} \$(cat {{ machine }}/sys/devices/system/cpu/online)" >>$work/steps
	TASKS
done
cat >"$work/vars.yml" <<VARS
machine: "$hosts/{{ inventory_hostname }}/machine"
cpu_maintenance_hosts: rack
cpu_maintenance_serial: 2
cpu_maintenance_become: false
cpu_maintenance_selection: {socket: 1}
cpu_maintenance_options: {executable: "$hosts/{{ inventory_hostname }}/cpuoff"}
cpu_maintenance_drain_tasks: $work/drain.yml
cpu_maintenance_work_tasks: $work/work.yml
cpu_maintenance_resume_tasks: $work/resume.yml
VARS

# as_all_before DESCRIPTION - every machine is what it was
as_all_before() {
	for name in m1 m2 m3 m4; do
		on $name
		as_before "$1: $name"
	done
	on m1
}

# The steps of all machines, in their order; those of one batch have no order among themselves
steps() {
	awk '{ print $1, $2, $3 }' "$work/steps" | paste -sd, -
}

playbook cpuoff.cpuoff.maintenance -e "@$work/vars.yml" --check
status "a window, check mode" 0
as_all_before "a window, check mode"
rm -f "$work/steps"

playbook cpuoff.cpuoff.maintenance -e "@$work/vars.yml" --forks 1
status "a window" 0
is "a window: step by step, batch by batch" \
	"drain m1 0-31,drain m2 0-31,work m1 0-7,16-23,work m2 0-7,16-23,resume m1 0-31,resume m2 0-31" \
	"$(steps | sed 's/,drain m3.*//')"
is "a window: the second batch" \
	"drain m3 0-31,drain m4 0-31,work m3 0-7,16-23,work m4 0-7,16-23,resume m3 0-31,resume m4 0-31" \
	"$(steps | sed 's/.*resume m2 0-31,//')"
as_all_before "a window"
rm -f "$work/steps"

# The first machine of the first batch fails: all of it is put back, it works again, and the others wait
echo 'cpu9 offline EAGAIN' >"$hosts/m1/rules"
playbook cpuoff.cpuoff.maintenance -e "@$work/vars.yml" --forks 1 -e cpu_maintenance_serial=1
status "a machine that fails" 2
is "a machine that fails: it is resumed, and no other one begun" "drain m1 0-31,resume m1 0-31" "$(steps)"
out_says "a machine that fails" 'cpu 9 could not be taken offline'
as_all_before "a machine that fails"
: >"$hosts/m1/rules"
rm -f "$work/steps"

# One that would be refused is not drained
playbook cpuoff.cpuoff.maintenance -e "@$work/vars.yml" -e '{"cpu_maintenance_selection": {"socket": 0}}'
status "a machine that refuses" 2
ok "a machine that refuses is not drained" test ! -e "$work/steps"
as_all_before "a machine that refuses"

# The two halves
playbook cpuoff.cpuoff.maintenance -e "@$work/vars.yml" --limit m1 -e '{"cpu_maintenance_restore": false}'
status "a window that stays open" 0
is "a window that stays open: the machine" 0-7,16-23 "$(online)"
is "a window that stays open: the steps" "drain m1 0-31,work m1 0-7,16-23" "$(steps)"
cat >"$work/close.yml" <<'PLAY'
- name: Close it
  hosts: m1
  gather_facts: false
  tasks:
    - name: The second half
      ansible.builtin.include_role:
        name: cpuoff.cpuoff.cpu_maintenance
        tasks_from: restore
PLAY
playbook "$work/close.yml" -e "@$work/vars.yml"
status "it is closed" 0
is "it is closed: the steps" "drain m1 0-31,work m1 0-7,16-23,resume m1 0-31" "$(steps)"
as_all_before "it is closed"

done_testing
