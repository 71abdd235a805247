#!/bin/bash
# Runs the library between two containers that share a pool, as a CI job does:
# verification programs, then benchmarks.
#
#   ci/docker/run.sh            everything; the last line counts
#   OSU=DIR ci/docker/run.sh    the OSU micro-benchmarks in DIR (built with MPICH)
#                               instead of the repository's own
#
# Debian's docker.io and docker-compose are installed if there is no Docker, and a
# daemon is started if none runs; it is stopped again. Where no registry can be
# reached, debian:12 is made by debootstrap from this machine's package sources.
# POOL names a file or a devdax device to share (default: a file in /dev/shm);
# the pool must not be in use. Root is needed.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/ci/docker
say() { printf 'docker: %s\n' "$*"; }
die() { printf 'docker: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die "needs root"

work=$(mktemp -d /var/tmp/cmpi-docker.XXXXXX)
daemon= up= made_pool=
clean_up() {
	status=$?
	set +e
	[ -z "$up" ] || compose down -t 1 >>"$work/log" 2>&1
	if [ -n "$daemon" ]; then
		docker image rm -f cmpi-host >>"$work/log" 2>&1
		kill "$daemon"
		wait "$daemon" 2>/dev/null
		umount "$work"/exec/netns/* 2>/dev/null
	fi
	[ -z "$made_pool" ] || rm -f "$POOL"
	if [ $status -ne 0 ] && [ -s "$work/log" ]; then
		tail -30 "$work/log" >&2
	fi
	rm -rf --one-file-system "$work"
	exit $status
}
trap clean_up EXIT
trap 'exit 1' INT TERM

install() { # PACKAGE...
	say "installing $*"
	{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "$@"; } >>"$work/log" 2>&1
}

# ---- engine

command -v docker >/dev/null || install docker.io
if docker compose version >/dev/null 2>&1; then
	compose() { docker compose -p cmpi -f "$here/compose.yaml" "$@"; }
else
	command -v docker-compose >/dev/null || install docker-compose
	compose() { docker-compose -p cmpi -f "$here/compose.yaml" "$@"; }
fi
if ! docker info >/dev/null 2>&1; then
	command -v dockerd >/dev/null || install docker.io
	say "starting dockerd"
	export DOCKER_HOST=unix://$work/docker.sock
	# In a session of its own: it is needed to clean up when this script is interrupted.
	setsid dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" -H "$DOCKER_HOST" >"$work/dockerd.log" 2>&1 &
	daemon=$!
	for _ in $(seq 300); do
		docker info >/dev/null 2>&1 && break
		kill -0 $daemon 2>/dev/null || break
		sleep 0.1
	done
	docker info >/dev/null 2>&1 || { tail -5 "$work/dockerd.log" >&2; die "dockerd does not start"; }
fi

# ---- image

if [ ! -e "$root/build/out/libcmpi.so" ]; then
	say "building the library"
	make -s -C "$root" lib
fi
if ! docker image inspect debian:12 >/dev/null 2>&1 && ! timeout 120 docker pull -q debian:12 >>"$work/log" 2>&1; then
	say "no registry within reach: making debian:12 by debootstrap"
	command -v debootstrap >/dev/null || install debootstrap
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CREATED_BY) $(COMPONENT)' |
		awk '$2 == "bookworm" && $3 == "Packages" && $4 == "main" { print $1; exit }')
	[ -n "$mirror" ] || die "this machine has no package source for Debian bookworm"
	debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" "$mirror" >>"$work/log" 2>&1
	# apt there is to reach what apt here reaches.
	rm -rf "$work/base/etc/apt/sources.list" "$work/base/etc/apt/sources.list.d"
	for path in sources.list sources.list.d apt.conf.d preferences.d trusted.gpg.d; do
		if [ -e "/etc/apt/$path" ]; then cp -rLT "/etc/apt/$path" "$work/base/etc/apt/$path"; fi
	done
	cp -rLT /usr/local/share/ca-certificates "$work/base/usr/local/share/ca-certificates"
	cp -L /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs/ca-certificates.crt"
	tar -C "$work/base" -c . | docker import - debian:12 >>"$work/log"
	rm -rf --one-file-system "$work/base"
fi
say "building the image"
tar -C "$root" -c ci/docker tests/programs bench/c tests/hosts/lab/files build/out/libcmpi.so |
	docker build --network host -f ci/docker/Dockerfile -t cmpi-host - >>"$work/log" 2>&1

# ---- two hosts

if [ -z "${POOL-}" ]; then
	POOL=$(mktemp /dev/shm/cmpi-docker.XXXXXX)
	made_pool=yes
	truncate -s 1G "$POOL"
fi
[ -z "${OSU-}" ] || OSU=$(cd "$OSU" && pwd)
cpus=$(nproc)
CPU1=0 CPU2=$((cpus > 1 ? 1 : 0))
export POOL CPU1 CPU2
[ -z "${OSU-}" ] || export OSU
say "starting two containers"
up=yes
compose up -d >>"$work/log" 2>&1
first=$(compose ps -q h1)
for host in h1 h2; do
	for _ in $(seq 100); do
		docker exec "$first" ssh -o ConnectTimeout=1 "$host" true 2>/dev/null && break
		sleep 0.1
	done
done

# mpi MODE RANKS PROGRAM... runs a program between the containers.
#   native    MPICH over the network
#   auto      over the library, which sees one kernel
#   separate  over the library, as between two machines
mpi() {
	local mode=$1 ranks=$2
	shift 2
	local env=(-genv RANK_PRELOAD /opt/cmpi/finalize.so)
	[ "$mode" = native ] || env=(-genv RANK_PRELOAD /opt/cmpi/finalize.so:/opt/cmpi/libcmpi.so -genv CMPI_REQUIRE 1 -genv CMPI_VERBOSE 1)
	[ "$mode" != separate ] || env+=(-genv RANK_SEPARATE 1)
	timeout 180 docker exec "$first" mpiexec.mpich -launcher ssh -hosts h1,h2 -n "$ranks" "${env[@]}" rank "$@"
}

passed=0 failed=0
check() { # MODE RANKS NAME EXPECTED-MODE
	local out want="OK $3"
	[ -z "$4" ] || want="cmpi: $2 ranks over /srv/h1/pool (1024 MiB), $4 mode
OK $3"
	if out=$(mpi "$1" "$2" "/opt/cmpi/bin/$3" 2>&1) && [ "$(sort <<<"$out")" = "$(sort <<<"$want")" ]; then
		passed=$((passed + 1))
		say "ok      $1, $2 ranks, $3"
	else
		failed=$((failed + 1))
		say "FAILED  $1, $2 ranks, $3:"
		printf '%s\n' "$out"
	fi
}
for name in ring halo masterworker traffic communicators datatypes rma_halo rma_hash rma_queue rma_shared; do
	check separate 2 $name flush
done
for name in ring traffic rma_hash; do
	check separate 4 $name flush
	check auto 2 $name coherent
done
check native 2 ring ''

# ---- benchmarks

measure() { # TITLE PROGRAM [ARGUMENT...]
	local title=$1 mode
	shift
	for mode in native separate; do
		say "$title, $mode"
		if mpi $mode 2 "$@" 2>>"$work/log" | grep -E '^[0-9]'; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			say "FAILED"
		fi
	done
}
if [ -n "${OSU-}" ]; then
	for name in osu_latency osu_bw osu_put_latency osu_put_bw; do
		program=$(cd "$OSU" && find . -type f -name $name -perm -u+x | head -1)
		[ -n "$program" ] || die "no program $name in $OSU"
		measure $name "/osu/$program" -m 1:1048576
	done
else
	measure "latency, µs" /opt/cmpi/bin/latency -m 1:1048576 -i 200 -x 20
	measure "bandwidth, MB/s" /opt/cmpi/bin/bw -m 1:1048576 -i 20 -x 2
	measure "put latency, µs" /opt/cmpi/bin/rma_latency -m 1:1048576 -i 200 -x 20
	measure "put bandwidth, MB/s" /opt/cmpi/bin/rma_bw -m 1:1048576 -i 20 -x 2
fi
say "$passed passed, $failed failed"
[ $failed -eq 0 ]
