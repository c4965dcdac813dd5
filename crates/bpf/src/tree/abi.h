/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What tree.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_TREE_ABI_H
#define NETFATHOM_TREE_ABI_H

#include "../include/stay.h"

/* Linux 6.18 has system calls up to 469; the last one also takes what is beyond. */
#define NUMBERS 512
/* Threads of the tree, until what they spent is summed. */
#define MOST_MEMBERS 8192
/* Names of files, and pairs of a system call and how often. */
#define MOST_MARKS 64
/* System calls with their order kept. */
#define ORDER 65536
#define RING_BYTES (1 << 20)
/* The end of a path that an event carries; a name has at most 255 bytes. */
#define PATH_BYTES 256

/* shared.watched: what is to be done at a system call. */
#define COUNTED 1
#define OPENS_ARGUMENT_0 2
#define OPENS_ARGUMENT_1 4

/* event.kind */
enum kind {
	OPENED = 1,
	CALLED,
};

/* In the ring. `path` has `length` bytes. */
struct event {
	__u64 at_ns;
	enum kind kind;
	/* The mark. */
	__u32 which;
	__u32 length;
	/* Whether `path` is only the end of it. */
	__u32 cut;
	char path[PATH_BYTES];
};

/* What a thread spent, or all that ended. */
struct spent {
	__u64 ran_ns;
	__u64 waited_ns;
	__u64 user_ns;
	__u64 system_ns;
	__u64 minor_faults;
	__u64 major_faults;
	__u64 voluntary_switches;
	__u64 involuntary_switches;
	__u64 read_bytes;
	__u64 blocked_ns;
	/* 1 for a thread for which the kernel reported it. */
	__u64 waited_known;
	__u64 bytes_known;
	__u64 blocked_known;
};

struct member {
	__u64 exited;
	/* When it began, to tell it from another at the same place. */
	__u64 started_ns;
	/* What it had spent when it began to end. */
	struct spent at_exit;
	/* A path that could not be read when its call began. */
	__u64 path;
	__u64 entered_ns;
	/* The call that is timed, 0 if there is none. */
	__u64 call_since_ns;
	__u64 call_number;
	/* What it had waited for processors when it last left one; where waits are followed. */
	__u64 run_delay;
	__u64 throttled; /* then: by its cgroup's quota */
};

struct tree {
	/* Its next child is the root; 0 if there is none to come. */
	__u64 awaited_of;
	/* Its number in the first PID namespace, 0 before there is one. */
	__u64 root;
	/* The root is a program of its own, no longer a fork of ours. */
	__u64 executed;
	/* Threads that were seen, that ended, and that are in `spent` with their final times. */
	__u64 begun;
	__u64 exited;
	__u64 settled;
	/* Those settled by their times at the exit, for want of an event of their end. */
	__u64 early;
	/* System calls that came; the first ORDER are in the map. */
	__u64 recorded;
	/* What its threads waited for processors while waits were followed. */
	__u64 waited_ns;
	struct spent spent;
};

/* Shared with user space by mmap. */
struct shared {
	struct pid_namespace namespace;
	__s64 sums_from_rq; /* as holders.rs finds it */
	struct tree tree;
	__u64 lost_events;
	__u64 lost_members;
	__u64 unread_paths;
	/* Paths that could be read only when their call was over. */
	__u64 late_paths;
	/* Threads with a path for mark_return to read. */
	__u64 pending_paths;
	__u64 watched[NUMBERS];
	__u64 counts[NUMBERS];
};

/* When the k-th call of a number is a mark. */
struct call_key {
	__u64 number;
	__u64 k;
};

/* System calls of one number, on one processor. */
struct call_sum {
	__u64 count;
	__u64 ns;
};

struct call {
	__u64 at_ns;
	__u64 number;
};

#endif
