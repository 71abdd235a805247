/*
 * cxl_shm_example.c - two processes, on one host or two, pass a word.
 *
 *     cc -o cxl_shm_example cxl_shm_example.c $(pkg-config --cflags --libs cmpi)
 *     export CMPI_POOL=/dev/shm/example        # or /dev/dax0.0
 *     ./cxl_shm_example read &
 *     ./cxl_shm_example write "hello"
 *
 * Whoever comes first makes the object. Each side writes to a line of its own,
 * which is why this needs no atomic instruction and no coherence between hosts.
 */
#include <cxl_shm.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct mailbox {
	/* The writer's line: a flag behind the text that it announces. */
	char text[CXL_SHM_LINE - sizeof(uint64_t)];
	uint64_t full;
	/* The reader's line. */
	uint64_t taken;
	char unused[CXL_SHM_LINE - sizeof(uint64_t)];
};

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, cxl_shm_last_error());
	return 1;
}

/* Waits, at most 10 seconds, until the word at offset off is not zero. */
static int await(cxl_shm_handle box, size_t off)
{
	const volatile uint64_t *word = (const volatile uint64_t *)((char *)cxl_shm_addr(box) + off);

	for (int i = 0; i < 10000; i++) {
		cxl_shm_invalidate(box, off, sizeof *word);
		if (*word)
			return 1;
		usleep(1000);
	}
	fprintf(stderr, "the other side did not come\n");
	return 0;
}

static int writer(cxl_shm_handle box, const char *text)
{
	struct mailbox *m = cxl_shm_addr(box);

	snprintf(m->text, sizeof m->text, "%s", text);
	cxl_shm_flush(box, 0, sizeof m->text); /* the text first ... */
	m->full = 1;
	cxl_shm_flush(box, offsetof(struct mailbox, full), sizeof m->full); /* ... then the flag */
	if (!await(box, offsetof(struct mailbox, taken)))
		return 1;
	if (cxl_shm_destroy(&box) != CXL_SHM_OK)
		return fail("destroy");
	return 0;
}

static int reader(cxl_shm_handle box)
{
	struct mailbox *m = cxl_shm_addr(box);

	if (!await(box, offsetof(struct mailbox, full)))
		return 1;
	/* Flag and text are in one line, but the flag may have been seen in the
	 * middle of its journey: look at the text afresh. */
	cxl_shm_invalidate(box, 0, sizeof m->text);
	printf("%.*s\n", (int)sizeof m->text, m->text);
	m->taken = 1;
	cxl_shm_flush(box, offsetof(struct mailbox, taken), sizeof m->taken);
	if (cxl_shm_close(&box) != CXL_SHM_OK)
		return fail("close");
	return 0;
}

int main(int argc, char **argv)
{
	cxl_shm_handle box = CXL_SHM_NULL;
	int write = argc == 3 && strcmp(argv[1], "write") == 0;
	int read = argc == 2 && strcmp(argv[1], "read") == 0;

	if (!write && !read) {
		fprintf(stderr, "usage: %s read | write TEXT\n", argv[0]);
		return 2;
	}
	if (cxl_shm_init() != CXL_SHM_OK)
		return fail("init");
	int rc = cxl_shm_create("mailbox", sizeof(struct mailbox), &box);
	if (rc == CXL_SHM_E_EXISTS)
		rc = cxl_shm_open("mailbox", &box);
	if (rc != CXL_SHM_OK)
		return fail("mailbox");
	rc = write ? writer(box, argv[2]) : reader(box);
	if (cxl_shm_finalize() != CXL_SHM_OK)
		return fail("finalize");
	return rc;
}
