#!/bin/sh
# mpiexec of the lab: to be used like MPICH's, whose arguments it takes.
# CMPILAB_HOSTS names the hosts (default: all), as mpiexec's -hosts does.
state=$(dirname "$0")
CMPILAB=$(basename "$state") # by which the lab finds what it has to end
export CMPILAB
read -r head <"$state/head.at" || exit
read -r hosts <"$state/names" || exit
if [ -s "$state/net" ]; then # a slower network than the hosts' first
	read -r device <"$state/net"
	set -- -genv UCX_NET_DEVICES "$device" "$@"
fi
exec nsenter -t "$head" -n -- mpiexec.mpich -launcher rsh -launcher-exec "$state/launch" -iface br0 \
	-hosts "${CMPILAB_HOSTS:-$hosts}" -genv LD_PRELOAD "$state/finalize.so" "$@"
