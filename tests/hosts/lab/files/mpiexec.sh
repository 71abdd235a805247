#!/bin/sh
# mpiexec of the lab: to be used like MPICH's, whose arguments it takes.
# CMPILAB_HOSTS names the hosts (default: all), as mpiexec's -hosts does, and
# CMPILAB_NET the network device for messages (default: that of the slow network
# if there is one).
state=$(dirname "$0")
CMPILAB=$(basename "$state") # by which the lab finds what it has to end
export CMPILAB
read -r head <"$state/head.at" || exit
read -r hosts <"$state/names" || exit
device=${CMPILAB_NET-}
if [ -z "$device" ] && [ -s "$state/net" ]; then
	read -r device <"$state/net"
fi
if [ -n "$device" ]; then
	set -- -genv UCX_NET_DEVICES "$device" "$@"
fi
exec nsenter -t "$head" -n -- mpiexec.mpich -launcher rsh -launcher-exec "$state/launch" -iface br0 \
	-hosts "${CMPILAB_HOSTS:-$hosts}" -genv LD_PRELOAD "$state/finalize.so" "$@"
