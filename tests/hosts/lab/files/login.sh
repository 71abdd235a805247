#!/bin/sh
# The login node of the lab's Slurm cluster: runs a command there.
#
#   login srun -N 2 -n 4 ./program
state=$(dirname "$0")
CMPILAB=$(basename "$state") # by which the lab finds what it has to end
SLURM_CONF=$state/slurm/slurm.conf
export CMPILAB SLURM_CONF
read -r head <"$state/head.at" || exit
exec nsenter -t "$head" -n -u -- "$@"
