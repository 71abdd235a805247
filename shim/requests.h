// Requests of the host's, as Go sees them (complete.c). Functions give 0 or a
// host error code. statuses NULL: nobody wants them.
#ifndef CMPI_REQUESTS_H
#define CMPI_REQUESTS_H

#include "shim.h"

int cmpi_host_test(int *request, int *flag);
int cmpi_host_start(int *request);
int cmpi_host_waitall(int n, int *requests, struct mpich_status *statuses);
int cmpi_host_testall(int n, int *requests, int *flag, struct mpich_status *statuses);
int cmpi_host_testany(int n, int *requests, int *index, int *flag, W status);
int cmpi_host_testsome(int n, int *requests, int *outcount, int *indices, struct mpich_status *statuses);

#endif
