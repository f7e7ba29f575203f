# SPDX-License-Identifier: BSD-2-Clause
# completion.zsh BUILD FOLDER: types words and a tab into a zsh that has the completion of FOLDER/_pinwhy, and prints PASS or FAIL for
# each of them.
zmodload zsh/zpty

# Reads until $1 has appeared, for 20 seconds at most; what else came is in $shown.
wait_for() {
	local part i
	shown=
	for i in {1..200}; do
		while zpty -r -t z part; do shown+=$part; done
		[[ $shown != *$1* ]] || return 0
		sleep 0.1
	done
	return 1
}

# completes TYPED WANTED: as the line then reads.
completes() {
	zpty -w -n z "$1"$'\t'
	if wait_for "$2"; then print -r -- "PASS $1"; else print -r -- "FAIL zsh, behind '$1': ${(V)shown} instead of '$2'"; fi
	# An empty line, and a word to see that it has come.
	zpty -w -n z $'\x15'
	zpty -w z 'echo ne''xt'
	wait_for next
}

zpty z zsh -f -i
zpty -w z "PS1=; PATH=$1:\$PATH; fpath=($2 \$fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy"
wait_for ready || print "FAIL zsh does not start"
completes 'pinwhy doct' 'pinwhy doctor'
completes 'pinwhy run --form' 'pinwhy run --format'
completes 'pinwhy run --format j' 'pinwhy run --format json'
completes 'pinwhy explain --fu' 'pinwhy explain --full'
completes 'pinwhy causes rlimit_memlock_z' 'pinwhy causes rlimit_memlock_zero_no_cap'
completes 'pinwhy replay READM' 'pinwhy replay README.md'
completes 'pinwhy run -c packaging/deps.l' 'pinwhy run -c packaging/deps.list'
completes 'pinwhy trace -- lslogi' 'pinwhy trace -- lslogins'
zpty -d z
