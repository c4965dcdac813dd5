/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who had a processor, as user space reads it. */
#ifndef NETFATHOM_STAY_H
#define NETFATHOM_STAY_H

/* TASK_COMM_LEN of include/linux/sched.h */
#define NAME 16
/*
 * Processes that had a processor which a followed thread waited for. Further ones, threads of the kernel and UNNUMBERED ones
 * have a sum for each of as many names.
 */
#define HOLDERS 1024
/* The last who had a processor; a power of two. */
#define STAYS 64

/* In place of a process: the CPU quota of the thread's cgroup was used up. No process has this number. */
#define QUOTA 0xffffffff

/* What takes a processor from whoever has it. */
enum cause {
	HYPERVISOR,
	SOFTIRQS,
	INTERRUPTS,
	CAUSES
};

/* In place of a process. No process has these numbers either. */
#define CAUSE(cause) (QUOTA - 1 - (cause))
/* In place of the processes of a name. */
#define SEVERAL CAUSE(CAUSES)
/* In place of one that has no number in netfathom's PID namespace. */
#define UNNUMBERED CAUSE(CAUSES + 1)

/* A process that had the processor which a followed thread waited for. */
struct holder {
	__u64 ns;
	__u32 number; /* of the process, or in its place */
	__u32 kernel; /* not 0: it is a thread of the kernel */
	char name[NAME];
};

/* A time in which a process had a processor. */
struct stay {
	__u64 from;
	__u64 until;
	__u32 process; /* as number_of() has it; 0: of the tree that is followed */
	__u32 thread; /* in the first PID namespace; 0: of the kernel; ~tgid: any that is not followed and was seen to leave */
	char name[NAME];
};

#endif
