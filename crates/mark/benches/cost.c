/* Prints what a reading of the clock takes and what a mark takes, ns, each time it reads a line. */
#include <stdio.h>
#include <stdlib.h>

#include "netfathom_mark.h"

int main(int count, char **arguments) {
    long marks = count > 1 ? atol(arguments[1]) : 1;
    char line[16];
    netfathom_mark("ready");
    while (fgets(line, sizeof line, stdin)) {
        uint64_t begun = netfathom_mark_now_ns(), clocks, ended;
        long n;
        for (n = 0; n < marks; n++)
            netfathom_mark_now_ns();
        clocks = netfathom_mark_now_ns();
        for (n = 0; n < marks; n++)
            netfathom_mark("request: parsed");
        ended = netfathom_mark_now_ns();
        printf("%f %f\n", (double)(clocks - begun) / marks, (double)(ended - clocks) / marks);
        fflush(stdout);
    }
    return 0;
}
