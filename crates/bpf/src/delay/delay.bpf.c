/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Idles on each packet that carries a message of ours, then lets it pass: a known delay
 * at a known place, to prove that the stages find it there and nowhere else.
 */
#include "../include/kernel.h"
#include "../include/message.h"
#include "abi.h"

/* Leaves the packet to whoever comes next (TC_ACT_UNSPEC, which is also TCX_NEXT). */
#define PASS (-1)
/* Offsets count from the IP header, whatever the link layer's header is (since 4.18). */
#define FROM_IP 1
#define ETHERNET_HEADER 14
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
/* More readings of the clock than fit into the longest delay, 1 ms. */
#define MOST_READINGS (1 << 20)

/* The start of the kernel's view of a packet for such programs; its layout is fixed. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
};

struct control control;

static __always_inline int load(struct __sk_buff *skb, __u32 offset, void *to, __u32 bytes)
{
	return bpf_skb_load_bytes_relative(skb, offset, to, bytes, FROM_IP);
}

/* Where the payload lies, counted from the IP header; 0 of what is neither UDP nor TCP. */
static __always_inline __u32 payload_offset(struct __sk_buff *skb)
{
	__u32 header = udp_offset(skb->protocol);
	__u8 protocol, words;

	if (!header || load(skb, skb->protocol == PROTOCOL_IPV4 ? 9 : 6, &protocol, 1))
		return 0;
	if (protocol == PROTOCOL_UDP)
		return header + UDP_HEADER;
	if (protocol != PROTOCOL_TCP || load(skb, header + 12, &words, 1))
		return 0;
	return header + words / 16 * 4;
}

/*
 * Of TCP: one that begins with a message. Its payload is in pages, where only the helper looks that counts from the link
 * layer; the devices of a lab are Ethernet's.
 */
static __always_inline bool carries_message(struct __sk_buff *skb)
{
	__u32 payload = payload_offset(skb);
	__be32 magic;

	return payload && !bpf_skb_load_bytes(skb, ETHERNET_HEADER + payload, &magic, sizeof(magic)) &&
	       magic == bpf_htonl(MAGIC);
}

/* One reading of the clock; ends the loop when the time is over. */
static long read_clock(__u32 reading, __u64 *end_ns)
{
	return bpf_ktime_get_ns() >= *end_ns;
}

static __always_inline int idle(struct __sk_buff *skb)
{
	__u64 end_ns = bpf_ktime_get_ns() + control.delay_ns;

	if (!control.delay_ns || !carries_message(skb))
		return PASS;
	bpf_loop(MOST_READINGS, read_clock, &end_ns, 0);
	__sync_fetch_and_add(&control.delayed, 1);
	return PASS;
}

SEC("tcx/egress")
int on_egress(struct __sk_buff *skb)
{
	return idle(skb);
}

SEC("tcx/ingress")
int on_ingress(struct __sk_buff *skb)
{
	return idle(skb);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
