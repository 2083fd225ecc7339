# SPDX-License-Identifier: GPL-2.0-or-later
# selection.sh - what each selector means, alone and together, on machines of many shapes
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# means EXPECTED SELECTION... - the selection resolves to these CPUs
means() {
	means_cpus=$1
	shift
	run --list --json "$@"
	is "$shape: $* is $means_cpus" "0 $means_cpus" "$rc $(json .selection.cpus)"
}

# wrong PATTERN SELECTION... - the selection is refused as such, the message names what exists
wrong() {
	wrong_pattern=$1
	shift
	freeze
	run "$@"
	if [ "$rc" -eq 2 ] && says "$err" "$wrong_pattern" && [ ! -s "$out" ] &&
		[ "$(traces)" = "$frozen_traces" ]; then
		result 0 "$shape: $* is refused, naming $wrong_pattern"
	else
		result 1 "$shape: $* is refused, naming $wrong_pattern"
	fi
}

# ---- the usual server ------------------------------------------------------------------------

shape="2 sockets, threads last"
tree_2s
means 8-15,24-31 --socket 1
means 8-15,24-31 --socket=1
means 8-15,24-31 -s 1
means 8-15,24-31 -s1
means 0-31 --socket 0,1
means 0-31 --socket 0-1
means 0-31 --socket 0 --socket 1
means 0-7,16-23 --node 0
means 8-15,24-31 -n 1
means 3,5 --cpu 3,5
means 3-5,30 -c 3-5,30
means 0,2,4,6 --cpu 0-7:2
means 0,4,8,10 --cpu 0-7:4,8-11:2
means 0-1,4-5 --cpu 0-7:2/4
means 16-31 --smt
means 16-31 -t
means 8,24 --core-of 8
means 8,24 --core-of 24
means 8-9,24-25 --core-of 8-9
means 8-15,24-31 --l3-of 30
means 0-31 --l3-of 0,8
means 9,25 --core 1:1
means 8-11,24-27 --core 1:0-3
means 8,10,24,26 --core 1:0-3:2
means 8,10,24,26 -C 1:0,2
means 8-15,24-31 --die 1:0
means 0-31 --die 0:0 --die 1:0
means 4,8-15,24-31 --socket 1 --cpu 4
means 8-15,24-31 --socket 1 --node 1
means 8-10,12-15,24-31 --socket 1 --except 11
means 8-14,24-30 --socket 1 -x 15 -x 31
means 8-15,24-31 --except 0-7 --socket 1
means 9-15,25-31 --socket 1 --except 8,24
means 24-31 --socket 1 --smt
means 24-31 --smt --socket 1
means 20,24-31 --smt --socket 1 --cpu 4,20
means 16-23,25-31 --smt --except 24
means 25 --core-of 9 --smt

wrong '0-1' --socket 2
wrong '0-1' --socket 1,7
wrong '0-1' --node 2
wrong '0-31' --cpu 32
wrong '32' --cpu 30-33
wrong '0-31' --core-of 40
wrong '0-31' --l3-of 40
wrong 'socket' --core 1
wrong 'socket' --core 1-2
wrong 'socket' --die 0
wrong '0-7' --core 1:8
wrong '.' --core 2:0
wrong '.' --die 1:3
wrong 'empty|no CPU|nothing' --cpu 5 --except 5
wrong 'empty|no CPU|nothing' --socket 1 --except 8-15,24-31
wrong 'empty|no CPU|nothing' --cpu 3 --smt
wrong '.' --except 5

# An --except that names what does not exist is an error too
wrong '0-31' --socket 1 --except 99

# ---- dies and several nodes a socket ---------------------------------------------------------

shape="2 dies and 2 nodes a socket, linear"
tree dies --sockets 2 --dies 2 --nodes 2 --cores 4 --threads 2
means 8-15 --socket 1
means 4-7 --node 1
means 8-11 --node 2
means 4-7,12-15 --node 1,3
means 4-7 --die 0:1
means 8-15 --die 1:0-1
means 4-7 --l3-of 5
means 1,3,5,7,9,11,13,15 --smt
means 13,15 --smt --node 3
means 14-15 --core 1:3
means 14-15 --core-of 15
wrong '0-3' --node 4

# ---- one socket: no socket is needed before the colon ----------------------------------------

shape="1 socket"
tree one --sockets 1 --dies 2 --cores 8
means 4-7 --die 1
means 4-7 --die 0:1
means 3 --core 3
means 0,2,4 --core 0-4:2
means 0,2,4 --core 0:0-4:2
means 2,4,6 --core 2-6:2

# ---- sockets interleaved, ids that are not 0..n ----------------------------------------------

shape="4 sockets interleaved, sparse ids"
tree interleaved --sockets 4 --cores 4 --numbering interleaved --socket-ids 0,2,36,8442 --node-ids 0,1,33,72
means 1,5,9,13 --socket 2
means 2,6,10,14 --socket 36
means 3,7,11,15 --socket 8442
means 2,6,10,14 --node 33
means 1,3,5,7,9,11,13,15 --node 1,72
wrong '0,2,36,8442' --socket 1
wrong '0-1,33,72' --node 2
wrong '.' --smt

# ---- numbers with holes ----------------------------------------------------------------------

shape="holes in the CPU numbers"
tree holes --sockets 2 --cores 8 --holes 4-5,12-19 --possible 64
means 10-11,20-25 --socket 1
means 10-11,20-25 --node 1
means 0-3,6 --cpu 0-3,6
wrong '4' --cpu 3-4
wrong '12-19' --cpu 10-20
wrong '40' --cpu 40

# ---- a node with memory alone ----------------------------------------------------------------

shape="memory-only node"
tree memory --sockets 2 --cores 4 --memory-node
means 4-7 --node 1
freeze
run --node 2
status "$shape: --node 2" 3
err_says "$shape: --node 2" 'node 2 has no CPU'
untouched "$shape: --node 2"
run --node 0,2 --dry-run
status "$shape: --node 0,2" 3

# ---- what kernels and their copies leave out -------------------------------------------------

shape="files end in NUL"
tree nul --sockets 2 --cores 8 --threads 2 --numbering threads-last --nul
means 8-15,24-31 --socket 1
means 8-15,24-31 --node 1
means 16-31 --smt
means 8-15,24-31 --l3-of 9

shape="masks, no lists"
tree masks --sockets 2 --cores 20 --threads 2 --numbering threads-last --masks-only
means 20-39,60-79 --socket 1
means 20-39,60-79 --node 1
means 40-79 --smt
means 39,79 --core-of 79
means 20-39,60-79 --l3-of 20

shape="no NUMA"
tree uma --sockets 2 --cores 4 --nodes 0
means 4-7 --socket 1
wrong 'node' --node 0

shape="no socket ids"
tree noids --sockets 2 --cores 4 --no-ids
means 4-7 --node 1
wrong 'socket' --socket 0
wrong 'socket' --socket 1
freeze
run --socket -1
status "$shape: --socket -1" 2
untouched "$shape: --socket -1"

# ---- some are offline already ----------------------------------------------------------------

shape="first threads offline"
tree_2s off --offline 8,9
means 16-23,26-31 --smt
means 10-15,24-31 --socket 1
run --list --json --socket 1
ok "$shape: a note says that 8-9 are offline" says "$err" '8-9'

run --cpu 8-10 --dry-run --json
verdict "$shape: 8-10, 8-9 being off" 0 ready as-before
json_is "$shape: 8-10" '.target.cpus + " " + .target.already_offline' "10 8-9"
is "$shape: only 10 is planned" 10 "$(steps_of)"
run --cpu 8-9 --json
verdict "$shape: 8-9 are off" 0 nothing-to-do as-asked
json_is "$shape: 8-9" .target.already_offline 8-9

shape="a socket all offline"
tree_2s alloff --offline 8-15,24-31
wrong '8-15,24-31|0' --socket 1
run --node 1
ok "$shape: --node 1 is never done" test "$rc" -eq 2 -o "$rc" -eq 3

shape="an SMT server with SMT off"
tree_2s smtoff --offline 16-31 --smt off
means 8-15 --socket 1
run --list --json --socket 1
ok "$shape: a note says that 16-31 are offline" says "$err" '16-31'

# ---- the plan of a selection -----------------------------------------------------------------

shape="plan"
tree_2s plan
freeze
run --dry-run --json --socket 1 --cpu 4 --except 9
verdict "$shape" 0 ready as-before
json_is "$shape" .target.cpus 4,8,10-15,24-31
json_is "$shape" .target.count 16
json_is "$shape" .survivors.cpus 0-3,5-7,9,16-23
json_is "$shape" .survivors.count 16
json_is "$shape" '[.target.selectors[] | select(.kind == "socket") | .id + " " + .cpus] | join("/")' '1 8-15,24-31'
json_is "$shape" '[.target.selectors[] | select(.kind == "cpu") | .id + " " + .cpus] | join("/")' '4 4'
json_is "$shape" .method sequential
is "$shape: every CPU once, highest first" "$(expand_down 4,8,10-15,24-31)" "$(steps_of)"
untouched "$shape"
run --dry-run --socket 1
ok "$shape: the text, to the letter" cmp "$out" "$here/expected/plan"

done_testing
