/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The time of each message at each hook of its way through the stack.
 *
 * Hooks only stamp; spans are summed where a way ends, after its last stamp, so that
 * the sums do not lie within the spans: sending ends in net_dev_xmit here, receiving
 * in the application.
 */
#include "../include/kernel.h"
#include "../include/histogram.h"
#include "../include/message.h"
#include "../include/order.h"
#include "../include/reader.h"
#include "../include/account.h"
#include "abi.h"

/* include/linux/netdevice.h, include/linux/socket.h */
#define NET_XMIT_MASK 0x0f
#define MSG_PEEK 2

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpu_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_sums);
} tx_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_windows);
} tx_windows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct part_sums);
} part_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct part_windows);
} part_windows SEC(".maps");

static const __u32 zero = 0;

static __always_inline struct cpu_state *this_cpu(void)
{
	return bpf_map_lookup_elem(&cpu_states, &zero);
}

static __always_inline void count_lost(enum join at)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		cpu->lost[at]++;
}

/* The message of our flow with its IP header at `ip`; its owner number, or 0. */
static __always_inline __u64 owner_at(const struct sk_buff *skb, const unsigned char *ip,
				      struct message *message)
{
	if (read_message(skb, ip, shared.flow_be, message))
		return 0;
	return message->sequence + 1;
}

/* On the way out `data` is at the link layer's header; the IP header has its own mark. */
static __always_inline __u64 outgoing(const struct sk_buff *skb, struct message *message)
{
	__u16 offset = skb->network_header;

	return offset == NO_HEADER ? 0 : owner_at(skb, skb->head + offset, message);
}

/* On the way in the link layer's header has been taken off and `data` is at IP. */
static __always_inline __u64 incoming(const struct sk_buff *skb)
{
	struct message message;

	return owner_at(skb, skb->data, &message);
}

static __always_inline struct tx_slot *tx_slot(__u64 owner)
{
	return &shared.tx[owner & (SLOTS - 1)];
}

static __always_inline struct rx_slot *rx_slot(__u64 owner)
{
	return &shared.rx[owner & (SLOTS - 1)];
}

#include "send.h"
#include "receive.h"
#include "stream.h"

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_kfree_skb, struct sk_buff *skb, void *location)
{
	unsigned int reason = 0;
	struct message message;
	struct cpu_state *cpu;

	if (!outgoing(skb, &message))
		return 0;
	cpu = this_cpu();
	/* Before Linux 5.17 the event has no third argument. */
	if (bpf_core_type_exists(enum skb_drop_reason))
		reason = ctx[2];
	/* Other subsystems number theirs from 2^16 on; the last place is for all of them. */
	if (reason >= REASONS)
		reason = REASONS - 1;
	/* The mask shows the verifier the bound; clang must not see that it changes nothing. */
	barrier_var(reason);
	if (cpu)
		cpu->drops[reason & (REASONS - 1)]++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
