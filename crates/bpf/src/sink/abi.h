/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What sink.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_SINK_ABI_H
#define NETFATHOM_SINK_ABI_H

/* How many of the last sequences are remembered; a power of two. */
#define SLOTS 65536
/* Senders of one flow; a power of two. */
#define MOST_LANES 256

struct shared {
	/* One more than the flow that is counted; 0 of none. */
	__u64 flow_plus_1;
	/* Senders; each sends every n-th sequence of n, and order is a matter of each alone. */
	__u64 lanes;
	/* Slots of each, a power of two. */
	__u64 lane_slots;
	/* Messages of the flow: a sequence beyond them is damaged. */
	__u64 planned;
	/* One more than the highest number of each sender: sequence / lanes. */
	__u64 next[MOST_LANES];
	/* One more than the last number seen of those that share the slot. */
	__u64 slots[SLOTS];
};

/* One for each processor. */
struct counts {
	__u64 passed;
	__u64 delivered;
	__u64 duplicates;
	__u64 reordered;
	__u64 too_late;
	__u64 truncated;
	__u64 bytes;
	__u64 damaged;
};

#endif
