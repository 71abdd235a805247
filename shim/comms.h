// Communicators, as Go sees them (comms.c).
#ifndef CMPI_COMMS_H
#define CMPI_COMMS_H

#include "shim.h"

// Makes the attribute key. 0 or a host error code.
int cmpi_comms_init(void);

// Takes a communicator of the host's over, if all its members are in our world;
// collective over its members. context 0: agree on one. 0 or an error class.
int cmpi_adopt(int comm, uint64_t context);

// Ties entry index to the communicator, so that it goes when that goes.
int cmpi_comm_tie(int comm, int index);

// The table of the communicators that we carry (state.c).
int cmpi_table_set(int32_t handle, struct cmpi_comm *c);

#endif
