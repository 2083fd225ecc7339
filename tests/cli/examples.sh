# SPDX-License-Identifier: GPL-2.0-or-later
# examples.sh - the hooks that are examples, with programs that only note how they were called
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

hooks=$abs_top_srcdir/share/examples/hooks
bin=$work/bin
mkdir -p "$bin"
calls=$work/calls

# fake NAME LINE... - a program that notes its call, and then does these lines
fake() {
	fake_file=$bin/$1
	{
		printf '%s\n' '#!/bin/sh' "echo \"$1 \$*\" >>$calls"
		shift
		printf '%s\n' "$@"
	} >"$fake_file"
	chmod 755 "$fake_file"
}

fake hostname 'echo Node7'

# ---- Slurm -----------------------------------------------------------------------------------

# slurm_node STATE REASON
slurm_node() {
	fake scontrol "[ \"\$2\" != show ] || echo 'NodeName=Node7 State=$1 Reason=$2'"
}

# example NAME HOOK VARIABLE... - run it as cpuoff does; what it called is in $called
example() {
	: >"$calls"
	example_name=$1
	example_hook=$2
	last="$*"
	shift 2
	rc=0
	env -i PATH="$bin:/usr/bin:/bin" CPUOFF_HOOK="$example_hook" CPUOFF_OPERATION_ID=20261130-120000 \
		CPUOFF_CPUS=8-11 CPUOFF_OFFLINE= "$@" "$hooks/$example_name" </dev/null >"$out" 2>"$err" || rc=$?
	called=$(grep -v '^hostname' "$calls" | paste -sd'|')
}

show="scontrol --oneliner show node Node7"
slurm_node IDLE none
example slurm pre-offline
is "Slurm: drained" "0 $show|scontrol update NodeName=Node7 State=DRAIN Reason=cpuoff 20261130-120000: CPUs 8-11" "$rc $called"
slurm_node IDLE+DRAIN 'bad disk'
example slurm pre-offline
is "Slurm: drained by somebody else" "0 $show" "$rc $called"
example slurm post-restore CPUOFF_RESULT=done
is "Slurm: and not resumed" "0 $show" "$rc $called"
slurm_node IDLE+DRAIN 'cpuoff 20261130-120000'
example slurm post-offline CPUOFF_RESULT=done CPUOFF_OFFLINE=8-11
is "Slurm: off" "0 " "$rc $called"
example slurm post-offline CPUOFF_RESULT=failed
is "Slurm: put back" "0 $show|scontrol update NodeName=Node7 State=RESUME" "$rc $called"
example slurm post-offline CPUOFF_RESULT=failed CPUOFF_OFFLINE=8
is "Slurm: not all could be put back" "0 " "$rc $called"
example slurm post-restore CPUOFF_RESULT=done CPUOFF_OFFLINE=10-11
is "Slurm: some are back" "0 " "$rc $called"
example slurm post-restore CPUOFF_RESULT=done
is "Slurm: all are back" "0 $show|scontrol update NodeName=Node7 State=RESUME" "$rc $called"
slurm_node IDLE none
fake scontrol '[ "$1" != update ] || exit 1' 'echo NodeName=Node7 State=IDLE'
example slurm pre-offline
ok "Slurm: what scontrol refuses is a failure" test "$rc" -ne 0
sed 's/^wait_for_jobs=no/wait_for_jobs=yes/' "$hooks/slurm" >"$work/slurm"
ok "Slurm: it can wait for jobs" grep -q wait_for_jobs=yes "$work/slurm"

# ---- Kubernetes ------------------------------------------------------------------------------

# kubernetes_node UNSCHEDULABLE ANNOTATION
kubernetes_node() {
	fake kubectl "case \$* in *.spec.unschedulable*) printf %s '$1' ;; *annotations.cpuoff}*) printf %s '$2' ;; esac"
}

get='kubectl get node node7 --output jsonpath='
kubernetes_node '' ''
example kubernetes pre-offline
is "Kubernetes: cordoned" \
	"0 $get{.spec.unschedulable}|kubectl annotate node node7 --overwrite cpuoff=20261130-120000|kubectl cordon node7" \
	"$rc $called"
kubernetes_node true ''
example kubernetes pre-offline
is "Kubernetes: cordoned by somebody else" "0 $get{.spec.unschedulable}" "$rc $called"
example kubernetes post-restore CPUOFF_RESULT=done
is "Kubernetes: and not uncordoned" "0 $get{.metadata.annotations.cpuoff}" "$rc $called"
kubernetes_node true 20261130-120000
example kubernetes post-offline CPUOFF_RESULT=done CPUOFF_OFFLINE=8-11
is "Kubernetes: off" "0 " "$rc $called"
back="$get{.metadata.annotations.cpuoff}|kubectl uncordon node7|kubectl annotate node node7 cpuoff-"
example kubernetes post-offline CPUOFF_RESULT=failed
is "Kubernetes: put back" "0 $back" "$rc $called"
example kubernetes post-restore CPUOFF_RESULT=done
is "Kubernetes: all are back" "0 $back" "$rc $called"
fake kubectl 'exit 1'
example kubernetes pre-offline
ok "Kubernetes: what kubectl refuses is a failure" test "$rc" -ne 0

# ---- libvirt ---------------------------------------------------------------------------------

fake virsh 'case $* in *list*) printf "web\ndata base\n\n" ;; *web*) printf " 0       8-9\n 1       7-8,12\n 2       0-7\n" ;;' \
	'*) printf "   0: 11\n" ;; esac'
example libvirt pre-offline
is "libvirt: its status" 0 "$rc"
is "libvirt: what is pinned to CPUs that go" \
	"web: virtual CPU 0 is pinned to 8-9: all of them go|web: virtual CPU 1 is pinned to 7-8,12: 1 of 3 go|data base: virtual CPU 0 is pinned to 11: all of them go" \
	"$(paste -sd'|' "$out")"

# ---- through cpuoff --------------------------------------------------------------------------

tree_2s examples
slurm_node IDLE none
mkdir -p "$t/etc/cpuoff/hooks.d/pre-offline"
printf '%s\n' '#!/bin/sh' "PATH=$bin:\$PATH exec $hooks/slurm" >"$t/etc/cpuoff/hooks.d/pre-offline/50-slurm"
chmod 755 "$t/etc/cpuoff/hooks.d/pre-offline/50-slurm"
: >"$calls"
krun --hooks-dir=/etc/cpuoff/hooks.d --socket 1
is "through cpuoff" "0 0-7,16-23" "$rc $(online)"
err_says "through cpuoff" 'cpuoff: pre-offline/50-slurm: node Node7 is drained'
ok "through cpuoff: the CPUs" grep -q 'CPUs 8-15,24-31' "$calls"

done_testing
