// Datatypes of the host's, as Go decodes them (types.c).
#ifndef CMPI_TYPES_H
#define CMPI_TYPES_H

// How a datatype was made: MPI_Type_get_envelope and _get_contents in one.
// Integers, addresses and large counts in the order in which the constructor's
// call has them.
struct cmpi_type_contents {
	int combiner;
	long ni, na, nc, nt;
	int *i;
	long *a, *c;
	int *t;
};

// Fills *contents; free it with cmpi_type_release. 0 or an error class.
int cmpi_type_contents(int type, struct cmpi_type_contents *contents);

// Frees the arrays. The inner types are freed one by one by cmpi_type_drop.
void cmpi_type_release(struct cmpi_type_contents *contents);

// Gives back a reference to an inner type that cmpi_type_contents gave; only for
// those that were made by a program.
void cmpi_type_drop(int type);

// Makes the attribute key that tells us when a type that we know goes.
int cmpi_types_init(void);

// Ties our cache entry to the type. 0 or an error class.
int cmpi_type_tie(int type);

// Bytes of data, lower bound and extent. 0 or an error class.
int cmpi_type_shape(int type, long *size, long *lb, long *extent);

#endif
