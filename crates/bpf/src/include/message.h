/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The message on the wire, as crates/model/src/message.rs describes it. */
#ifndef NETFATHOM_MESSAGE_H
#define NETFATHOM_MESSAGE_H

#define MAGIC 0x6e667468
#define PROTOCOL_IPV4 bpf_htons(0x0800)
#define PROTOCOL_IPV6 bpf_htons(0x86dd)
#define UDP_HEADER 8
#define NO_HEADER 0xffff

/*
 * Where the UDP header of a message lies, counted from the IP header; 0 of other packets.
 * Our own have neither IP options nor extension headers.
 */
static __always_inline __u32 udp_offset(__be16 protocol)
{
	if (protocol == PROTOCOL_IPV4)
		return 20;
	if (protocol == PROTOCOL_IPV6)
		return 40;
	return 0;
}

/* UDP header and message, in the words in which a packet is read below. */
struct datagram {
	__be32 udp[UDP_HEADER / 4];
	__be32 magic;
	__be32 flow;
	__be32 sequence_high;
	__be32 sequence_low;
	__be32 intended_high;
	__be32 intended_low;
	__be32 sent_high;
	__be32 sent_low;
};

/*
 * Makes any address readable by plain loads, which are checked by the fault handler: 2 ns
 * where bpf_probe_read_kernel takes 15. Since 6.2. The loads must be typed with a struct
 * that the kernel knows, and only words can be read: that of IPv6 has the eight words that
 * a message needs behind the eight bytes of the UDP header.
 */
extern void *bpf_rdonly_cast(const void *address, __u32 btf_id) __ksym __weak;

struct ipv6hdr {
	struct in6_addr saddr;
	struct in6_addr daddr;
} __attribute__((preserve_access_index));

#define word_of(address, n) ((address).in6_u.u6_addr32[n])

static __always_inline __u64 two_words(__be32 high, __be32 low)
{
	return (__u64)bpf_ntohl(high) << 32 | bpf_ntohl(low);
}

/* What the hooks want to know of a message. */
struct message {
	__u64 sequence;
	__u64 sent_ns;
};

static __always_inline int read_plain(const unsigned char *udp, __be32 flow, struct message *message)
{
	const struct ipv6hdr *words = bpf_rdonly_cast(udp, bpf_core_type_id_kernel(struct ipv6hdr));

	if (word_of(words->saddr, 0) != bpf_htonl(MAGIC) || word_of(words->saddr, 1) != flow)
		return -1;
	message->sequence = two_words(word_of(words->saddr, 2), word_of(words->saddr, 3));
	message->sent_ns = two_words(word_of(words->daddr, 2), word_of(words->daddr, 3));
	return 0;
}

static __always_inline int read_probed(const unsigned char *udp, __be32 flow, struct message *message)
{
	struct datagram datagram;

	if (bpf_probe_read_kernel(&datagram, sizeof(datagram), udp))
		return -1;
	if (datagram.magic != bpf_htonl(MAGIC) || datagram.flow != flow)
		return -1;
	message->sequence = two_words(datagram.sequence_high, datagram.sequence_low);
	message->sent_ns = two_words(datagram.sent_high, datagram.sent_low);
	return 0;
}

/* Reads the message of a UDP datagram; returns 0 if it is one of that flow. */
static __always_inline int read_datagram(const unsigned char *udp, __be32 flow, struct message *message)
{
	return bpf_ksym_exists(bpf_rdonly_cast) ? read_plain(udp, flow, message) : read_probed(udp, flow, message);
}

/*
 * Reads the message of a packet with its IP header at `ip`. Returns 0 if it is one of
 * that flow: 64 bits of magic and flow tell it from all others, whatever the protocol.
 */
static __always_inline int read_message(const struct sk_buff *skb, const unsigned char *ip, __be32 flow,
					struct message *message)
{
	__u32 offset = udp_offset(skb->protocol);

	return offset ? read_datagram(ip + offset, flow, message) : -1;
}

#endif
