# SPDX-License-Identifier: BSD-2-Clause
# Shared by the scripts that fetch Debian packages of other suites and architectures: where the archive
# is, and an apt of their own, so that the system's apt never notices.
# shellcheck shell=bash

# trixie-backports and trixie-security are built on trixie.
base_suite() { sed -E 's/-(backports|security|updates)$//' <<<"$1"; }

# The address of a Debian archive that this machine's apt already uses: $1 is a pattern that the
# codename must match. Other suites of the same archive live beside it, so no address is kept here.
archive_site() {
	# shellcheck disable=SC2016  # apt fills these in
	apt-get indextargets --format '$(SITE) $(CODENAME)' 'Identifier: Packages' 'Origin: Debian' 2>/dev/null |
		awk -v pattern="$1" '$2 ~ pattern { print $1; exit }'
}

# sources.list lines for suite $1: its base, the base's security updates, and the suite itself.
sources_for() {
	local suite=$1 base site security options='' key=/usr/share/keyrings/debian-archive-keyring.gpg
	base=$(base_suite "$suite")
	site=${PINWHY_ARCHIVE:-$(archive_site '^[a-z]+$')}
	[[ -n $site ]] || die "apt names no Debian archive ('apt-get indextargets' is empty); run 'apt-get update', or set PINWHY_ARCHIVE to the archive's base address"
	[[ ! -f $key ]] || options="[signed-by=$key] "
	printf 'deb %s%s %s main\n' "$options" "$site" "$base"
	[[ $suite == "$base" ]] || printf 'deb %s%s %s main\n' "$options" "$site" "$suite"
	security=$(archive_site '-security$')
	[[ -z $security ]] || printf 'deb %s%s %s-security main\n' "$options" "$security" "$base"
}

# apt with lists, cache and preferences of its own below directory $1, for architecture $2.
# status=/dev/null: what is installed here must not change which package is the newest.
private_apt() {
	local dir=$1 arch=$2 program=$3
	shift 3
	"$program" -q \
		-o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences="$dir/preferences" -o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State::Lists="$dir/lists" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$dir/cache" -o Debug::NoLocking=1 \
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# Reads the package lists of suite $3 for private_apt "$1" "$2".
private_apt_prepare() {
	local dir=$1 arch=$2 suite=$3
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	sources_for "$suite" >"$dir/sources.list"
	# A backports suite ranks below its base unless told otherwise; equal ranks mean newest wins.
	printf 'Package: *\nPin: release n=%s\nPin-Priority: 500\n' "$suite" >"$dir/preferences"
	say "$suite: reading the package lists of $arch"
	private_apt "$dir" "$arch" apt-get update --error-on=any >"$dir/log" 2>&1 || {
		tail -n 5 "$dir/log" >&2
		die "cannot read the package lists of $suite; is the network there, and does the archive carry this suite?"
	}
}
