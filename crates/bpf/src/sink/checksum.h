/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Verifies the UDP checksum of a datagram at a device's driver. */
#ifndef NETFATHOM_SINK_CHECKSUM_H
#define NETFATHOM_SINK_CHECKSUM_H

/* Bytes that are added at once: even, and a multiple of four for the kernel's helper. */
#define BLOCK 256
#define MOST_BLOCKS (65536 / BLOCK)

/* What is still to be added, and the sum so far. */
struct summing {
	struct xdp_md *packet;
	__u32 offset;
	__u32 left;
	__s64 sum;
};

/*
 * Adds the next block; ends the loop behind the last. A loop over packet pointers would be
 * followed by the verifier for each length that a datagram can have, which is too much.
 */
static long add_block(__u32 index, struct summing *s)
{
	__u32 block[BLOCK / 4] = {};
	__u32 bytes = s->left;

	if (bytes > BLOCK)
		bytes = BLOCK;
	if (!bytes)
		return 1;
	/* The verifier of Linux 6.1 forgets at a spill that it is not 0. This changes nothing. */
	barrier_var(bytes);
	bytes = ((bytes - 1) & (BLOCK - 1)) + 1;
	if (bpf_xdp_load_bytes(s->packet, s->offset, block, bytes))
		return 1;
	s->sum = bpf_csum_diff(0, 0, block, BLOCK, s->sum);
	s->offset += bytes;
	s->left -= bytes;
	return 0;
}

static __always_inline bool checksum_is_right(struct xdp_md *packet, const struct datagram_in_frame *found)
{
	struct summing s = {
		.packet = packet,
		.offset = (long)found->udp - (long)packet->data,
		.left = found->bytes,
		.sum = fold(found->pseudo_sum),
	};

	/* None: IPv4 allows it, and the stack drops it of IPv6. */
	if (!*(__be16 *)(found->udp + 6))
		return true;
	bpf_loop(MOST_BLOCKS, add_block, &s, 0);
	return !s.left && fold((__u32)s.sum) == 0xffff;
}

#endif
