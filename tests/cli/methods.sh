# SPDX-License-Identifier: GPL-2.0-or-later
# methods.sh - the ways of taking CPUs: which one is chosen or refused, and what each of them writes
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# All writes that take or bring CPUs, in order: "bulk 28-31", "30=0!EIO"
changes() {
	sed -n -e 's,^write sys/devices/system/cpu/cpu_bulk_remove \([^ ]*\) \([^ ]*\) .*,bulk \1!\2,p' \
		-e 's,^write sys/devices/system/cpu/cpu\([0-9]*\)/online \([01]\) \([^ ]*\) .*,\1=\2!\3,p' "$log" |
		sed 's/!ok$//' | paste -sd' ' -
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
	err_says "$refused_what" "cannot be used: .*$refused_why"
}

tree_2s plain
freeze
chosen "a socket" sequential --socket 1
refused "no bulk" 'this kernel has no .*cpu_bulk_remove' --smt --method=bulk
untouched "what is only asked"
tree_2s bulk --bulk
chosen "with the file" bulk --socket 1
chosen "with the file, one by one" sequential --socket 1 --method=sequential

for value in 0 -1 65537 x ''; do
	run --cpu 1 --batch="$value"
	status "--batch=$value" 2
done
run --cpu 1 --batch=2 --method=sequential
status "--batch with --method=sequential" 2
err_says "--batch with --method=sequential" 'no batches'
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

done_testing
