/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What softirq.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_SOFTIRQ_ABI_H
#define NETFATHOM_SOFTIRQ_ABI_H

/* Set by user space before the programs are attached. */
struct control {
	/* That `number` is of. */
	struct pid_namespace namespace;
	/* The process, or one thread of it. */
	__u32 number;
	__u32 one_thread;
};

/* Sums of one processor, and the softirq that it is at. */
struct cpu {
	__u64 own_ns;
	__u64 others_ns;
	__u64 own_n;
	__u64 others_n;
	/* 0 outside of those that are counted. */
	__u64 since_ns;
	__u64 on_own;
};

#endif
