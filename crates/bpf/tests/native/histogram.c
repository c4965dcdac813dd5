/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel programs' arithmetic, compiled for user space: reads values, prints for each
 * its bucket, and the two halves of its square.
 */
#include <inttypes.h>
#include <stdio.h>

typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int64_t __s64;
#undef __always_inline
#define __always_inline inline

#include "histogram.h"

int main(void)
{
	int64_t value;

	while (scanf("%" SCNd64, &value) == 1) {
		struct moments m = {};

		add_moments(&m, value);
		printf("%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", bucket_index(value < 0 ? 0 : value),
		       m.sum_sq_high, m.sum_sq_low);
	}
	return 0;
}
