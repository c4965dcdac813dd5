/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the programs know of the reader's thread, compiled for user space: reads what happens to it, prints for each look
 * whether its idleness is known, and that; in the end how many switches were not seen.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int64_t __s64;
typedef uint32_t __be32;
#undef __always_inline
#define __always_inline inline

#include "reader.h"

static struct account account(void)
{
	struct account a;

	if (scanf("%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64, &a.queued, &a.waited, &a.arrival, &a.arrivals) != 4)
		a.arrivals = 0;
	return a;
}

int main(void)
{
	struct reader reader = {};
	char what;
	__u64 now, sleeps;

	while (scanf(" %c %" SCNu64, &what, &now) == 2) {
		struct account a;
		struct idle idle;
		bool known;

		switch (what) {
		case 'm':
			a = account();
			meet(&reader, &a, now);
			break;
		case 's':
			reader.seen = now;
			if (scanf("%" SCNu64, &reader.seen_arrivals) != 1)
				return 1;
			break;
		case 'd':
			if (scanf("%" SCNu64, &sleeps) != 1)
				return 1;
			a = account();
			depart(&reader, &a, now, sleeps);
			break;
		default:
			a = account();
			known = idle_until(&reader, &a, now, &idle);
			printf("%d %" PRIu64 " %" PRIu64 "\n", known, idle.waited, idle.slept);
		}
	}
	printf("%" PRIu64 "\n", (uint64_t)reader.unseen);
	return 0;
}
