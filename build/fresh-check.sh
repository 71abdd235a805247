#!/bin/bash
# Tries the README's commands on a fresh Debian 12: makes a minimal system with
# only gcc and apt in a folder (debootstrap), gives it this machine's Go and a
# clean clone of the last commit, and runs the commands there.
#
#   build/fresh-check.sh [--keep] [COMMAND ...]
#
# Without commands: 'build/setup && make demo', then 'make test'. Needs root, some 3 GB and
# this machine's own package sources, which are copied together with its apt
# configuration, certificates and Go settings. --keep leaves the folder there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm
keep=
if [ "${1-}" = --keep ]; then keep=yes; shift; fi
if [ $# -eq 0 ]; then set -- 'build/setup && make demo' 'make test'; fi

say() { printf 'fresh-check: %s\n' "$*"; }
die() { printf 'fresh-check: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die "needs root"
if ! command -v debootstrap >/dev/null; then
	say "installing debootstrap"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends debootstrap
fi

# The mirror is whatever this machine uses for the suite.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CREATED_BY) $(COMPONENT)' |
	awk -v suite=$suite '$2 == suite && $3 == "Packages" && $4 == "main" { print $1; exit }')
[ -n "$mirror" ] || die "this machine has no package source for Debian $suite"

fresh=$(mktemp -d "${TMPDIR:-/tmp}/cmpi-fresh.XXXXXX")
chmod 755 "$fresh" # apt fetches as a user of its own
mounts=()
clean_up() {
	for m in "${mounts[@]}"; do
		umount -R "$m" || keep=yes # what is still mounted there must not be removed
	done
	if [ -n "$keep" ]; then say "left in $fresh"; else rm -rf --one-file-system "$fresh"; fi
}
trap clean_up EXIT
mount_in() { # OPTIONS... SOURCE TARGET
	local target=${!#}
	mkdir -p "$target"
	mount "$@"
	mounts=("$target" "${mounts[@]}")
}

say "making a minimal Debian $suite with gcc"
debootstrap --variant=minbase --include=gcc,ca-certificates,git "$suite" "$fresh" "$mirror" >"$fresh.log" ||
	{ tail -20 "$fresh.log"; die "debootstrap failed"; }
rm -f "$fresh.log"

# apt there is to reach what apt here reaches.
rm -rf "$fresh/etc/apt/sources.list" "$fresh/etc/apt/sources.list.d"
cp -rL /etc/apt/sources.list.d "$fresh/etc/apt/" 2>/dev/null || true
if [ -e /etc/apt/sources.list ]; then cp -L /etc/apt/sources.list "$fresh/etc/apt/"; fi
cp -rL /etc/apt/apt.conf.d /etc/apt/preferences.d "$fresh/etc/apt/"
# Configuration that belongs to packages which are not there.
rm -f "$fresh"/etc/apt/apt.conf.d/{20packagekit,50appstream,20listchanges}
for dir in /etc/apt/keyrings /usr/share/keyrings /etc/apt/trusted.gpg.d /usr/local/share/ca-certificates /etc/ssl/certs; do
	if [ -d "$dir" ]; then mkdir -p "$fresh$dir"; cp -rL "$dir/." "$fresh$dir/" 2>/dev/null || true; fi
done
for file in /etc/resolv.conf /etc/hosts; do cp -L "$file" "$fresh$file"; done

mount_in -t proc proc "$fresh/proc"
mount_in -t sysfs -o ro sysfs "$fresh/sys"
mount_in --rbind /dev "$fresh/dev"
mount --make-rslave "$fresh/dev"
mount_in -t tmpfs tmpfs "$fresh/dev/shm"

goroot=$(go env GOROOT)
mount_in --bind -o ro "$goroot" "$fresh/usr/local/go"
git clone -q "$root" "$fresh/root/cmpi"

# What this machine needs to reach the Go module proxy, and nothing else.
environment=(HOME=/root PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in GOPROXY GOSUMDB GONOSUMDB GOFLAGS; do
	environment+=("$name=$(go env $name)")
done
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR; do
	if [ -n "${!name-}" ]; then environment+=("$name=${!name}"); fi
done

say "packages there: $(chroot "$fresh" dpkg-query -W | wc -l); make: $(chroot "$fresh" sh -c 'command -v make || echo none')"
for command in "$@"; do
	say "\$ $command"
	chroot "$fresh" /usr/bin/env -i "${environment[@]}" /bin/bash -c "cd /root/cmpi && $command" || die "failed: $command"
done
say "ok"
