/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What contention.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_CONTENTION_ABI_H
#define NETFATHOM_CONTENTION_ABI_H

/* Threads that are followed at once. */
#define PLACES 64
/* Pairs of a followed thread and a process that kept it waiting; what is beyond has no name. */
#define MOST_HOLDERS 2048
/* The last of others on a thread's processor; a power of two. */
#define STINTS 64
/* Shorter ones disturb nobody. */
#define LEAST_STINT_NS 5000
/* TASK_COMM_LEN of include/linux/sched.h */
#define NAME 16

/* What a processor loses without a switch, in ns. */
struct lost {
	__u64 stolen; /* by the hypervisor: CONFIG_PARAVIRT_TIME_ACCOUNTING */
	__u64 interrupted; /* CONFIG_IRQ_TIME_ACCOUNTING */
};

/* When something foreign had a processor, CLOCK_MONOTONIC. */
struct stint {
	__u64 start;
	__u64 end;
};

/* A followed thread. Times are sums in ns since it was seen first. */
struct thread {
	__u64 task; /* its task_struct; 0 until it was seen to leave a processor */
	__u64 waited_before; /* by the kernel's account, when it was seen first */
	__u64 waited;
	__u64 named; /* of it, or never to be */
	struct lost waiting; /* lost to whoever had the processor meanwhile */
	struct lost running; /* lost to the thread itself */
	__u32 number; /* as user space has it; 0: a free place */
	__u32 cpu; /* that it is bound to */
	__u64 known; /* 1: it was seen, and may have gone */
	__u64 stints_n;
	struct stint stints[STINTS];
};

/* Shared with user space by mmap. */
struct shared {
	/* Whose numbers those of the threads are. */
	struct pid_namespace namespace;
	__u32 places; /* in use so far */
	__u32 process; /* whose threads are followed, in the first PID namespace */
	struct thread threads[PLACES];
};

struct holder_key {
	__u32 place;
	__u32 process; /* 0: the processor was idle */
};

struct holder {
	__u64 ns;
	char name[NAME];
	__u64 kernel; /* 1: a thread of the kernel */
};

#endif
