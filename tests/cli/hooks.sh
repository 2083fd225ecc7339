# SPDX-License-Identifier: GPL-2.0-or-later
# hooks.sh - programs before and after: their order, what they are told, and what their failure means
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# hook WHEN/NAME [LINE...] - a program that notes its turn and then does these lines
hook() {
	hook_file=$t/etc/cpuoff/hooks.d/$1
	mkdir -p "${hook_file%/*}"
	{
		printf '%s\n' '#!/bin/sh' "notes=$t/notes" "cpus=$t/sys/devices/system/cpu" \
			"echo \"$1 \$CPUOFF_RESULT\" | sed 's/ \$//' >>\"\$notes\""
		shift
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >"$hook_file"
	chmod 755 "$hook_file"
}

notes() {
	[ ! -f "$t/notes" ] || paste -sd, "$t/notes"
	rm -f "$t/notes"
}

machine() {
	tree_2s "$@"
	freeze
}

hrun() {
	krun --hooks-dir=/etc/cpuoff/hooks.d "$@"
}

valid() {
	jq -es --slurpfile schema "$abs_top_srcdir/share/cpuoff/cpuoff.schema.json" -f "$here/schema.jq" "$1"
}

# ---- order -----------------------------------------------------------------------------------

machine order
for when in pre-offline post-offline pre-restore post-restore; do
	hook $when/20-second
	hook $when/10-first
	hook $when/30-third.sh
done
hrun --socket 1 --dry-run --json
verdict "a dry run" 0 ready as-before
json_is "a dry run" '[.hooks[] | .hook + " " + .state] | join(",")' \
	'pre-offline/10-first planned,pre-offline/20-second planned,post-offline/10-first planned,post-offline/20-second planned'
is "a dry run runs none" "" "$(notes)"
hrun --socket 1 --dry-run
out_says "a dry run, text" '^hooks +pre-offline/10-first$'
out_says "a dry run, text" '^ +post-offline/20-second$'
hrun --socket 1 --json
verdict "offline" 0 'done'
ok "offline: as the schema has it" valid "$out"
json_is "offline" '[.hooks[].state] | unique | join(",")' 'done'
is "offline: in their order" "pre-offline/10-first,pre-offline/20-second,post-offline/10-first done,post-offline/20-second done" "$(notes)"
hrun --cpu 8 --json
verdict "nothing to do" 0 nothing-to-do
is "nothing to do: no hooks" "" "$(notes)"
hrun --restore=all --json
verdict "restore" 0 'done'
is "restore: in their order" "pre-restore/10-first,pre-restore/20-second,post-restore/10-first done,post-restore/20-second done" "$(notes)"
is "restore" 0-31 "$(online)"
hrun --restore
is "restore of nothing: no hooks" "0 " "$rc $(notes)"
hrun --socket 1 --no-hooks
is "--no-hooks" "0 " "$rc $(notes)"
krun --restore
is "a copy of a machine: none but where they are asked for" "0 " "$rc $(notes)"
hrun --cpu 99
is "a wrong selection: no hooks" "2 " "$rc $(notes)"
hrun --cpu 0
is "refused by a rule: no hooks" "3 " "$rc $(notes)"

# ---- what they are told ----------------------------------------------------------------------

machine facts
hook pre-offline/10 'env | sort >'"$t/pre" 'cat >'"$t/pre.json" 'cat "$cpus/online" >'"$t/pre.online"
hook post-offline/10 'env | sort >'"$t/post" 'cat >'"$t/post.json" 'cat "$cpus/online" >'"$t/post.online"
hook pre-restore/10 'env | sort >'"$t/pre-restore"
hook post-restore/10 'env | sort >'"$t/post-restore" 'cat >'"$t/post-restore.json"
# told DESCRIPTION FILE LINE...
told() {
	told_what=$1
	told_file=$2
	shift 2
	for line in "$@"; do
		ok "$told_what: $line" grep -qx "$line" "$told_file"
	done
}

CPUOFF_SECRET=1 hrun --socket 1 --json
operation=$(json .operation)
told "before" "$t/pre" CPUOFF_HOOK=pre-offline CPUOFF_ACTION=offline CPUOFF_CPUS=8-15,24-31 CPUOFF_COUNT=16 \
	CPUOFF_SOCKETS=1 CPUOFF_NODES=1 CPUOFF_SURVIVORS=0-7,16-23 CPUOFF_OFFLINE= "CPUOFF_OPERATION_ID=$operation" \
	PATH=/usr/sbin:/usr/bin:/sbin:/bin
ok "before: no result yet" not grep -q CPUOFF_RESULT "$t/pre"
ok "before: nothing of the caller's" not grep -q -e CPUOFF_SECRET -e LD_PRELOAD -e CPUOFF_SHIM "$t/pre"
is "before: nothing is done yet" "0-31 0-7,16-23" "$(cat "$t/pre.online" "$t/post.online" | paste -sd' ')"
ok "before: as the schema has it" valid "$t/pre.json"
is "before: what is about to be done" "ready as-before 8-15,24-31" \
	"$(jq -r '[.verdict, .machine, .target.cpus] | join(" ")' "$t/pre.json")"
told "after" "$t/post" CPUOFF_HOOK=post-offline CPUOFF_RESULT=done CPUOFF_MACHINE=as-asked CPUOFF_EXIT_STATUS=0 \
	CPUOFF_OFFLINE=8-15,24-31 "CPUOFF_OPERATION_ID=$operation"
ok "after: as the schema has it" valid "$t/post.json"
is "after: what was done" "done 8-15,24-31 $operation" \
	"$(jq -r '[.verdict, .result.offlined, .operation] | join(" ")' "$t/post.json")"
hrun --restore --cpu 8-11
told "before the return" "$t/pre-restore" CPUOFF_ACTION=restore CPUOFF_CPUS=8-11 CPUOFF_SOCKETS=1 CPUOFF_NODES=1 \
	"CPUOFF_OPERATION_ID=$operation" CPUOFF_OFFLINE=8-15,24-31
told "after the return" "$t/post-restore" CPUOFF_RESULT=done CPUOFF_OFFLINE=12-15,24-31
is "after the return: what was done" 8-11 "$(jq -r .result.onlined "$t/post-restore.json")"

# ---- what they say, and how they fail --------------------------------------------------------

machine failing
hook pre-offline/10-first 'echo drained'
hook pre-offline/20-second 'echo no such node >&2' 'exit 7'
hook pre-offline/30-third
hook post-offline/10-undo
hrun --socket 1 --json
verdict "one before fails" 3 refused as-before
ok "one before fails: as the schema has it" valid "$out"
is "one before fails: no write" "" "$(writes)"
as_before "one before fails"
err_says "one before fails" '^cpuoff: pre-offline/10-first: drained$'
err_says "one before fails" '^cpuoff: pre-offline/20-second: no such node$'
json_is "one before fails" '.findings[] | select(.rule == "hook-failed") | .message' \
	'the hook pre-offline/20-second failed: exit status 7'
json_is "one before fails" '[.hooks[].state] | join(",")' 'done,failed,planned,done'
is "one before fails: the later ones are not run, those after are" \
	"pre-offline/10-first,pre-offline/20-second,post-offline/10-undo failed" "$(notes)"
hrun --socket 1
status "one before fails, text" 3
err_says "one before fails, text" 'refused: the hook pre-offline/20-second failed: exit status 7'
notes >/dev/null

# What only a plan tells is known before they are run
machine plan
hook pre-offline/10-drain
hook post-offline/10-undo
freeze
hrun --socket 1 --eject --json
verdict "refused by the plan" 3 refused as-before
json_is "refused by the plan" '.findings[0].rule' eject-impossible
is "refused by the plan: no hook is run" "" "$(notes)"
untouched "refused by the plan"
hrun --socket 1 --method=bulk --json
json_is "refused by what the kernel has" '"\(.exit_status) \(.findings[0].rule)"' '3 way-unusable'
is "refused by what the kernel has: no hook is run" "" "$(notes)"
hrun --socket 1 --json
verdict "a plan that is tried and carried out" 0 'done' as-asked
json_is "a plan that is tried and carried out: nothing is told twice" \
	'[.findings[] | .message] | length - (unique | length)' 0
notes >/dev/null

machine signal
hook pre-offline/10 'kill -s SEGV $$'
hrun --socket 1
is "one before is killed" "3 0-31" "$rc $(online)"
err_says "one before is killed" 'failed: signal 11'
machine hangs
hook pre-offline/10 'sleep 100'
hrun --socket 1 --hook-timeout=1
is "one before hangs" "3 0-31" "$rc $(online)"
err_says "one before hangs" 'no end within 1 s'

machine after
hook post-offline/10-bad 'exit 1'
hook post-offline/20-good
hrun --socket 1 --strict --json
verdict "one after fails" 0 'done' as-asked
json_is "one after fails" '.findings[] | select(.rule == "hook-failed") | .severity' warn
is "one after fails: the others are run" "post-offline/10-bad done,post-offline/20-good done" "$(notes)"

machine rollback
hook pre-offline/10-drain
hook post-offline/10-drain 'echo "$CPUOFF_MACHINE $CPUOFF_EXIT_STATUS" >>"$notes"'
new_rules 'cpu10 offline EIO'
hrun --socket 1 --json
verdict "put back" 1 rolled-back as-before
is "put back: those after are told" "pre-offline/10-drain,post-offline/10-drain failed,as-before 1" "$(notes)"
hrun --socket 1 --on-error=stop --json
verdict "partly" 64 partial
is "partly: those after are told" "pre-offline/10-drain,post-offline/10-drain partial,in-between 64" "$(notes)"

# What a hook changes is seen: this one takes a CPU offline
machine drain
hook pre-offline/10 'echo 3 >/dev/null'
hook post-offline/10 'echo "$CPUOFF_CPUS" >>"$notes"'
hrun --socket 1
is "a hook that changes nothing" "0 0-7,16-23" "$rc $(online)"
notes >/dev/null
machine judged
hook pre-offline/10 'rm "$cpus/cpu9/online"'
hook post-offline/10
hrun --socket 1 --json
verdict "what a hook has changed is judged again" 3 refused as-before
json_is "what a hook has changed is judged again" '[.findings[] | select(.severity == "refuse").rule] | join(" ")' no-online-file
is "what a hook has changed: those after are told" "pre-offline/10,post-offline/10 failed" "$(notes)"

machine return
krun --socket 1
hook pre-restore/10 'exit 2'
hrun --restore --json
verdict "one before the return fails" 3 refused as-before
is "one before the return fails" 0-7,16-23 "$(online)"
hrun --restore --no-hooks
is "without them" "0 0-31" "$rc $(online)"

machine interrupted
hook pre-offline/10 'touch "$notes.begun"' 'sleep 100'
hook post-offline/10
kstart --hooks-dir=/etc/cpuoff/hooks.d --socket 1 --json
wait_for test -e "$t/notes.begun"
kill -s INT "$pid"
finish
is "a signal while a hook runs" "130 refused 0-31" "$rc $(json .verdict) $(online)"
is "a signal while a hook runs: those after are told" "pre-offline/10,post-offline/10 failed" "$(notes)"

# ---- what is not run -------------------------------------------------------------------------

machine unsafe
hook pre-offline/10
hook post-offline/10
chmod 777 "$t/etc/cpuoff/hooks.d/post-offline/10"
hrun --socket 1 --json
verdict "one that others can write" 3 refused as-before
is "one that others can write: none is run" "" "$(notes)"
json_is "one that others can write" '.findings[] | select(.rule == "hook-unsafe") | .message | test("post-offline/10: others")' true
hrun --socket 1 --dry-run
status "one that others can write, dry run" 3
chmod 755 "$t/etc/cpuoff/hooks.d/post-offline/10"
chmod 777 "$t/etc/cpuoff"
hrun --socket 1
is "a directory that others can write" "3 " "$rc $(notes)"
err_says "a directory that others can write" '/etc/cpuoff: others than root can write it'
hrun --list --cpu 1
status "--hooks-dir with --list" 2
krun --cpu 8 --hook-timeout=0
status "--hook-timeout=0" 2

done_testing
