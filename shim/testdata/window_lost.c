/* Two ranks without an MPI, one of which is killed at a bad moment. The other must
 * hear of it. Prints "lost" and exits 0 when it does. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmpi.h>

static cmpi_win win;

/* The one that stays waits for the other in some call. */
static int wait_for(const char *what, int peer)
{
	if (strcmp(what, "lock") == 0)
		return cmpi_win_lock(1, peer, win);
	if (strcmp(what, "shared lock") == 0)
		return cmpi_win_lock(0, peer, win);
	if (strcmp(what, "fence") == 0)
		return cmpi_win_fence(win);
	if (strcmp(what, "start") == 0)
		return cmpi_win_start(1, &peer, win);
	if (strcmp(what, "wait") == 0) {
		int rc = cmpi_win_post(1, &peer, win);
		return rc != CMPI_OK ? rc : cmpi_win_wait(win);
	}
	if (strcmp(what, "free") == 0)
		return cmpi_win_free(&win) == CMPI_OK ? CMPI_OK : CMPI_ERR_LOST;
	if (strcmp(what, "make") == 0) {
		void *base;
		cmpi_win another;
		return cmpi_win_allocate_shared(64, &base, &another) == CMPI_ERR_MEMORY ? CMPI_ERR_LOST : CMPI_OK;
	}
	return -1;
}

/* The one that is killed may hold a lock. */
static void die(const char *what)
{
	if (strstr(what, "lock") != NULL && cmpi_win_lock(1, 1, win) != CMPI_OK)
		return;
	cmpi_barrier();
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	void *base;
	if (argc != 2 || cmpi_init(-1, 0, NULL, NULL) != CMPI_OK || cmpi_win_allocate_shared(4096, &base, &win) != CMPI_OK) {
		printf("%s\n", cmpi_last_error());
		return 1;
	}
	if (cmpi_rank() == 1) {
		die(argv[1]);
		return 1;
	}
	cmpi_barrier();
	int rc = wait_for(argv[1], 1);
	printf("%s\n", rc == CMPI_ERR_LOST ? "lost" : cmpi_strerror(rc));
	return rc != CMPI_ERR_LOST; /* without cmpi_finalize: the job is broken */
}
