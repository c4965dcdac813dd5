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
/* Shorter ones disturb no message. */
#define LEAST_STINT_NS 5000
/* TASK_COMM_LEN of include/linux/sched.h */
#define NAME 16
/* Names of cgroups and interrupts, cut. */
#define LABEL 40
/* Softirqs by their vector (include/linux/interrupt.h), and one more for the interrupt of the local timer. */
#define NR_SOFTIRQS 10
#define LOCAL_TIMER NR_SOFTIRQS
#define CAUSES 11
/* In place of such a cause: the machine stood still, and its hypervisor may not report that. */
#define PAUSE (CAUSES + 1)
/* A tick of the timer that comes later than this. Interrupts are off for tens of us at times. */
#define LEAST_PAUSE_NS 100000
/* Pairs of a followed thread and a device's interrupt. */
#define MOST_IRQS 512

/* What a processor had no task for while the thread waited, and while it ran, in ns. */
struct lost {
	__u64 waiting;
	__u64 running;
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
	__u64 throttled; /* of it, by the CPU quota of its cgroup */
	struct lost stolen; /* by the hypervisor: CONFIG_PARAVIRT_TIME_ACCOUNTING, and pauses */
	struct lost interrupts[CAUSES];
	__u64 interrupted; /* since the wait was charged last */
	/* Its last departure: when, by the run queue's clock, with what state and account. */
	__u64 departed;
	__u64 state;
	__u64 waited_then;
	__u64 throttled_since; /* the last switch that was seen while its quota was used up, by that clock; 0: it was not */
	/* Away, and not waiting. */
	__u64 stopped; /* by a signal, a debugger or a freezer */
	__u64 blocked; /* in the kernel: page faults, disks, locks */
	__u64 moves; /* 1: it may run on more than one processor */
	__u32 number; /* as user space has it; 0: a free place */
	/* Where it was seen last, plus 1: one word, so that no order of stores matters; 0: it was not seen yet. */
	__u32 cpu;
	__u64 stints_n;
	struct stint stints[STINTS];
};

/* Shared with user space by mmap. */
struct shared {
	/* The threads' numbers are of this one. */
	struct pid_namespace namespace;
	__u32 places; /* in use so far */
	__u32 process; /* its threads are followed; a number of the first PID namespace */
	__u64 tick; /* the function of the timer's tick; 0: pauses are not looked for */
	struct thread threads[PLACES];
};

struct holder_key {
	__u32 place;
	__u32 process; /* in the first PID namespace; 0: the processor was idle */
};

struct holder {
	__u64 ns;
	char name[NAME];
	char cgroup[LABEL];
	__u32 kernel; /* 1: a thread of the kernel */
	__u32 number; /* in the PID namespace of user space; 0: it has none there */
};

struct irq_key {
	__u32 place;
	__u32 number;
};

/* The interrupt of a device. */
struct irq {
	struct lost lost;
	char name[LABEL];
};

#endif
