# SPDX-License-Identifier: GPL-2.0-or-later
# offline.sh - CPUs go: order, what is believed, what is tried again, and how a failure ends
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

down() {
	expand_down "$1" | sed 's/,/=0,/g; s/$/=0/'
}

# in_force NAME CPUS - one operation is in force and claims these
in_force() {
	is "$1: journals" 1 "$(journals)"
	krun --status --json
	verdict "$1: --status" 0 'done'
	json_is "$1: operations in force" '.operations | length' 1
	ok "$1: --status names $2" grep -q "$2" "$out"
}

# ---- what takes long runs beside the rest ------------------------------------------------------

tree_2s always_busy
new_rules 'cpu30 offline EBUSY'
freeze
busy_content=$frozen_content
aside always_busy --socket 1 --json

tree_2s slow
new_rules 'cpu30 offline delay:5.6 1'
aside slow --cpu 29-31

tree_2s timeout_text
new_rules 'cpu30 offline delay:2.5 1'
aside timeout_text --cpu 28-31 --timeout=1

# ---- all goes well ---------------------------------------------------------------------------

tree_2s
krun --socket 1 --json
verdict "socket 1" 0 'done' as-asked
json_is "socket 1" .action offline
json_is "socket 1" .dry_run false
json_is "socket 1" .target.cpus 8-15,24-31
json_is "socket 1" .result.offlined 8-15,24-31
json_is "socket 1" '.result.failed | length' 0
json_is "socket 1" '[.result.per_cpu[].cpu] | sort == [range(8;16), range(24;32)]' true
json_is "socket 1" '.operation | type == "string" and length > 0' true
json_is "socket 1" '[.steps[] | select(.kind == "cpu.offline") | .state] | unique | join(" ")' applied
json_is "socket 1" '[.steps[] | select(.kind == "cpu.offline") | .lifetime] | unique | join(" ")' until-restore
json_is "socket 1" '[.steps[] | select(.kind == "rcu.expedite") | .lifetime] | unique | join(" ")' during
is "socket 1: highest first, each once" "$(down 8-15,24-31)" "$(writes)"
is "socket 1: online" 0-7,16-23 "$(online)"
is "rcu_expedited is up during each write" "" "$(grep '/online' "$log" | grep -v rcu=1)"
is "rcu_expedited is written twice" 2 "$(grep -c 'rcu_expedited' "$log")"
is "rcu_expedited is as before" 0 "$(expedited)"
is "the journal is there before each write" "" "$(grep '/online' "$log" | grep -v journals=1)"
is "the state directory" "755 directory" "$(stat -c '%a %F' "$t/run/cpuoff")"
is "the journal's mode" 644 "$(stat -c %a "$t"/run/cpuoff/*.json)"
is "the lock's mode" 600 "$(stat -c %a "$t/run/cpuoff/lock")"
is "nothing half-written is left" "" "$(find "$t/run/cpuoff" -type f ! -name '*.json' ! -name lock)"
operation=$(json .operation)
in_force "socket 1" 8-15,24-31
ok "socket 1: --status names the operation" grep -q -e "$operation" "$out"

new_rules
krun --socket 1
status "socket 1 again, text" 0
is "socket 1 again: no write" "" "$(writes)"
new_rules
krun --cpu 8-15 --json
verdict "CPUs that are off" 0 nothing-to-do as-asked
is "CPUs that are off: no write" "" "$(writes)"

tree_2s text
krun --node 1
status "text" 0
out_says "text" '8-15,24-31'
ok "text: nothing is wrong on stderr" not says "$err" 'error|fail|warn'

tree_2s quiet
krun --socket 1 -q
status "--quiet" 0
ok "--quiet prints nothing" test ! -s "$out" -a ! -s "$err"
tree_2s verbose
krun --socket 1 -v
status "--verbose" 0
any_says "--verbose names each step" 'cpu 31'

tree_2s state
krun --socket 1 --state-dir /var/lib/elsewhere
status "--state-dir" 0
is "--state-dir lies below the root" 1 "$(find "$t/var/lib/elsewhere" -name '*.json' | wc -l)"
is "--state-dir and nowhere else" 0 "$(journals)"
krun --restore --state-dir /var/lib/elsewhere
status "--restore with --state-dir" 0
is "--restore with --state-dir" 0-31 "$(online)"

# ---- rcu_expedited is another's too ----------------------------------------------------------

tree_2s expedited --expedited 1
krun --socket 1
status "rcu_expedited was 1" 0
is "it was raised to 2" "" "$(grep '/online' "$log" | grep -v rcu=2)"
is "and is 1 again" 1 "$(expedited)"

tree_2s unexpedited
krun --socket 1 --no-expedite --json
status "--no-expedite" 0
is "--no-expedite leaves rcu_expedited alone" "" "$(grep rcu_expedited "$log")"
json_is "--no-expedite" '[.steps[] | select(.kind == "rcu.expedite")] | length' 0

tree_2s normal --rcu-normal 1
krun --cpu 31 --json
status "rcu_normal is 1" 0
is "rcu_normal is not written" 1 "$(cat "$t/sys/kernel/rcu_normal")"
ok "rcu_normal: a note says so" grep -q rcu_normal "$out"

tree_2s noexpedite
rm "$t/sys/kernel/rcu_expedited"
krun --socket 1 --json
verdict "a kernel without rcu_expedited" 0 'done' as-asked

tree_2s rcufail
freeze
new_rules 'sys/kernel/rcu_expedited write EIO'
krun --socket 1 --json
is "rcu_expedited cannot be raised: no CPU is lost" "" "$(writes | grep -v '=' | head -n 1)"
ok "rcu_expedited cannot be raised: a clean end" test "$rc" -eq 0 -o "$rc" -eq 1
document "rcu_expedited cannot be raised"
[ "$rc" -eq 0 ] || as_before "rcu_expedited cannot be raised"

# ---- EBUSY is tried again, within bounds -----------------------------------------------------

tree_2s busy
new_rules 'cpu30 offline EBUSY 2'
krun --socket 1 --json
verdict "EBUSY twice" 0 'done' as-asked
is "EBUSY twice: three writes" "31=0,30=0!EBUSY,30=0!EBUSY,30=0,29=0" "$(writes | cut -d, -f1-5)"
is "EBUSY twice: online" 0-7,16-23 "$(online)"

# ---- what is not tried again: once, and everything is put back -------------------------------

for error in EAGAIN EIO ENOSPC EPERM EINVAL ENODEV EOPNOTSUPP ENOMEM; do
	tree_2s "fails_$error"
	freeze
	new_rules "cpu25 offline $error 1"
	krun --socket 1 --json
	verdict "$error" 1 rolled-back as-before
	is "$error: tried once" "$(down 26-31),25=0!$error" "$(writes | cut -d, -f1-7)"
	json_is "$error" '.result.failed | map("\(.cpu) \(.errno)") | join(",")' "25 $error"
	as_before "$error"
	is "$error: no journal is left" 0 "$(journals)"
done

tree_2s fails_text
freeze
new_rules "cpu25 offline EAGAIN"
krun --socket 1
status "EAGAIN in text" 1
err_says "EAGAIN in text" 'cpu ?25'
err_says "EAGAIN in text" EAGAIN
any_says "EAGAIN in text" 'back|before'
as_before "EAGAIN in text"
krun --status --json
json_is "after it nothing is in force" '.operations | length' 0

for cpu in 31 8; do
	tree_2s "at_$cpu"
	freeze
	new_rules "cpu$cpu offline EIO"
	krun --socket 1 --json
	verdict "CPU $cpu fails" 1 rolled-back as-before
	as_before "CPU $cpu fails"
	is "CPU $cpu fails: no journal is left" 0 "$(journals)"
	is "CPU $cpu fails: rcu_expedited is down" 0 "$(expedited)"
done

# The way back goes with the during steps in force
tree_2s back
new_rules "cpu25 offline EIO"
krun --socket 1
is "rollback: rcu_expedited is up during each return" "" "$(grep 'online 1' "$log" | grep -v rcu=1)"
is "rollback: each CPU is written once" "$(writes | tr , '\n' | grep -c '=1')" \
	"$(writes | tr , '\n' | grep '=1' | sort -u | wc -l)"

# CPUs that were off before are not brought back
tree_2s before --offline 12,29
freeze
new_rules "cpu25 offline EIO"
krun --socket 1
status "12,29 were off" 1
as_before "12,29 were off"
is "12,29 were off: not written" "" "$(writes | tr , '\n' | grep -E '^(12|29)=')"

# ---- success that is none --------------------------------------------------------------------

tree_2s stays
freeze
new_rules 'cpu28 offline stays'
krun --socket 1 --json
verdict "success, and the mask unchanged" 1 rolled-back as-before
json_is "success, and the mask unchanged" '.result.failed | map(.cpu) | join(",")' 28
is "success, and the mask unchanged: nothing after it goes" "" "$(writes | tr , '\n' | grep -E '^2[4-7]=0')"
as_before "success, and the mask unchanged"

tree_2s returns
new_rules 'cpu31 appear cpu-write 4'
krun --socket 1 --json
if [ "$rc" -eq 0 ]; then
	verdict "CPU 31 comes back in the middle" 0 'done' as-asked
	is "CPU 31 comes back in the middle: it went again" 0-7,16-23 "$(online)"
else
	ok "CPU 31 comes back in the middle: reported" grep -q 31 "$out"
	ok "CPU 31 comes back in the middle: not done" test "$rc" -eq 1 -o "$rc" -eq 5 -o "$rc" -eq 64
fi

tree_2s nags
new_rules 'cpu31 appear cpu-write 4' 'cpu31 appear cpu-write 19' 'cpu31 appear cpu-write 20' \
	'cpu31 appear cpu-write 21' 'cpu31 appear cpu-write 22' 'cpu31 offline stays 1'
krun --socket 1 --json
ok "a CPU that keeps coming back: an end, and the truth" test "$rc" -ne 124
document "a CPU that keeps coming back"
if online | grep -q 31; then
	ok "a CPU that keeps coming back: never done" test "$rc" -ne 0
else
	ok "a CPU that keeps coming back: gone in the end" test "$rc" -eq 0
fi

# ---- others take CPUs ------------------------------------------------------------------------

tree_2s taken
new_rules 'cpu26 vanish cpu-write 4'
krun --socket 1 --json
verdict "somebody takes CPU 26 before its turn" 0 'done' as-asked
json_is "somebody takes CPU 26 before its turn: not ours" .result.offlined 8-15,24-25,27-31
json_is "somebody takes CPU 26 before its turn: said" \
	'.findings[] | select(.rule == "cpu-taken") | .severity + " " + .cpus' 'note 26'
krun --restore --json
verdict "somebody takes CPU 26 before its turn: --restore" 0 'done' as-asked
is "somebody takes CPU 26 before its turn: it stays theirs" "0-25,27-31 0" "$(online) $(journals)"

tree_2s taken_later
new_rules
krun --socket 1
new_rules 'cpu8 vanish cpu-write 6'
krun --restore --json
verdict "somebody takes CPU 8 after it came" 0 'done' as-asked
json_is "somebody takes CPU 8 after it came: said" \
	'.findings[] | select(.rule == "cpu-taken") | .severity + " " + .cpus' 'note 8'
is "somebody takes CPU 8 after it came: it stays theirs" "0-7,9-31 0" "$(online) $(journals)"

# ---- what cannot be put back -----------------------------------------------------------------

tree_2s stuck
new_rules 'cpu25 offline EIO' 'cpu30 online EIO'
krun --socket 1 --json
verdict "rollback fails" 5 failed in-between
is "rollback fails: the others are back" 0-29,31 "$(online)"
is "rollback fails: the journal has the rest" 1 "$(journals)"
is "rollback fails: rcu_expedited is down" 0 "$(expedited)"
new_rules
krun --restore --json
verdict "rollback fails: --restore" 0 'done' as-asked
is "rollback fails: --restore writes CPU 30 alone" 30=1 "$(writes)"
is "rollback fails: --restore" 0-31 "$(online)"
is "rollback fails: no journal is left" 0 "$(journals)"

tree_2s stuck_text
new_rules 'cpu25 offline EIO' 'cpu30 online EIO'
krun --socket 1
status "rollback fails, text" 5
err_says "rollback fails, text" 'cpu ?30'
err_says "rollback fails, text" 'restore'

# ---- --on-error ------------------------------------------------------------------------------

tree_2s stop
new_rules 'cpu25 offline EIO'
krun --socket 1 --on-error=stop --json
verdict "--on-error=stop" 64 partial in-between
json_is "--on-error=stop" .result.offlined 26-31
is "--on-error=stop" 0-25 "$(online)"
is "--on-error=stop: nothing after it" "25=0!EIO" "$(writes | tr , '\n' | tail -n 1)"
in_force "--on-error=stop" 26-31
new_rules
krun --restore
status "--on-error=stop, --restore" 0
is "--on-error=stop, --restore" 0-31 "$(online)"

tree_2s continue
new_rules 'cpu25 offline EIO' 'cpu12 offline stays'
krun --socket 1 --on-error=continue --json
verdict "--on-error=continue" 64 partial in-between
json_is "--on-error=continue" .result.offlined 8-11,13-15,24,26-31
json_is "--on-error=continue" '.result.failed | map(.cpu) | sort | map(tostring) | join(",")' 12,25
is "--on-error=continue" 0-7,12,16-23,25 "$(online)"
new_rules
krun --restore
status "--on-error=continue, --restore" 0
is "--on-error=continue, --restore" 0-31 "$(online)"
is "--on-error=continue, --restore writes what went" "" "$(writes | tr , '\n' | grep -E '^(12|25)=')"

for policy in stop continue; do
	tree_2s "none_$policy"
	freeze
	new_rules '* offline EIO'
	krun --cpu 30-31 --on-error="$policy" --json
	verdict "--on-error=$policy, not one CPU went" 1 rolled-back as-before
	as_before "--on-error=$policy, not one CPU went"
	is "--on-error=$policy, not one CPU went: no journal" 0 "$(journals)"
done

tree_2s skip
krun --socket 0 --skip-unpluggable --json
verdict "--skip-unpluggable" 64 partial in-between
json_is "--skip-unpluggable" .result.offlined 1-7,16-23
is "--skip-unpluggable" 0,8-15,24-31 "$(online)"
krun --restore
is "--skip-unpluggable, --restore" "0 0-31" "$rc $(online)"
tree_2s skip_text
krun --socket 0 --skip-unpluggable
status "--skip-unpluggable in text" 64
any_says "--skip-unpluggable in text" PARTIAL

# ---- a write that the kernel does not answer -------------------------------------------------

tree_2s timeout
new_gate
new_rules "cpu30 offline until:$gate 1"
krun --cpu 28-31 --timeout=1 --json
verdict "--timeout" 5 stuck in-between
is "--timeout: no further write is begun" "31=0" "$(writes)"
is "--timeout: the journal is kept" 1 "$(journals)"
krun --cpu 4
status "another operation while the write is in the kernel" 75
err_says "another operation while the write is in the kernel" 'wait|write|kernel'
(
	sleep 0.3
	open_gate
) &
krun --restore
status "--restore waits for the write" 0
is "--restore waits for the write" 0-31 "$(online)"
is "--restore waits for the write: rcu_expedited" 0 "$(expedited)"
is "--restore waits for the write: no journal is left" 0 "$(journals)"

aside_finish timeout_text
status "--timeout in text" 5
err_says "--timeout in text" 'cpu ?30'
krun --restore --wait
is "--timeout in text, --restore" "0 0-31" "$rc $(online)"

aside_finish slow
status "a slow write" 0
err_says "a slow write, reported after five seconds" '(cpu ?30.*[0-9]|[0-9].*cpu ?30)'

aside_finish always_busy
frozen_content=$busy_content
verdict "always EBUSY" 1 rolled-back as-before
ok "always EBUSY: not longer than ten seconds ($seconds)" test "$seconds" -le 20
ok "always EBUSY: tried more than twice" test "$(writes | tr , '\n' | grep -c '^30=0')" -gt 2
ok "always EBUSY: not without a pause" test "$(writes | tr , '\n' | grep -c '^30=0')" -lt 250
json_is "always EBUSY" '.result.failed | map("\(.cpu) \(.errno)") | join(",")' '30 EBUSY'
json_is "always EBUSY" .result.offlined ''
as_before "always EBUSY"
is "always EBUSY: no journal is left" 0 "$(journals)"
err_says "always EBUSY" 'cpu ?30'
err_says "always EBUSY" 'EBUSY|busy'

# ---- the journal cannot be written -----------------------------------------------------------

tree_2s nojournal
mkdir -p "$t/run"
: >"$t/run/cpuoff"
freeze
krun --socket 1 --json
ok "the state directory cannot be made: an error" test "$rc" -ne 0
document "the state directory cannot be made"
is "the state directory cannot be made: no write" "" "$(writes)"
as_before "the state directory cannot be made"

# ---- privileges that cannot be given up: it goes on, and says so ---------------------------------

tree_2s
krun --socket 1 --json
json_is "privileges" '[.findings[].rule | select(. == "privileges-kept")] | length' 0
tree_2s
export CPUOFF_SHIM_SANDBOX=yes
krun --socket 1 --json
verdict "privileges kept" 0 'done' as-asked
json_is "privileges kept" '.findings[] | select(.rule == "privileges-kept") | .severity + ": " + .message' \
	"note: cpuoff could not give up the privileges that it does not need: Operation not permitted"
krun --restore --json
verdict "privileges kept: restore" 0 'done' as-asked
json_is "privileges kept: restore" '[.findings[].rule | select(. == "privileges-kept")] | length' 1
unset CPUOFF_SHIM_SANDBOX

# ---- what can be measured on a copy: nothing, and that is said ----------------------------------

tree_2s
krun --socket 1 --json
json_is "no measuring" '.result.latency' null
json_is "no measuring" '[.findings[].rule | select(startswith("measure"))] | length' 0
tree_2s
krun --socket 1 --measure --json
verdict "measure" 0 'done' as-asked
json_is "measure: a copy" '.result.latency' null
json_is "measure: a copy" '[.findings[] | select(.rule == "measure-left-out") | .severity] | join(" ")' note
krun --restore --measure --json
verdict "measure: restore" 0 'done' as-asked
json_is "measure: restore" '[.findings[] | select(.rule == "measure-left-out")] | length' 1

# is_xml FILE - valid XML, as far as this machine can tell
is_xml() {
	if command -v xmllint >/dev/null; then
		xmllint --noout "$1"
	elif command -v python3 >/dev/null; then
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"
	fi
}

tree_2s
picture=$t/picture.svg
krun --socket 1 --profile --json
verdict "profile" 0 'done' as-asked
json_is "profile" '.result.profile.traced' false
json_is "profile" '[.result.profile.changes[].cpu] | map(tostring) | join(",")' "$(expand_down 8-15,24-31)"
json_is "profile" '[.result.profile.changes[] | .online] | unique | tostring' '[false]'
json_is "profile" '[.result.profile.steps[] | .kind + "=" + (.undo | tostring)] |
	(index("rcu.expedite=false") < index("cpu.offline=false")) and
	(index("cpu.offline=false") < index("rcu.expedite=true"))' true
json_is "profile" '.result | .profile.seconds <= .seconds' true
krun --restore --profile="$picture"
status "profile: restore" 0
out_says "profile: restore" '16 changes of CPUs took'
out_says "profile: restore" 'not traced'
ok "profile: the picture is valid" is_xml "$picture"
ok "profile: the picture has the CPUs" grep -q 'cpu 24 online' "$picture"
rm -f "$picture"
krun --socket 7 --profile="$picture"
status "profile: an error" 2
ok "profile: no picture of nothing" not test -e "$picture"
echo before >"$picture"
krun --socket 1 --dry-run --profile="$picture"
is "profile: a dry run leaves a file alone" before "$(cat "$picture")"
krun --socket 7 --profile="$picture"
is "profile: so does an error" before "$(cat "$picture")"
ln -s "$picture" "$work/link.svg"
krun --socket 1 --profile="$work/link.svg"
status "profile: a link" 0
ok "profile: a link is replaced" is_xml "$work/link.svg"
is "profile: and not followed" "no before" "$(test -h "$work/link.svg" && echo yes || echo no) $(cat "$picture")"
ok "profile: nothing is left beside it" not test -e "$work"/link.svg.??????
krun --socket 1 --json
json_is "no profile" '.result.profile' null

done_testing
