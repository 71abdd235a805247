# Becomes a host: runs as process 1 of fresh net, uts, ipc, pid and mount
# namespaces and says "ready" on stdout when all is in place.
#
#   host.sh NAME STATE POOL AT [KEEP...]
#
# POOL is seen at AT; the folders KEEP are seen where they are, although /tmp,
# /dev/shm and /srv are this host's own.
set -eu
name=$1 state=$2 pool=$3 at=$4
shift 4

mount --make-rprivate /
hostname "$name"
mount -t proc proc /proc
mount -t sysfs sysfs /sys # shows this network namespace only

# What lies under the folders that are hidden next is carried past them.
aside=$state/aside
mount -t tmpfs -o size=1m tmpfs "$aside"
touch "$aside/pool"
mount --bind "$pool" "$aside/pool"
i=0
for folder; do
	i=$((i + 1))
	mkdir "$aside/$i"
	mount --bind "$folder" "$aside/$i"
done
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o size=1m tmpfs /srv
mkdir -p "$(dirname "$at")"
touch "$at"
mount --move "$aside/pool" "$at"
i=0
for folder; do
	i=$((i + 1))
	mkdir -p "$folder"
	mount --move "$aside/$i" "$folder"
done

mount --bind "$state/hosts" /etc/hosts
# Libraries tell machines apart by this.
mount --bind "$state/$name.boot" /proc/sys/kernel/random/boot_id

echo ready
# SIGCHLD is ignored so that the kernel reaps what is orphaned.
exec env --ignore-signal=CHLD sleep infinity </dev/null >/dev/null 2>&1
