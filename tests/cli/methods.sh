# SPDX-License-Identifier: GPL-2.0-or-later
# methods.sh - the ways of taking CPUs: which one is chosen or refused, and what each of them writes
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# All writes that take or bring CPUs, in order: "bulk 28-31", "smt off", "30=0!EIO"
changes() {
	sed -n -e 's,^write sys/devices/system/cpu/cpu_bulk_remove \([^ ]*\) \([^ ]*\) .*,bulk \1!\2,p' \
		-e 's,^write sys/devices/system/cpu/smt/control \([^ ]*\) \([^ ]*\) .*,smt \1!\2,p' \
		-e 's,^write sys/devices/system/cpu/cpu\([0-9]*\)/online \([01]\) \([^ ]*\) .*,\1=\2!\3,p' "$log" |
		sed 's/!ok$//' | paste -sd' ' -
}

control() {
	cat "$t/sys/devices/system/cpu/smt/control"
}

# ---- which one -------------------------------------------------------------------------------

# chosen DESCRIPTION METHOD OPTION... - in a dry run
chosen() {
	chosen_what=$1
	chosen_method=$2
	shift 2
	run "$@" --dry-run --json
	verdict "$chosen_what" 0 ready
	json_is "$chosen_what" .method "$chosen_method"
}

# refused DESCRIPTION PATTERN OPTION...
refused() {
	refused_what=$1
	refused_why=$2
	shift 2
	run "$@" --dry-run
	status "$refused_what" 3
	err_says "$refused_what" "cannot be used: .*$refused_why.*way-unusable"
}

tree_2s plain
freeze
chosen "a socket" sequential --socket 1
chosen "the second threads" smt --smt
chosen "the second threads, by number" smt --cpu 16-31
chosen "the second threads, asked for" smt --smt --method=smt
chosen "the second threads, one by one" sequential --smt --method=sequential
json_is "one by one: no step for the control" '[.steps[] | select(.kind == "smt.control")] | length' 0
run --smt --dry-run --json
json_is "smt: its step" '.steps[] | select(.kind == "smt.control") | "\(.lifetime) \(.before) \(.after)"' \
	"until-restore on off"
refused "no bulk" 'this kernel has no .*cpu_bulk_remove' --smt --method=bulk
refused "smt for a part" 'the selection is not all threads' --smt --socket 1 --method=smt
refused "smt for more" 'the selection is not all threads' --cpu 8,16-31 --method=smt
untouched "what is only asked"
tree_2s bulk --bulk
chosen "with the file" bulk --socket 1
chosen "with the file, the second threads" bulk --smt
chosen "with the file, smt all the same" smt --smt --method=smt
tree_2s someoff --offline 3
chosen "the second threads, one CPU off" sequential --smt
refused "smt with a CPU off" 'other CPUs are offline already \(3\)' --smt --method=smt
tree_2s number --smt 1
refused "smt after a failure" 'smt/control reads "1"' --smt --method=smt
tree_2s off --smt off
chosen "switched off" sequential --cpu 30
refused "smt, switched off" 'smt/control reads "off"' --smt --method=smt
rm "$t/sys/devices/system/cpu/smt/control"
refused "smt without the file" 'this kernel has no .*smt/control' --smt --method=smt
tree partial --sockets 2 --cores 2 --threads 4 --numbering threads-last
chosen "all but the first of four threads" smt --cpu 4-15
refused "the last two of four threads" 'not known to switch off some' --cpu 8-15 --method=smt
tree partial4 --sockets 2 --cores 2 --threads 4 --numbering threads-last --smt 4
chosen "the last two of four, where that is known" smt --cpu 8-15
json_is "the last two of four: what is written" '.steps[] | select(.kind == "smt.control").after' 2
tree nosmt --sockets 1 --cores 4
refused "smt on a machine without" 'smt/control reads "notsupported"' --cpu 1-3 --method=smt

for value in 0 -1 65537 x ''; do
	run --cpu 1 --batch="$value"
	status "--batch=$value" 2
done
for method in smt sequential; do
	run --cpu 1 --batch=2 --method=$method
	status "--batch with --method=$method" 2
	err_says "--batch with --method=$method" 'no batches'
done
run --restore --batch=2
status "--batch with --restore" 2

# ---- bulk ------------------------------------------------------------------------------------

tree_2s batches --bulk
freeze
krun --socket 1 --json
verdict "bulk" 0 'done' as-asked
json_is "bulk" '.method + " " + .result.offlined' "bulk 8-15,24-31"
is "bulk: one write" "bulk 24-31,8-15" "$(changes)"
is "bulk: with a journal and expedited" 1 "$(grep -c 'cpu_bulk_remove .* rcu=1 journals=1$' "$log")"
json_is "bulk: each has its time" '[.result.per_cpu[].cpu] | length' 16
new_rules
krun --restore --json
verdict "bulk, --restore" 0 'done' as-asked
json_is "bulk, --restore" .method sequential
is "bulk, --restore: first threads first" "$(expand 8-15 | sed 's/,/=1 /g')=1 $(expand 24-31 | sed 's/,/=1 /g')=1" \
	"$(changes)"
as_before "bulk, --restore"
new_rules
krun --socket 1 --batch=6
is "--batch=6" "bulk 26-31 bulk 24-25,12-15 bulk 8-11" "$(changes)"
krun --restore

tree_2s stays --bulk
freeze
new_rules 'cpu26 bulk stays' 'cpu9 bulk EIO'
krun --socket 1 --batch=8 --json
verdict "bulk, some stay" 0 'done' as-asked
is "bulk, some stay: they go alone" \
	"bulk 24-31 26=0 bulk 8-15!EIO 15=0 14=0 13=0 12=0 11=0 10=0 9=0" "$(changes)"
krun --restore
as_before "bulk, some stay, --restore"
for policy in rollback stop continue; do
	new_rules 'cpu26 bulk stays' 'cpu26 offline EIO'
	krun --socket 1 --batch=8 --on-error=$policy --json
	json_is "bulk, one cannot go, $policy" '.result.failed | map("\(.cpu) \(.errno)") | join(",")' '26 EIO'
	case $policy in
	rollback)
		verdict "bulk, one cannot go, $policy" 1 rolled-back as-before
		as_before "bulk, one cannot go, $policy"
		;;
	stop)
		verdict "bulk, one cannot go, $policy" 64 partial in-between
		json_is "bulk, one cannot go, $policy" .result.offlined 24-25,27-31
		krun --restore
		;;
	continue)
		verdict "bulk, one cannot go, $policy" 64 partial in-between
		json_is "bulk, one cannot go, $policy" .result.offlined 8-15,24-25,27-31
		krun --restore
		;;
	esac
done
as_before "bulk, one cannot go, at the end"
new_rules 'sys/devices/system/cpu/cpu_bulk_remove write EPERM'
krun --cpu 30-31 --json
verdict "bulk, a file that takes nothing" 0 'done' as-asked
is "bulk, a file that takes nothing" "bulk 30-31!EPERM 31=0 30=0" "$(changes)"
krun --restore

new_gate
new_rules "cpu30 bulk until:$gate 1"
krun --cpu 28-31 --timeout=1 --json
verdict "bulk, --timeout" 5 stuck in-between
json_is "bulk, --timeout: what may be at fault" '[.result.failed[] | "\(.cpu) \(.errno)"] | join(",")' \
	"31 ETIMEDOUT,30 ETIMEDOUT"
ok "bulk, --timeout: the write is told" says "$err" 'cpu_bulk_remove'
open_gate
krun --restore --wait
is "bulk, --timeout, --restore" "0 0-31" "$rc $(online)"

# The kernel tells at which one it is
mkdir "$t/sys/devices/system/cpu/cpu30/hotplug"
echo 150 >"$t/sys/devices/system/cpu/cpu30/hotplug/state"
echo 0 >"$t/sys/devices/system/cpu/cpu30/hotplug/target"
new_gate
new_rules "cpu30 bulk until:$gate 1"
krun --cpu 28-31 --timeout=1 --json
verdict "bulk, --timeout, known" 5 stuck in-between
json_is "bulk, --timeout, known: it is at fault" '[.result.failed[] | "\(.cpu) \(.errno)"] | join(",")' "30 ETIMEDOUT"
ok "bulk, --timeout, known: it is told" says "$err" 'cpu 30'
rm -r "$t/sys/devices/system/cpu/cpu30/hotplug"
open_gate
krun --restore --wait
is "bulk, --timeout, known, --restore" "0 0-31" "$rc $(online)"

# The time begins anew with each CPU that goes
new_rules '* bulk delay:0.7'
krun --cpu 28-31 --timeout=2
status "bulk, slow but not one of them too slow" 0
krun --restore

new_gate
new_rules "cpu14 bulk until:$gate 1"
kstart --cpu 8-15 --batch=4 --json
wait_gate
kill -INT "$pid"
open_gate
finish
verdict "bulk, SIGINT" 130 rolled-back as-before
is "bulk, SIGINT: no batch after it" "bulk 12-15 12=1 13=1 14=1 15=1" "$(changes)"
as_before "bulk, SIGINT"

# More than a page
tree page --sockets 1 --cores 2800 --nodes 1 --lean --caches 1 --bulk
new_rules
limit=300
CPUOFF_SHIM_KIN=no krun --cpu 1001-2799:2 --batch=65536 --json
verdict "bulk, a long list" 0 'done' as-asked
json_is "bulk, a long list: all of it" '.result.offlined | split(",") | length' 900
ok "bulk, a long list: several writes" test "$(grep -c '^write .*cpu_bulk_remove' "$log")" -gt 1
is "bulk, a long list: none over a page" "" "$(awk '/cpu_bulk_remove/ && length($3) > 4095' "$log")"
is "bulk, a long list: nothing alone" "" "$(writes)"

# ---- smt -------------------------------------------------------------------------------------

tree_2s smt --hotplug
freeze
krun --smt --json
verdict "smt" 0 'done' as-asked
json_is "smt" '.method + " " + .result.offlined' "smt 16-31"
is "smt: one write" "smt off" "$(changes)"
is "smt: the control" off "$(control)"
krun --restore --dry-run --json
verdict "smt, --restore --dry-run" 0 ready
json_is "smt, --restore --dry-run: first the control" '.steps | map(select(.lifetime == "until-restore")) | .[0].kind' \
	smt.control
new_rules
krun --restore --cpu 20 --json
verdict "smt, --restore of one" 0 'done' as-asked
is "smt, --restore of one" "smt on!EAGAIN 20=1" "$(changes)"
is "smt, --restore of one: the rest stays" "0-15,20 on" "$(online) $(control)"
by_hand 0 5
new_rules
krun --restore
is "smt, --restore of the rest" "0 0-4,6-31" "$rc $(online)"
by_hand 1 5
as_before "smt, --restore of the rest"

# Operations of others stay in force
new_rules
krun --smt --json
operation=$(json .operation)
krun --cpu 8-9 --json
by_hand 0 3
new_rules
krun "--restore=$operation" --json
verdict "smt beside others, --restore" 0 'done' as-asked
is "smt beside others: theirs stay off" 0-2,4-7,10-31 "$(online)"
krun --restore
by_hand 1 3
as_before "smt beside others"

# The kernel stops at one that fails
new_rules 'cpu20 bulk EAGAIN 1'
krun --smt --json
verdict "smt, one stays at first" 0 'done' as-asked
is "smt, one stays at first" "smt off!EAGAIN $(expand_down 20-31 | sed 's/,/=0 /g')=0 smt on!EAGAIN" "$(changes)"
krun --restore
as_before "smt, one stays at first, --restore"
new_rules 'cpu20 offline EAGAIN'
krun --smt --json
verdict "smt, one cannot go" 1 rolled-back as-before
as_before "smt, one cannot go"

# Without fault injection "on" is written only where all that is off shall return
tree_2s nofail
freeze
krun --smt
new_rules
krun --restore
is "smt without fault injection" "0 smt on" "$rc $(changes)"
as_before "smt without fault injection"
krun --smt
krun --restore --cpu 20 --json
verdict "smt without fault injection, --restore of one" 5 failed in-between
is "smt without fault injection, --restore of one: none comes" "0-15 off" "$(online) $(control)"
krun --restore
as_before "smt without fault injection, --restore of all"

# Somebody switched it off for good
tree_2s forceoff --hotplug
krun --smt
echo forceoff >"$t/sys/devices/system/cpu/smt/control"
krun --restore
status "smt, forceoff by somebody" 3
err_says "smt, forceoff by somebody" 'smt/control.*forceoff'

done_testing
