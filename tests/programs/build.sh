#!/bin/sh
# Builds the verification programs in src/, or those named, into
# build/out/programs (or $OUT) with the host MPI's compilers. Only what is older
# than its source is built. MPICC and MPIFC name other compilers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
src=$here/src
out=${OUT:-$here/../../build/out/programs}
cc=${MPICC:-mpicc.mpich}
fc=${MPIFC:-mpif90.mpich}
mkdir -p "$out"

# MPICH's MPI_STATUSES_IGNORE is the address 1, which GCC takes for an overflow.
cflags="-std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-stringop-overflow -pthread"
fflags="-O2 -g -Wall -Werror -Wno-unused-dummy-argument -Wno-maybe-uninitialized"

# build SOURCE COMPILER FLAGS... makes the program unless it is newer than its
# sources. A half-written program must not look finished: build aside, then move.
build() {
    source=$1
    program=$out/$(basename "${source%.*}")
    shift
    if [ "$program" -nt "$source" ] && [ "$program" -nt "$src/common.h" ] && [ "$program" -nt "$here/build.sh" ]; then
        return
    fi
    "$@" -o "$program.$$" "$source"
    mv "$program.$$" "$program"
}

for source in "$src"/*.c "$src"/*.f90; do
    name=$(basename "${source%.*}")
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    case $source in
    *.c) build "$source" "$cc" $cflags ;;
    *.f90) build "$source" "$fc" $fflags ;;
    esac
done
