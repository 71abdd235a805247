#!/bin/sh
# Stands in for rsh and ssh: runs a command in a host of the lab.
#
#   launch [OPTION...] HOST COMMAND...
#
# As with those, the words are joined and read by a shell on the other side, and
# the environment there is the host's own.
state=$(dirname "$0")
while :; do
	case ${1-} in
	-l | -p | -o) shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
host=$1
shift
if ! read -r pid cpus pool <"$state/$host.at"; then
	echo "launch: $host is no running host of this lab" >&2
	exit 255
fi 2>/dev/null
exec nsenter -t "$pid" -n -u -i -p -m --wd=/ -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	HOME=/root USER=root CMPI_POOL="$pool" taskset -c "$cpus" /bin/sh -c "$*"
