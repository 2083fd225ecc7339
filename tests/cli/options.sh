# SPDX-License-Identifier: GPL-2.0-or-later
# options.sh - the command line: what is an error, what is help, and one JSON document whatever happens
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

# usage PATTERN ARG... - exit status 2, a message, nothing done, in text and in JSON
usage() {
	usage_pattern=$1
	shift
	usage_name="cpuoff $*"
	rm -rf "$t/run"
	freeze
	krun "$@"
	status "$usage_name" 2
	err_says "$usage_name" "$usage_pattern"
	ok "$usage_name: nothing on stdout" not test -s "$out"
	krun --json "$@"
	verdict "$usage_name" 2 invalid as-before
	untouched "$usage_name"
	ok "$usage_name: no state directory" not test -e "$t/run"
}

tree_2s

# ---- words -----------------------------------------------------------------------------------

usage 'select' # nothing at all is not everything
usage 'no-such-option' --no-such-option
usage '.' -Z
usage 'sock' --sock=1 # no abbreviations: a later option must not change what a script means
usage '1' -socket 1
usage 'word' --cpu 31 word
usage '7' --restore 7
usage '1' 1
usage '31' --cpu 30 31
usage '.' --cpu 31 -- word
usage '.' --cpu
usage '.' --socket
usage '.' --dry-run
usage '.' --json=yes --cpu 31

# ---- lists -----------------------------------------------------------------------------------

for list in '' ' ' ',' 3,,4 '3,' ',3' 3- -3 3-1 '1;2' '1 2' ' 3' '3 ' 99999999999 4294967299 18446744073709551619 \
	-1 +3 0x3 3.0 all N none a 3-a 3:2 1-3:0 1-3: 1-3:-1 1-3:2: 1-3:1:1 1-3:3/2 1--3 '3
4' ٣; do
	usage '.' "--cpu=$list"
done
for list in '' 1- 'a' 99999999999 1:0 -1; do
	usage '.' "--socket=$list"
	usage '.' "--node=$list"
done
for list in '' : 1: :1 1:2:3 a:1 1:a 1,0:1 0-1:0 1:0:1 99999999999:1 -1:0; do
	usage '.' "--core=$list"
	usage '.' "--die=$list"
done
for value in '' 0 -1 1.5 a 3600001 99999999999; do
	usage 'pace' "--pace=$value" --cpu 31
done
for value in '' a .svg a.png /tmp/svg; do
	usage 'profile' "--profile=$value" --cpu 31
done
usage 'profile' --profile --list
usage 'word' --cpu 31 --profile word
usage 'measure' --measure --list
usage 'nowhere.*profile-file' --cpu 31 --profile=/nowhere/at/all.svg
usage 'pace' --pace=5 --status
usage '.' --core-of=
usage '.' --l3-of=3-1
usage '.' --socket 1 --except=
usage '.' --socket 1 --except=9-8
krun --cpu=3-1
err_says "the message names the option and the value" '3-1'
err_says "the message names the option and the value" 'cpu'

# ---- values ----------------------------------------------------------------------------------

usage 'sideways' --cpu 31 --migrate=sideways
usage 'method' --cpu 31 --method=quickly
usage 'on-error' --cpu 31 --on-error=panic
usage 'pinned' --cpu 31 --pinned=maybe
usage 'batch' --cpu 31 --batch=0
usage 'batch' --cpu 31 --batch=many
usage 'batch' --cpu 31 --batch=-4
usage 'timeout' --cpu 31 --timeout=soon
usage 'timeout' --cpu 31 --timeout=-1
usage 'timeout' --cpu 31 --timeout=nan
usage 'timeout' --cpu 31 --timeout=
usage 'timeout' --cpu 31 --timeout=1x

# ---- actions that contradict each other ------------------------------------------------------

usage '.' --list --status
usage '.' --restore --list
usage '.' --restore --status
usage '.' --restore --status --list
usage '.' --restore=all --cpu 31 word

# ---- help ------------------------------------------------------------------------------------

for option in --help '-?'; do
	run "$option"
	status "$option" 0
	out_says "$option" --socket
	ok "$option: stderr is empty" not test -s "$err"
done
for word in --socket --node --die --core --core-of --l3-of --cpu --smt --except --restore --status --list \
	--dry-run --migrate --method --on-error --timeout --no-expedite --skip-unpluggable \
	--allow-cpu0 --strict --force --wait --quiet --verbose --json --no-progress --sysroot --state-dir \
	--version --help --usage; do
	ok "--help has $word" grep -q -e "$word" "$out"
done
run --usage
status --usage 0
out_says --usage --socket
for option in --version -V; do
	run "$option"
	status "$option" 0
	out_says "$option" '^cpuoff [0-9]+\.[0-9]+'
done
rc=0
last="cpuoff --help >/dev/full"
"$CPUOFF" --help >/dev/full 2>"$err" || rc=$?
ok "--help that cannot be printed is an error" test "$rc" -ne 0

# ---- options in any order --------------------------------------------------------------------

run --dry-run --json --socket 1
cp "$out" "$work/order"
run --socket=1 --json --dry-run
ok "the order of options does not matter" cmp "$work/order" "$out"
run -s1 --dry-run --json
ok "short options" cmp "$work/order" "$out"

# ---- one document for every status -----------------------------------------------------------

# keys NAME - what every document of an operation has
keys() {
	document "$1"
	json_is "$1: keys" '[has("api_level", "action", "dry_run", "verdict", "exit_status", "machine", "operation",
		"target", "survivors", "evacuation", "method", "findings", "steps", "result", "service")] | all' true
	json_is "$1: types" '[(.target.cpus | type), (.target.count | type), (.target.already_offline | type),
		(.target.selectors | type), (.survivors.cpus | type), (.survivors.count | type), (.findings | type),
		(.steps | type), (.result.offlined | type), (.result.failed | type), (.result.seconds | type),
		(.result.per_cpu | type), (.result.tasks_moved | type), (.result.irqs_moved | type),
		(.service.safe_to_remove | type), (.service.blockers | type)] | join(" ")' \
		'string number string array string number array array string array number array number number boolean array'
	json_is "$1: findings" '[.findings[] | has("rule", "severity", "cpus", "message", "remedy")] | all' true
	json_is "$1: steps" '[.steps[] | has("kind", "lifetime", "object", "before", "after", "state")] | all' true
	json_is "$1: keys are snake_case" '[paths | .[] | strings | test("^[a-z][a-z0-9_]*$")] | all' true
	ok "$1: as the schema has it" valid "$out"
}

# valid FILE - by the parts of JSON Schema that ours uses
schema=$abs_top_srcdir/share/cpuoff/cpuoff.schema.json
valid() {
	jq -es --slurpfile schema "$schema" -f "$here/schema.jq" "$1"
}

tree_2s keys0
krun --cpu 30-31 --json
keys "status 0"
krun --cpu 30-31 --json
keys "nothing to do"
krun --cpu 28-29 --json --dry-run
keys "ready"
json_is "ready" '.operation' null
krun --status --json
ok "--status: as the schema has it" valid "$out"
krun --list --json --cpu 4
ok "--list: as the schema has it" valid "$out"
krun --restore --json --dry-run
keys "restore, ready"
krun --restore --json
keys "restore, done"
krun --restore --json
keys "restore, nothing to do"
tree_2s keys1
new_rules 'cpu30 offline EIO'
krun --cpu 30-31 --json
keys "status 1"
krun --socket 7 --json
document "status 2"
ok "status 2: as the schema has it" valid "$out"
krun --socket 0 --json
keys "status 3"
new_rules 'cpu30 offline EIO' 'cpu31 online EIO'
krun --cpu 30-31 --json
keys "status 5"
krun --restore --json
keys "status 5 of --restore"
tree_2s keys64
krun --cpu 0,31 --skip-unpluggable --json
keys "status 64"
tree_2s keys4
new_rules 'sys/* open EROFS'
krun --cpu 31 --json
keys "status 4"

# A document is one where text would be printed as well
krun --cpu 31 --dry-run --json -v
document "--json -v"
krun --cpu 31 --dry-run --json -q
document "--json -q"

done_testing
