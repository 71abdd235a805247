// Datatypes: asks the host how they were made. They are decoded in Go.

#include <stdlib.h>

#include "shim.h"
#include "types.h"
#include "_cgo_export.h"

static int keyval = MPICH_KEYVAL_INVALID;

static int type_gone(int type, int key, void *value, void *extra)
{
	(void)key, (void)value, (void)extra;
	goTypeGone(type);
	return MPICH_SUCCESS;
}

int cmpi_types_init(void)
{
	return cmpi_host.Type_create_keyval(NULL, type_gone, &keyval, NULL);
}

int cmpi_type_tie(int type)
{
	return cmpi_host.Type_set_attr(type, keyval, NULL);
}

int cmpi_type_shape(int type, long *size, long *lb, long *extent)
{
	int rc = cmpi_host.Type_size_x(type, size);
	return rc != MPICH_SUCCESS ? rc : cmpi_host.Type_get_extent_x(type, lb, extent);
}

static int envelope(int type, struct cmpi_type_contents *v)
{
	if (cmpi_host.Type_get_envelope_c != NULL)
		return cmpi_host.Type_get_envelope_c(type, &v->ni, &v->na, &v->nc, &v->nt, &v->combiner);
	int ni, na, nt, rc = cmpi_host.Type_get_envelope(type, &ni, &na, &nt, &v->combiner);
	v->ni = ni, v->na = na, v->nc = 0, v->nt = nt;
	return rc;
}

int cmpi_type_contents(int type, struct cmpi_type_contents *v)
{
	*v = (struct cmpi_type_contents){0};
	int rc = envelope(type, v);
	if (rc != MPICH_SUCCESS || v->nt == 0)
		return rc; // predefined: the host has no more to say
	v->i = malloc((v->ni + 1) * sizeof *v->i); // + 1: never a malloc of 0
	v->a = malloc((v->na + 1) * sizeof *v->a);
	v->c = malloc((v->nc + 1) * sizeof *v->c);
	v->t = malloc((v->nt + 1) * sizeof *v->t);
	if (v->i == NULL || v->a == NULL || v->c == NULL || v->t == NULL)
		rc = MPICH_ERR_NO_MEM;
	else if (cmpi_host.Type_get_contents_c != NULL)
		rc = cmpi_host.Type_get_contents_c(type, v->ni, v->na, v->nc, v->nt, v->i, v->a, v->c, v->t);
	else
		rc = cmpi_host.Type_get_contents(type, v->ni, v->na, v->nt, v->i, v->a, v->t);
	if (rc != MPICH_SUCCESS)
		cmpi_type_release(v);
	return rc;
}

void cmpi_type_release(struct cmpi_type_contents *v)
{
	free(v->i);
	free(v->a);
	free(v->c);
	free(v->t);
	*v = (struct cmpi_type_contents){0};
}

void cmpi_type_drop(int type)
{
	cmpi_host.Type_free(&type);
}
