/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The message on the wire, as crates/model/src/message.rs describes it. */
#ifndef NETFATHOM_MESSAGE_H
#define NETFATHOM_MESSAGE_H

#define MAGIC 0x6e667468
#define PROTOCOL_IPV4 bpf_htons(0x0800)
#define PROTOCOL_IPV6 bpf_htons(0x86dd)
#define PROTOCOL_UDP 17
#define UDP_HEADER 8
#define NO_HEADER 0xffff

struct message {
	__be32 magic;
	__be32 flow;
	__be64 sequence;
	__be64 intended_ns;
	__be64 sent_ns;
};

/*
 * Reads the message of a packet whose IP header lies at `ip`. Returns 0 if it is one.
 * Extension headers are not followed: our own packets have none.
 */
static __always_inline int read_message(const struct sk_buff *skb, const unsigned char *ip,
					struct message *message)
{
	/* The UDP header stands here together with the message, read in one go. */
	struct {
		__u8 udp[UDP_HEADER];
		struct message message;
	} datagram;
	__u8 first;

	if (skb->protocol == PROTOCOL_IPV4) {
		struct iphdr_wire header;

		if (bpf_probe_read_kernel(&header, sizeof(header), ip) || header.protocol != PROTOCOL_UDP)
			return -1;
		ip += (header.ihl_version & 0x0f) * 4;
	} else if (skb->protocol == PROTOCOL_IPV6) {
		if (bpf_probe_read_kernel(&first, 1, ip + 6) || first != PROTOCOL_UDP)
			return -1;
		ip += 40;
	} else {
		return -1;
	}
	if (bpf_probe_read_kernel(&datagram, sizeof(datagram), ip))
		return -1;
	if (datagram.message.magic != bpf_htonl(MAGIC))
		return -1;
	*message = datagram.message;
	return 0;
}

#endif
