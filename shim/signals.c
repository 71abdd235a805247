// Signal dispositions.
//
// The Go runtime installs its handlers when the library is loaded, before the
// program's main. A program that crashes should die as it does without us (a
// core, the exit status of the signal), not with a dump of goroutines. So the
// dispositions are noted before Go's start, and put back at MPI_Init where Go's
// handler is still in place; a handler that the program has installed since is
// left alone.
//
// Go keeps SIGURG, by which it preempts its own goroutines, and the signals that
// the C library uses between its threads.

#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>

enum { LAST_SIGNAL = 64, FIRST_INTERNAL = 32, LAST_INTERNAL = 34 };

static struct sigaction before[LAST_SIGNAL + 1];

// 101 is the first priority that is not reserved for the C implementation; Go's
// own start has none and therefore comes later.
__attribute__((constructor(101))) static void save_dispositions(void)
{
	for (int s = 1; s <= LAST_SIGNAL; s++)
		if (s < FIRST_INTERNAL || s > LAST_INTERNAL)
			sigaction(s, NULL, &before[s]);
}

// Call it when Go is up: any exported Go function may.
void cmpi_restore_signals(void)
{
	struct sigaction go, now;
	if (sigaction(SIGURG, NULL, &go) != 0 || !(go.sa_flags & SA_SIGINFO))
		return;
	for (int s = 1; s <= LAST_SIGNAL; s++) {
		if (s == SIGURG || (s >= FIRST_INTERNAL && s <= LAST_INTERNAL))
			continue;
		if (sigaction(s, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == go.sa_sigaction)
			sigaction(s, &before[s], NULL);
	}
}
