# SPDX-License-Identifier: GPL-2.0-or-later
# completions.sh - bash, zsh and fish complete options, values, and what the machine has
# shellcheck disable=SC2016,SC2119,SC2317

. "${abs_top_srcdir:-.}/tests/cli/lib.sh"

completions=$abs_top_srcdir/completions
PATH=$(dirname "$CPUOFF"):$PATH
export PATH completions

# ---- the shells --------------------------------------------------------------------------------

# Each prints what it offers for a command line, a line each; a description follows a tab.
# bash has none, but where it lists: with "list" as a second argument

in_bash() {
	bash --norc -c '
		. "$completions/cpuoff"
		# As readline splits it
		read -ra COMP_WORDS <<<"${1//=/ = }"
		[[ $1 != *[\ =] ]] || { [[ $1 == *= ]] || COMP_WORDS+=(""); }
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
		[[ ${2-} != list ]] || COMP_TYPE=63
		_cpuoff
		((! ${#COMPREPLY[@]})) || printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

in_fish() {
	fish --no-config -c 'source $completions/cpuoff.fish; complete -C $argv[1]' "$1"
}

# zsh completes in its line editor alone, which wants a terminal
in_zsh() {
	rm -f "$work/offers"
	zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "fpath=($completions \$fpath); autoload -Uz compinit; compinit -D -u"
		zpty -w shell "zstyle \":completion:*\" verbose yes; zstyle \":completion:*\" list-separator //"
		zpty -w shell "offers=$1/offers; . $1/catch"
		zpty -n -w shell "$2"$'\''\t'\''
		for ((i = 0; i < 300; i++)); do
			sleep 0.1
			# so that the terminal does not fill up
			while zpty -r -t shell seen; do
				[[ -z $CPUOFF_DEBUG ]] || print -rn -- $seen >&2
			done
			[[ ! -e $1/offers.done ]] || break
		done
		zpty -d shell' zsh "$work" "$1" >/dev/null 2>&1
	[ -e "$work/offers.done" ] || note "zsh has not answered"
	rm -f "$work/offers.done"
	[ ! -e "$work/offers" ] || cat "$work/offers"
}
cat >"$work/catch" <<'ZSH'
# What is added to the list of choices, with its description where there is one
compadd() {
	local -a hits texts
	local tab=$'\t'
	local -i at=${@[(I)-d]}
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	(( at )) && texts=("${(@P)${@[at+1]}}")
	builtin compadd -A hits -D texts "$@"
	local -i i
	for ((i = 1; i <= $#hits; i++)); do
		print -r -- "$hits[i]${texts[i]:+${tab}$texts[i]}" >>$offers
	done
	builtin compadd "$@"
}
tell() {
	zle complete-word
	: >$offers.done
}
zle -N tell
bindkey '^I' tell
ZSH

# offers DESCRIPTION SHELL LINE WORD... - that these are offered, whole or as the end of a whole line
offers() {
	offers_what="$2: $1"
	offers_of=$2
	in_"$2" "$3" >"$out" 2>"$err"
	rc=$? last="$offers_of: $3"
	shift 3
	offers_missing=
	for word; do
		sed 's/\t.*//' "$out" | grep -q -x -e "$word" || offers_missing="$offers_missing $word"
	done
	is "$offers_what" '' "$offers_missing"
}

# refuses DESCRIPTION SHELL LINE WORD - what is not offered
refuses() {
	in_"$2" "$3" >"$out" 2>"$err"
	rc=$? last="$2: $3"
	ok "$2: $1" not grep -q -x -e "$4" "$out"
}

# ---- what they offer ---------------------------------------------------------------------------

tree_2s
cp -a "$t" "$work/whole"
krun --socket 1 --persist --json
first=$(json .operation)
krun --cpu 4,20 --json
second=$(json .operation)
at="cpuoff --sysroot=$t"
whole="cpuoff --sysroot=$work/whole"

for shell in bash zsh fish; do
	if ! command -v $shell >/dev/null; then
		skip "$shell: completes" "$shell is not installed"
		continue
	fi
	if [ $shell = zsh ] && ! [ -e /dev/pts/ptmx ]; then
		skip "zsh: completes" "there are no pseudo terminals"
		continue
	fi
	case $shell in
	fish) begin='--[a-z-]*=' ;;
	*) begin= ;;
	esac
	offers "options" $shell "cpuoff --s" '--socket=\{0,1\}' --smt --status --strict --service
	refuses "no other options" $shell "cpuoff --s" '--node=*'
	offers "values" $shell "cpuoff --migrate=" "$begin"auto "$begin"partition "$begin"affinity "$begin"none
	offers "sockets" $shell "$whole --socket=" "${begin}0" "${begin}1"
	refuses "no socket that is not there" $shell "$whole --socket=" "${begin}2"
	offers "the last one of a list" $shell "$at --cpu=3,1" ".*1[0-5]*"
	offers "CPUs" $shell "$at --cpu=" "${begin}0" "${begin}31"
	refuses "no CPU that is not there" $shell "$at --cpu=" "${begin}32"
	offers "nodes" $shell "$whole --node=" "${begin}0" "${begin}1"
	offers "operations" $shell "$at --restore=" "$begin$first" "$begin$second" "${begin}all"
	is "$shell: one that is recorded once" 1 "$(grep -c -e "$first\($\|[^-]\)" "$out")"
	case $shell in
	bash)
		in_bash "$at --restore=" list >"$out"
		ok "bash: lists operations with their CPUs" grep -q -x -e "$second  (CPUs 4,20)" "$out"
		in_bash "$at --restore=$second" list >"$out"
		is "bash: writes no CPUs" "$second" "$(cat "$out")"
		;;
	*)
		ok "$shell: operations with their CPUs" grep -q -e "$second	.*CPUs 4,20" "$out"
		ok "$shell: the first one's as well" grep -q -e "$first	.*CPUs 8-15,24-31" "$out"
		;;
	esac
done

done_testing
