/* The functions that the tool and the C program count. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdio.h>
#include <unistd.h>

#define FUNCTIONS(F)                                                              \
    F(Init) F(Init_thread) F(Finalize)                                            \
    F(Comm_dup) F(Comm_split) F(Comm_free)                                        \
    F(Send) F(Ssend) F(Rsend) F(Bsend) F(Recv) F(Sendrecv) F(Sendrecv_replace)    \
    F(Isend) F(Issend) F(Irecv) F(Send_init) F(Recv_init) F(Start) F(Startall)    \
    F(Probe) F(Iprobe) F(Mprobe) F(Mrecv)                                         \
    F(Wait) F(Waitall) F(Waitany) F(Waitsome)                                     \
    F(Test) F(Testall) F(Testany) F(Testsome)                                     \
    F(Request_free) F(Cancel)                                                     \
    F(Barrier) F(Ibarrier) F(Bcast) F(Allreduce)

#define ENUMERATE(name) name,
enum function { FUNCTIONS(ENUMERATE) FUNCTION_COUNT };
#undef ENUMERATE

#define QUOTE(name) #name,
__attribute__((unused)) static const char *const function_names[] = {FUNCTIONS(QUOTE)};
#undef QUOTE

/* Prints "WORD RANK Name=count ..." with the functions that were called. The
 * ranks share an output, so a line is written in one piece. */
static inline void print_counts(const char *word, int rank, const long *counts)
{
    char line[4096];
    int n = snprintf(line, sizeof line, "%s %d", word, rank);
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (counts[i] != 0)
            n += snprintf(line + n, sizeof line - n, " %s=%ld", function_names[i], counts[i]);
    line[n++] = '\n';
    if (write(STDOUT_FILENO, line, n) != n)
        perror(word);
}

#endif
