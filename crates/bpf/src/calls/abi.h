/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What calls.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_CALLS_ABI_H
#define NETFATHOM_CALLS_ABI_H

#define ENDS 2
/* Linux 6.18 has numbers up to 469; the last one also takes what is beyond. */
#define NUMBERS 512
#define MOST_THREADS 4096

/* Shared with user space by mmap. */
struct shared {
	/* The process and its PID namespace: its threads may be counted. */
	struct pid_namespace namespace;
	__u64 process;
	__u64 counts[ENDS][NUMBERS];
};

#endif
