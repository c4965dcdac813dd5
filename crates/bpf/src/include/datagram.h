/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds a UDP datagram in a frame at a device's driver. */
#ifndef NETFATHOM_DATAGRAM_H
#define NETFATHOM_DATAGRAM_H

#include "message.h"
#include "xdp.h"

#define ETHERNET_HEADER 14
#define IP_FRAGMENT bpf_htons(0x3fff)
#define PROTOCOL_UDP 17

struct datagram_in_frame {
	void *udp;
	void *end;
	/* Header and payload. */
	__u32 bytes;
};

static __always_inline void *udp_of_ipv4(void *ip, struct datagram_in_frame *found)
{
	__u8 *byte = ip;
	__u32 header;

	if (ip + 20 > found->end || byte[9] != PROTOCOL_UDP || *(__be16 *)(ip + 6) & IP_FRAGMENT)
		return 0;
	header = (byte[0] & 15) * 4;
	if (header < 20)
		return 0;
	return ip + header;
}

static __always_inline void *udp_of_ipv6(void *ip, struct datagram_in_frame *found)
{
	if (ip + 40 > found->end || *(__u8 *)(ip + 6) != PROTOCOL_UDP)
		return 0;
	return ip + 40;
}

/*
 * The datagram to that port in a frame, whole: no fragment, no VLAN tag, no extension
 * header. One that is shorter than its length says is left to the stack, which drops and
 * counts it. Returns false for all else.
 */
static __always_inline bool find_datagram(struct xdp_md *packet, __be16 port, struct datagram_in_frame *found)
{
	void *frame = (void *)(long)packet->data;
	__be16 protocol;

	found->end = (void *)(long)packet->data_end;
	if (frame + ETHERNET_HEADER > found->end)
		return false;
	protocol = *(__be16 *)(frame + 12);
	if (protocol == PROTOCOL_IPV4)
		found->udp = udp_of_ipv4(frame + ETHERNET_HEADER, found);
	else if (protocol == PROTOCOL_IPV6)
		found->udp = udp_of_ipv6(frame + ETHERNET_HEADER, found);
	else
		return false;
	if (!found->udp || found->udp + UDP_HEADER > found->end || *(__be16 *)(found->udp + 2) != port)
		return false;
	found->bytes = bpf_ntohs(*(__be16 *)(found->udp + 4));
	/*
	 * Swapping bytes leaves the verifier up to at least Linux 6.18.15 without any bound, and it
	 * refuses to add the length to a packet pointer. The mask changes nothing; C would lose it.
	 */
	asm volatile("%0 &= 0xffff" : "+r"(found->bytes));
	if (found->bytes < UDP_HEADER || found->udp + found->bytes > found->end)
		return false;
	return true;
}

#endif
