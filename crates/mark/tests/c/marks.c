/* Marks in two files, two threads, a signal handler and a child. With an argument: many of them. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netfathom_mark.h"

void elsewhere(void);

static void handler(int number) {
    (void)number;
    netfathom_mark("c: handler");
}

static void *thread(void *unused) {
    netfathom_mark("c: thread");
    return unused;
}

/* Prints that it is ready, and waits for a line. */
static void ready(void) {
    char line[8];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(1);
}

int main(int count, char **arguments) {
    pthread_t other;
    pid_t child;
    errno = 77;
    netfathom_mark("c: the first");
    if (errno != 77)
        return 2;
    ready();
    if (count > 1) {
        long n;
        for (n = atol(arguments[1]); n > 0; n--)
            netfathom_mark("c: one of many");
        ready();
        return 0;
    }
    netfathom_mark("c: main");
    elsewhere();
    if (pthread_create(&other, NULL, thread, NULL) != 0 || pthread_join(other, NULL) != 0)
        return 3;
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    child = fork();
    if (child == 0) {
        netfathom_mark("c: child");
        _exit(0);
    }
    if (waitpid(child, NULL, 0) != child)
        return 4;
    printf("child %d\n", (int)child);
    netfathom_mark_at("c: at a time of its own", 12345);
    netfathom_mark_bytes("c: bytes, not all", 8);
    netfathom_mark("c: a name that is longer than what is kept of it");
    ready();
    return netfathom_mark_status().lost == 0 ? 0 : 5;
}
