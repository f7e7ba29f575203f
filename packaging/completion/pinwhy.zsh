#compdef pinwhy
# SPDX-License-Identifier: BSD-2-Clause
# Completion for zsh. As for bash, the program itself is asked for commands, options and words.

_pinwhy() {
	local program=$words[1] command=$words[2] argument line
	local -a found
	if ((CURRENT == 2)); then
		found=(${(f)"$($program --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
		_describe command found
		return
	fi
	if [[ $command == trace && ${words[(Ie)--]} -gt 0 && ${words[(Ie)--]} -lt CURRENT ]]; then
		shift $words[(Ie)--] words
		((CURRENT = $#words))
		_normal
		return
	fi
	# "--option:what it does" and, of one that takes an argument, "--option ARGUMENT".
	found=(${(f)"$($program $command --help 2>/dev/null | sed -nE 's/^ +((-[a-z]), +)?(--[a-z-]+)(( |=)([^ ]+))?  *([^ ].*)$/\3:\7/p')"})
	argument=$($program $command --help 2>/dev/null | sed -nE "s/^ +(.*, +)?${words[CURRENT - 1]}( |=)([^ ]+)( .*)?$/\3/p; s/^ +${words[CURRENT - 1]}, +--[a-z-]+ ([^ ]+)( .*)?$/\1/p" | head -n 1)
	if [[ -z $argument && $words[CURRENT] == -* ]]; then
		_describe option found
		return
	fi
	if [[ -z $argument ]]; then
		case $command in
		explain|replay) argument=FILE ;;
		pages) argument=PID ;;
		causes) argument=ID ;;
		esac
	fi
	case $argument in
	*[a-z]'|'*[a-z]) compadd -- ${(s:|:)argument} ;;
	FILE|PACK|PATH*) _files ;;
	PID) _pids ;;
	ID) compadd -- ${(f)"$($program causes 2>/dev/null | sed -n 's/^\([a-z][a-z0-9_]*\) .*/\1/p')"} ;;
	esac
}

_pinwhy "$@"
