/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs at the driver of a receiving device: one counts the messages of a flow and
 * drops them, one hands those to a port to an AF_XDP socket, one does nothing.
 */
#include "../include/kernel.h"
#include "../include/datagram.h"
#include "abi.h"

/* Processors that may raise `next` at the same moment before one gives up. */
#define RAISE_TRIES 16

/* The UDP port of the messages, written before a program is loaded. */
const volatile __u32 port_be;
struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* AF_XDP sockets by receive queue. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

/* Makes a sender's `next` more than the number. Returns whether it was not yet: the newest so far. */
static __always_inline bool raise_next(__u64 *lane_next, __u64 number)
{
	__u64 next = *(volatile __u64 *)lane_next;
	int i;

	for (i = 0; i < RAISE_TRIES; i++) {
		__u64 before;

		if (number < next)
			return false;
		before = __sync_val_compare_and_swap(lane_next, next, number + 1);
		if (before == next)
			return true;
		next = before;
	}
	return true;
}

static __always_inline void count_sequence(struct counts *counts, __u64 sequence, __u32 payload)
{
	__u64 lanes = shared.lanes, lane_slots = shared.lane_slots;
	__u64 lane = 0, number = sequence;
	__u64 before, slot;
	__u64 *next;

	if (sequence >= shared.planned) {
		counts->damaged++;
		return;
	}
	/* Most flows have one sender, and divisions take longer than all else here. */
	if (lanes > 1) {
		lane = sequence % lanes;
		number = sequence / lanes;
	}
	next = &shared.next[lane & (MOST_LANES - 1)];
	/* Its slot is that of a newer one: whether it came before is unknown. */
	if (number + lane_slots < *(volatile __u64 *)next) {
		counts->too_late++;
		return;
	}
	slot = lane * lane_slots + (number & (lane_slots - 1));
	before = __sync_lock_test_and_set(&shared.slots[slot & (SLOTS - 1)], number + 1);
	if (before == number + 1) {
		counts->duplicates++;
		return;
	}
	if (!raise_next(next, number))
		counts->reordered++;
	counts->delivered++;
	counts->bytes += payload;
}

/* Counts a datagram to the port. Returns whether it is a message of the flow, or a piece of one. */
static __always_inline bool count_message(struct counts *counts, struct xdp_md *packet,
					  const struct datagram_in_frame *found)
{
	__u32 payload = found->bytes - UDP_HEADER;
	struct datagram *message = found->udp;
	__u64 flow_plus_1 = *(volatile __u64 *)&shared.flow_plus_1;

	if (!flow_plus_1 || payload < sizeof(message->magic))
		return false;
	if (found->udp + UDP_HEADER + sizeof(message->magic) > found->end || message->magic != bpf_htonl(MAGIC))
		return false;
	if (found->bytes < sizeof(*message) || found->udp + sizeof(*message) > found->end) {
		counts->truncated++;
		return true;
	}
	if (bpf_ntohl(message->flow) + 1ULL != flow_plus_1)
		return false;
	count_sequence(counts, two_words(message->sequence_high, message->sequence_low), payload);
	return true;
}

SEC("xdp")
int count_and_drop(struct xdp_md *packet)
{
	/* Not a constant beside port_be, which user space takes for the only one. */
	__u32 zero = 0;
	struct counts *mine = bpf_map_lookup_elem(&counts, &zero);
	struct datagram_in_frame found = {};

	if (!mine)
		return XDP_PASS;
	if (find_datagram(packet, port_be, &found) && count_message(mine, packet, &found))
		return XDP_DROP;
	mine->passed++;
	return XDP_PASS;
}

SEC("xdp")
int redirect(struct xdp_md *packet)
{
	struct datagram_in_frame found = {};

	if (!find_datagram(packet, port_be, &found))
		return XDP_PASS;
	/* To the stack where the queue has no socket. */
	return bpf_redirect_map(&sockets, packet->rx_queue_index, XDP_PASS);
}

/* Attached natively it makes a veth poll, which takes frames of XDP from then on. */
SEC("xdp.frags")
int pass(struct xdp_md *packet)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
