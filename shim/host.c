// The way to the host MPI library. We are never linked against one.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

struct cmpi_host cmpi_host;

// Libraries to look into when the program has opened its MPI by dlopen, so that
// it is not among the libraries that follow us in the search order.
static const char *const libraries[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"};

void *cmpi_host_symbol_or_null(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);
	for (size_t i = 0; p == NULL && i < sizeof libraries / sizeof *libraries; i++) {
		void *library = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
		if (library != NULL) {
			p = dlsym(library, name);
			dlclose(library); // NOLOAD has only raised the count of its users
		}
	}
	return p;
}

void *cmpi_host_symbol(const char *name)
{
	void *p = cmpi_host_symbol_or_null(name);
	if (p == NULL) {
		fprintf(stderr, "cmpi: the MPI library of this program has no %s; run it without LD_PRELOAD of libcmpi.so\n", name);
		abort();
	}
	return p;
}

int cmpi_host_resolve(const char **why)
{
	// 8192 = MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the longest of all. Only a
	// symbol that is there is asked for: to learn that one isn't takes 0.2 ms, in
	// which the loader looks for libraries in all its folders.
	static char version[8192 + 1];
	int len = 0;
	int (*get_version)(char *, int *) = cmpi_host_symbol_or_null("PMPI_Get_library_version");
	if (get_version == NULL || get_version(version, &len) != 0)
		version[0] = 0;
	if (strstr(version, "Open MPI") != NULL) {
		*why = "this program uses Open MPI, whose ABI cMPI doesn't speak yet";
		return -1;
	}
	if (strstr(version, "MPICH") == NULL && strstr(version, "Intel(R) MPI") == NULL && strstr(version, "MVAPICH") == NULL) {
		*why = "this program's MPI library doesn't have MPICH's ABI";
		return -1;
	}
#define F(name, args) cmpi_host.name = cmpi_host_symbol("PMPI_" #name);
	CMPI_HOST_FUNCTIONS(F)
#undef F
#define F(name, args) cmpi_host.name = cmpi_host_symbol_or_null("PMPI_" #name);
	CMPI_HOST_FUNCTIONS_4(F)
#undef F
	return 0;
}
