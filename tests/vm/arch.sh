# SPDX-License-Identifier: BSD-2-Clause
# What guests of each architecture are made with; sourced by common.sh. One column of the table is one architecture:
# a kernel of kernels.list says which.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the variables set here are for the script that sources this file

HOST_ARCH=$(dpkg --print-architecture)

# pauth-impdef: the architecture's own way to sign pointers costs an emulated processor half its speed.
declare -A ARCH_QEMU=([amd64]=qemu-system-x86_64 [arm64]=qemu-system-aarch64)
declare -A ARCH_MACHINE=([amd64]=pc [arm64]=virt)
declare -A ARCH_CPU=([amd64]=max [arm64]="max,pauth-impdef=on")
# What only costs under emulation: string instructions, which are carried out byte by byte, and the fifth level of page tables.
declare -A ARCH_CHEAP=([amd64]=",-erms,-fsrm,-la57" [arm64]="")
declare -A ARCH_CONSOLE=([amd64]=ttyS0 [arm64]=ttyAMA0)
declare -A ARCH_TRIPLET=([amd64]=x86_64-linux-gnu [arm64]=aarch64-linux-gnu)
# The kernel's own name for it.
declare -A ARCH_KERNEL=([amd64]=x86 [arm64]=arm64)

# Sets A_QEMU A_MACHINE A_CPU A_CHEAP (to be added to it) A_CONSOLE A_TRIPLET A_KERNEL, A_FOREIGN (yes: not this host's), A_BUILD (what make built for it)
# and A_ROOT, where its libraries and programs are: "" = this host's own.
arch_load() {
	local arch=$1
	[[ -n ${ARCH_QEMU[$arch]-} ]] || die "architecture '$arch' of kernel '$K_NAME' is none of tests/vm/arch.sh: ${!ARCH_QEMU[*]}"
	A_QEMU=${ARCH_QEMU[$arch]} A_MACHINE=${ARCH_MACHINE[$arch]} A_CPU=${ARCH_CPU[$arch]}
	A_CHEAP=${ARCH_CHEAP[$arch]}
	A_CONSOLE=${ARCH_CONSOLE[$arch]} A_TRIPLET=${ARCH_TRIPLET[$arch]} A_KERNEL=${ARCH_KERNEL[$arch]}
	A_FOREIGN=no A_BUILD=$BUILD_DIR A_ROOT=''
	[[ $arch != "$HOST_ARCH" ]] || return 0
	A_FOREIGN=yes A_BUILD=$BUILD_DIR/$arch
	A_ROOT=$("$ROOT_DIR/packaging/sysroot" --path "$arch")
}

# Makes sure that A_ROOT is there.
arch_need() {
	[[ $A_FOREIGN == no || -d $A_ROOT ]] || "$ROOT_DIR/packaging/sysroot" "$K_ARCH" >/dev/null
}

# The libraries and the loader of each program or library given, one a line. ldd would run the loader, which is for another
# processor: the names are followed here.
foreign_libraries() {
	local todo=("$@") file name path
	local -A seen=()
	while ((${#todo[@]})); do
		file=${todo[0]}
		todo=("${todo[@]:1}")
		while read -r name; do
			[[ -z ${seen[$name]-} ]] || continue
			seen[$name]=1
			path=$(foreign_library "$name") || die "a library of ${file##*/} is not in the sysroot: $name; add its package to packaging/cross.list"
			printf '%s\n' "$path"
			todo+=("$path")
		done < <(needed_of "$file")
	done
}

# What $1 asks for: its interpreter, by its path, and the names of libraries.
needed_of() {
	LC_ALL=C readelf -ld "$1" 2>/dev/null | sed -nE 's/.*Requesting program interpreter: ([^]]+)\].*/\1/p; s/.*\(NEEDED\).*\[(.+)\]$/\1/p'
}

foreign_library() {
	local dir
	if [[ $1 == /* ]]; then
		[[ -e $A_ROOT$1 ]] && printf '%s\n' "$A_ROOT$1"
		return
	fi
	for dir in "$A_ROOT/usr/lib/$A_TRIPLET" "$A_ROOT/usr/lib"; do
		[[ ! -e $dir/$1 ]] || { printf '%s\n' "$dir/$1"; return; }
	done
	return 1
}
