/*
 * A network switch in user space, in place of netem, which many kernels lack:
 * every host gets a tap device, and a frame leaves the switch a fixed time after
 * it would have been transferred at the ports' rate.
 *
 *   tapswitch DEVICE DELAY_NS RATE_BIT_PER_S PID...
 *
 * makes DEVICE in the network namespace of each PID and prints "ready". It ends
 * when it is killed; the devices go with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PORTS = 16,
    QUEUE = 4096,    /* frames on their way to a port; further ones are dropped, as switches do */
    FRAME = 1600,    /* bytes, of an Ethernet with MTU 1500 */
    OVERHEAD = 24,   /* bytes on the wire beside a frame: preamble, checksum, gap */
    BATCH = 64,      /* frames taken from one port at a time */
    MAC = 6,
};

struct frame {
    int64_t due; /* ns */
    ssize_t length;
    unsigned char data[FRAME];
};

/* A port and what is on its way out of it. */
static struct port {
    int tap;
    unsigned char mac[MAC]; /* whose frames came from here last */
    int64_t busy;           /* ns; until then the wire is taken */
    unsigned head, tail;
    struct frame queue[QUEUE];
} ports[PORTS];

static int count;

static void die(const char *what)
{
    fprintf(stderr, "tapswitch: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Makes the device in the namespace of a process. */
static void open_port(struct port *p, const char *device, const char *pid)
{
    char path[64];
    struct ifreq request;
    int space;

    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        die(path);
    close(space);
    p->tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (p->tap < 0)
        die("/dev/net/tun");
    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(p->tap, TUNSETIFF, &request) != 0)
        die(device);
}

/* Sends what is due; the time of what is due next, -1 if nothing waits. */
static int64_t deliver(void)
{
    int64_t next = -1, time = now();

    for (int i = 0; i < count; i++) {
        struct port *p = &ports[i];
        while (p->head != p->tail && p->queue[p->head % QUEUE].due <= time) {
            struct frame *f = &p->queue[p->head++ % QUEUE];
            if (write(p->tap, f->data, (size_t)f->length) < 0)
                continue; /* the device is down: the frame is lost */
        }
        if (p->head != p->tail) {
            int64_t due = p->queue[p->head % QUEUE].due;
            if (next < 0 || due < next)
                next = due;
        }
    }
    return next;
}

/* Puts a frame on its way out of a port. */
static void enqueue(struct port *p, const unsigned char *data, ssize_t length, int64_t time, int64_t delay, double ns_per_byte)
{
    struct frame *f = &p->queue[p->tail % QUEUE];

    if (p->tail - p->head >= QUEUE)
        return;
    if (p->busy < time)
        p->busy = time;
    p->busy += (int64_t)((double)(length + OVERHEAD) * ns_per_byte);
    f->due = p->busy + delay;
    f->length = length;
    memcpy(f->data, data, (size_t)length);
    p->tail++;
}

/* Takes frames in from a port: to whom they are addressed, or to all. */
static void receive(int from, int64_t delay, double ns_per_byte)
{
    static unsigned char data[FRAME];
    int64_t time = now();

    for (int k = 0; k < BATCH; k++) {
        ssize_t length = read(ports[from].tap, data, sizeof data);
        int to = -1;
        if (length < 2 * MAC)
            return;
        memcpy(ports[from].mac, data + MAC, MAC);
        if (!(data[0] & 1)) /* not a broadcast */
            for (int i = 0; i < count; i++)
                if (i != from && memcmp(ports[i].mac, data, MAC) == 0)
                    to = i;
        for (int i = 0; i < count; i++)
            if (i != from && (to < 0 || to == i))
                enqueue(&ports[i], data, length, time, delay, ns_per_byte);
    }
}

int main(int argc, char **argv)
{
    struct pollfd fds[PORTS];

    if (argc < 5 || argc - 4 > PORTS) {
        fprintf(stderr, "usage: tapswitch DEVICE DELAY_NS RATE_BIT_PER_S PID...\n");
        return 2;
    }
    int64_t delay = atoll(argv[2]);
    double ns_per_byte = 8e9 / atof(argv[3]);
    count = argc - 4;
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); /* ns: the delay is short */
    for (int i = 0; i < count; i++) {
        open_port(&ports[i], argv[1], argv[4 + i]);
        fds[i] = (struct pollfd){.fd = ports[i].tap, .events = POLLIN};
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t next = deliver(), wait = next - now();
        struct timespec t = {0, 0};
        if (next >= 0 && wait > 0)
            t = (struct timespec){wait / 1000000000, wait % 1000000000};
        if (ppoll(fds, (nfds_t)count, next >= 0 ? &t : NULL, NULL) < 0 && errno != EINTR)
            die("ppoll");
        for (int i = 0; i < count; i++) {
            if (fds[i].revents & POLLIN)
                receive(i, delay, ns_per_byte);
            else if (fds[i].revents & (POLLERR | POLLHUP))
                fds[i].fd = -1; /* the host is gone */
        }
    }
}
