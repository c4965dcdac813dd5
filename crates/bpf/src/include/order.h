/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory that other processors, or user space, read without a lock.
 *
 * publish: whoever reads the value sees all that was stored before it, and nothing stored after it shows
 * before it. observe: what is read after it is not older than the value, and what was read before it not
 * newer. add_published: an addition that several processors make; whoever reads the sum sees all that each stored
 * before its own.
 *
 * x86 keeps stores in order among each other, and loads among each other, so only the compiler has to. arm64
 * keeps neither. BPF has no barriers, and load-acquire and store-release only since Linux 6.15; but an atomic
 * operation with a result (Linux 5.12) orders everything around it: the kernel makes swpal and ldaddal of
 * it, or a loop that ends with dmb ish. Without a result it orders nothing there (stadd), and clang drops a result
 * that is not used.
 */
#ifndef NETFATHOM_ORDER_H
#define NETFATHOM_ORDER_H

#if defined(__TARGET_ARCH_x86)

#define publish(x, value)                                  \
	do {                                               \
		barrier();                                 \
		*(volatile typeof(x) *)&(x) = (value);     \
		barrier();                                 \
	} while (0)

#define observe(x)                                         \
	({                                                 \
		barrier();                                 \
		typeof(x) seen = *(volatile typeof(x) *)&(x); \
		barrier();                                 \
		seen;                                      \
	})

/* A locked instruction of x86 orders everything around it. */
#define add_published(x, value) ((void)__sync_fetch_and_add(&(x), (value)))

#else

#define publish(x, value) ((void)__sync_lock_test_and_set(&(x), (value)))
#define observe(x) __sync_fetch_and_add(&(x), 0)
#define add_published(x, value)                                        \
	do {                                                           \
		__u64 before = __sync_fetch_and_add(&(x), (value));    \
		barrier_var(before);                                   \
	} while (0)

#endif

#endif
