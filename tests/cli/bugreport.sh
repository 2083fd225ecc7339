# SPDX-License-Identifier: GPL-2.0-or-later
# bugreport.sh - --report: what is needed to find a bug, and nothing that names a machine or a person
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

schema=$abs_top_srcdir/share/cpuoff/cpuoff.schema.json
valid() {
	jq -es --slurpfile schema "$schema" -f "$here/schema.jq" "$out"
}

# put PATH TEXT - a file of the machine
put() {
	mkdir -p "$(dirname "$t/$1")"
	printf '%b\n' "$2" >"$t/$1"
}

tree_2s machine
secret='s3cret'
put proc/sys/kernel/hostname "host-$secret"
put proc/sys/kernel/osrelease 6.12.0-test
put proc/version "Linux version 6.12.0 (builder@$secret)"
put proc/cmdline "BOOT_IMAGE=/vmlinuz root=UUID=$secret ip=10.0.0.1::$secret isolcpus=3 nohz_full=4-5 quiet"
put proc/cpuinfo "processor\\t: 0\\nmodel name\\t: Example CPU 9000\\nserial\\t\\t: $secret\\n"
put sys/class/dmi/id/product_serial "$secret"
put sys/class/net/eth0/address "00:11:22:33:44:55"
put sys/devices/system/cpu/smt/control on
mkdir -p "$t/sys/fs/cgroup/user-$secret.slice"
put "sys/fs/cgroup/user-$secret.slice/cpuset.cpus" 8-9
put "sys/fs/cgroup/user-$secret.slice/cgroup.procs" 4711
put sys/fs/cgroup/cgroup.controllers 'cpuset cpu'
put dev/kmsg "4,1,100,-;CPU 3 has 66 vectors, 4 available. Cannot disable CPU
4,2,100,-;CPU: 5 PID: 4711 Comm: $secret Not tainted
3,3,100,-;smpboot: do_boot_cpu failed(-1) to wakeup CPU#7
4,4,100,-;usb 1-1: SerialNumber: $secret
4,5,100,-;process 4711 ($secret) no longer affine to cpu3
6,6,100,-;CPU 9 is news to nobody
12,7,100,-;CPU 1 is what $secret has written"
krun --cpu 30-31 --mce="$secret" 2>/dev/null
krun --cpu 30-31 --except "1,2" --state-dir /run/cpuoff --timeout 600
# as if somebody had a name in its command line
sed -i "s/cpuoff --/cpuoff --$secret --/" "$t"/run/cpuoff/*.json
freeze

# private NAME - the report says nothing about it
private() {
	ok "$1: no secret" not grep -rq "$secret" "$out" "$err"
	ok "$1: no address" not grep -Eq '([0-9a-f]{2}:){5}[0-9a-f]{2}|10\.0\.0\.1' "$out" "$err"
	ok "$1: no task" not grep -q 4711 "$out" "$err"
}

run --report
status "text" 0
private "text"
for word in 'version +[0-9]' 'processor +Example CPU 9000' 'osrelease: 6.12.0-test' 'smt/control: on' \
	'^  isolcpus=3$' '^  nohz_full=4-5$' 'cpus 30-31' 'kind cpu.offline, lifetime until-restore, state applied, items 2, in_force 2' \
	'CPU 3 has 66 vectors' 'wakeup CPU#7' '32 CPUs: 30 online, 2 offline' '^socket +die +node'; do
	out_says "text" "$word"
done
ok "text: no news that is none" not grep -q 'news to nobody' "$out"
ok "text: nothing on stderr" not test -s "$err"

run --report --json
verdict "JSON" 0 'done'
private "JSON"
ok "JSON: as the schema has it" valid
json_is "JSON" '.report.operations[0].steps | map(select(.kind == "cpu.offline")) | .[0].items' 2
json_is "JSON" '.report.parameters | join(" ")' 'isolcpus=3 nohz_full=4-5'
json_is "JSON" '.report.log | length' 2
json_is "JSON" '.report.copy' true
json_is "JSON" '.cpus | length' 32

run --report --socket 1 --json
verdict "a selection" 0 'done'
private "a selection"
ok "a selection: as the schema has it" valid
json_is "a selection: findings" '[.findings[].rule] | index("node-memory") != null' true
json_is "a selection" .selection.cpus 8-15,24-29
run --report --socket 0
status "a selection that would be refused" 0
out_says "a selection that would be refused" '^  refuse no-online-file, CPUs 0$'
private "a selection that would be refused"
is "nothing is written" "$frozen_traces" "$(traces)"

if can_drop; then
	run_dropped --report --json
	verdict "unprivileged" 0 'done'
	ok "unprivileged: as the schema has it" valid
else
	skip "unprivileged" "cannot drop rights here"
fi

# ---- what cannot be read ---------------------------------------------------------------------

run --report --socket 9 --json
ok "a socket that is not there: as the schema has it" valid
run --report --dry-run
status "--report --dry-run" 2
run --report --json --status
verdict "two actions" 2 invalid as-before
ok "two actions: as the schema has it" valid
t=$work/nowhere
run --report --json
verdict "no machine" 2 invalid as-before
ok "no machine: as the schema has it" valid
run --report
status "no machine" 2
err_says "no machine" 'nowhere'

done_testing
