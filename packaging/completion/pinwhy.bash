# SPDX-License-Identifier: BSD-2-Clause
# Completion for bash. Commands, options and the words that an option takes are those that the program itself tells of, so that
# they are never old.
# shellcheck shell=bash

# Commands, one a line.
_pinwhy_commands() { "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

# "--option" or "--option ARGUMENT" of a command, one a line.
_pinwhy_options() {
	"$1" "$2" --help 2>/dev/null |
		sed -nE 's/^ +((-[a-z]), +)?(--[a-z-]+)(( |=)([^ ]+))?.*/\3 \6\n\2 \6/p; s/^ +(-[a-z]) ([A-Z]+) .*/\1 \2/p' | grep -E '^-' | sort -u
}

# What may stand in the place of an argument that a help text calls so.
_pinwhy_argument() {
	local program=$1 argument=$2 word=$3
	case $argument in
	*[a-z]\|*[a-z]) compgen -W "${argument//|/ }" -- "$word" ;;
	WHEN) compgen -W 'auto always never' -- "$word" ;;
	FILE | PACK | PATH*) compgen -f -- "$word" ;;
	PID) compgen -W "$(cd /proc && printf '%s\n' [0-9]*)" -- "$word" ;;
	NAME) compgen -W "$(cat /proc/[0-9]*/comm 2>/dev/null)" -- "$word" ;;
	COMMAND) compgen -c -- "$word" ;;
	ID) compgen -W "$("$program" causes 2>/dev/null | sed -n 's/^  *\([a-z][a-z0-9_]*\) .*/\1/p; s/^\([a-z][a-z0-9_]*\) .*/\1/p')" -- "$word" ;;
	esac
}

# The argument that an option takes, or nothing.
_pinwhy_takes() { sed -n "s/^$2 //p" <<<"$1" | head -n 1; }

# What a command takes that is no option.
_pinwhy_operand() {
	case $1 in
	explain | replay) echo FILE ;;
	pages) echo PID ;;
	causes) echo ID ;;
	esac
}

# "--color=al" arrives in three words when = divides words, as it does by default.
_pinwhy() {
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local options argument i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$(_pinwhy_commands "$program") --help --version" -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ $command == trace && ${COMP_WORDS[i]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else mapfile -t COMPREPLY < <(compgen -c -- "$word"); fi
		return
	done
	options=$(_pinwhy_options "$program" "$command")
	if [[ $word == = ]]; then
		word=''
	elif [[ $before == = ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	argument=$(_pinwhy_takes "$options" "$before")
	if [[ -z $argument && $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(sed 's/ .*//' <<<"$options")" -- "$word")
		return
	fi
	mapfile -t COMPREPLY < <(_pinwhy_argument "$program" "${argument:-$(_pinwhy_operand "$command")}" "$word")
}
complete -o bashdefault -F _pinwhy pinwhy
