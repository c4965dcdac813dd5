/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ends in a device's driver: the datagrams of one flow are sent back or dropped before the kernel
 * has made a packet buffer of them. All else passes.
 */
#ifndef NETFATHOM_MESSAGE_DRIVER_H
#define NETFATHOM_MESSAGE_DRIVER_H

#include "../include/datagram.h"

/* A datagram of IPv4 without options, up to its payload. */
struct headers {
	__u8 mac_to[6];
	__u8 mac_from[6];
	__be16 protocol;
	__u8 ip[12];
	__be32 from;
	__be32 to;
	__be16 port_from;
	__be16 port_to;
	__be16 length;
	__u16 checksum;
} __attribute__((packed));

/* The headers of a datagram that came from there to here, whole; null of all else. */
static __always_inline struct headers *datagram_of_flow(struct xdp_md *packet, __u32 *bytes)
{
	struct headers *headers = (void *)(long)packet->data;
	struct datagram_in_frame found = {};

	if (!find_datagram(packet, shared.port_here, &found) || (void *)(headers + 1) > found.end)
		return 0;
	if (headers->protocol != PROTOCOL_IPV4 || found.udp != (void *)&headers->port_from)
		return 0;
	if (headers->from != shared.there || headers->to != shared.here || headers->port_from != shared.port_there)
		return 0;
	*bytes = found.bytes - UDP_HEADER;
	return headers;
}

/*
 * Has a datagram go back to where it came from. One that a socket of this host sent has no checksum
 * of UDP yet, which its device was to make; so it goes without (RFC 768: 0). That of IP stays right.
 */
static __always_inline void turn_round(struct headers *headers)
{
	struct headers came;

	__builtin_memcpy(&came, headers, sizeof(came));
	__builtin_memcpy(headers->mac_to, came.mac_from, sizeof(came.mac_from));
	__builtin_memcpy(headers->mac_from, came.mac_to, sizeof(came.mac_to));
	headers->from = came.to;
	headers->to = came.from;
	headers->port_from = came.port_to;
	headers->port_to = came.port_from;
	headers->checksum = 0;
}

SEC("xdp")
int driver_echo(struct xdp_md *packet)
{
	__u32 bytes;
	struct headers *headers = datagram_of_flow(packet, &bytes);

	if (!headers)
		return XDP_PASS;
	if (!is_answered(book(bytes)))
		return XDP_DROP;
	turn_round(headers);
	/* The driver does not say which frames it could not send. */
	add(&shared.returned_bytes, bytes);
	return XDP_TX;
}

SEC("xdp")
int driver_sink(struct xdp_md *packet)
{
	__u32 bytes;

	if (!datagram_of_flow(packet, &bytes))
		return XDP_PASS;
	book(bytes);
	return XDP_DROP;
}

#endif
