package main

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mpiABI is the binary interface of an MPI library.
type mpiABI string

// The ABIs that there are. Only MPICH's is spoken.
const (
	abiMPICH   mpiABI = "MPICH"
	abiOpenMPI mpiABI = "Open MPI"
	abiOther   mpiABI = "other"
)

// carried says whether programs of this ABI are carried.
func (a mpiABI) carried() bool { return a == abiMPICH }

// sonames are the libraries with which MPI programs are linked. libmpi.so.12 is
// MPICH's ABI under the name on which its vendors agreed.
var sonames = map[string]mpiABI{
	"libmpich.so.12": abiMPICH, "libmpi.so.12": abiMPICH, "libmpi_cray.so.12": abiMPICH, "libmpi.so.40": abiOpenMPI,
}

// mpiLibrary is an MPI library of this machine.
type mpiLibrary struct {
	Path    string `json:"path"`
	ABI     mpiABI `json:"abi"`
	Carried bool   `json:"carried"` // programs linked with it are
}

// mpiLibraries finds the MPI libraries where the dynamic linker does.
func mpiLibraries(ctx context.Context) []mpiLibrary {
	list := []mpiLibrary{}
	seen := map[string]bool{}
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			return
		}
		seen[real] = true
		abi := abiOfLibrary(path)
		list = append(list, mpiLibrary{path, abi, abi.carried()})
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		for name := range sonames {
			add(filepath.Join(dir, name))
		}
	}
	cache, err := exec.CommandContext(ctx, "ldconfig", "-p").Output()
	if err != nil { // not in the PATH of users, on Debian
		cache, _ = exec.CommandContext(ctx, "/sbin/ldconfig", "-p").Output()
	}
	for line := range strings.Lines(string(cache)) {
		name, path, ok := strings.Cut(strings.TrimSpace(line), " => ")
		name, _, _ = strings.Cut(name, " ")
		if _, known := sonames[name]; ok && known {
			add(path)
		}
	}
	return list
}

// abiOfLibrary looks into a library rather than at its name: libmpi.so has been
// the name of all of them.
func abiOfLibrary(path string) mpiABI {
	f, err := elf.Open(path)
	if err != nil {
		return abiOther
	}
	defer f.Close()
	symbols, _ := f.DynamicSymbols() // none: not one that we know
	abi := abiOther
	for _, s := range symbols {
		switch s.Name {
		case "ompi_mpi_comm_world":
			return abiOpenMPI
		case "PMPI_Get_library_version":
			if s.Section != elf.SHN_UNDEF {
				abi = abiMPICH
			}
		}
	}
	return abi
}

// abiOfProgram is the ABI with which a program was linked; static: it has no
// dynamic linker, so that nothing can be preloaded.
func abiOfProgram(path string) (abi mpiABI, static bool, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return abiOther, false, err
	}
	defer f.Close()
	static = true
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			static = false
		}
	}
	abi = abiOther
	needed, _ := f.ImportedLibraries() // none: perhaps it opens one itself
	for _, name := range needed {
		if a, ok := sonames[name]; ok {
			abi = a
		}
	}
	return abi, static, nil
}
