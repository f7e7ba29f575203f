# SPDX-License-Identifier: BSD-2-Clause
# Shared by the scripts of this directory: where things are, and how to read kernels.list.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the variables set here are for the script that sources this file

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT_DIR=$(cd "$VM_DIR/../.." && pwd)
BUILD_DIR=${BUILD:-build}
[[ $BUILD_DIR == /* ]] || BUILD_DIR=$ROOT_DIR/$BUILD_DIR
CACHE_DIR=${PINWHY_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/pinwhy}

# shellcheck source=tests/vm/arch.sh
. "$VM_DIR/arch.sh"
# shellcheck source=packaging/apt.sh
. "$ROOT_DIR/packaging/apt.sh"

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "error: $*"; exit 1; }

need() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null ||
			die "'$program' is not installed; run packaging/install-deps as root"
	done
}

# The lines of kernels.list without comments.
kernel_lines() { grep -Ev '^[[:space:]]*(#|$)' "$VM_DIR/kernels.list"; }
kernel_names() { kernel_lines | awk '{ print $1 }'; }

# Sets K_NAME K_SUITE K_META K_ARCH K_MEM K_ARGS from the line called $1, and what arch_load() does.
kernel_load() {
	local line
	line=$(kernel_lines | awk -v name="$1" '$1 == name' | head -n 1)
	[[ -n $line ]] || die "no kernel is called '$1'; tests/vm/kernels.list has: $(kernel_names | xargs)"
	read -r K_NAME K_SUITE K_META K_ARCH K_MEM K_ARGS <<<"$line"
	[[ $K_MEM =~ ^[0-9]+$ ]] || die "kernels.list, line '$1': memory_MiB is '$K_MEM', not a number"
	arch_load "$K_ARCH"
}

# Which kernel release the suite's meta-package gave when it was fetched. The name changes with the list of
# modules that fetch keeps, so that a kernel that lacks a new one is fetched again.
release_file() {
	local kept
	kept=$(sed -n '/^keep_modules=(/,/^)/p' "$VM_DIR/fetch" | sha256sum | cut -c 1-8)
	printf '%s/kernels/%s.%s.%s.%s.release\n' "$CACHE_DIR" "$K_SUITE" "$K_META" "$K_ARCH" "$kept"
}

# Sets K_RELEASE and K_DIR when the loaded kernel is in the cache, else returns 1.
kernel_cached() {
	local file
	file=$(release_file)
	[[ -s $file ]] || return 1
	K_RELEASE=$(<"$file")
	K_DIR=$CACHE_DIR/kernels/$K_RELEASE
	[[ -f $K_DIR/vmlinuz && -f $K_DIR/lib/modules/$K_RELEASE/modules.dep ]]
}

# As kernel_cached, but fetches what is missing.
kernel_need() {
	kernel_cached && return
	"$VM_DIR/fetch" "$K_NAME"
	kernel_cached || die "fetch finished, but the kernel is not in $CACHE_DIR/kernels"
}
