/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets of followed sockets that the kernel drops, by its reason. */
#ifndef NETFATHOM_WATCH_DROPS_H
#define NETFATHOM_WATCH_DROPS_H

/* include/linux/socket.h */
#define AF_INET6 10
/* include/net/tcp_states.h */
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DROPS);
	__type(key, struct drop_key);
	__type(value, __u64);
} drops SEC(".maps");

/* One in another state is shorter than struct sock. */
static __always_inline bool is_full(const struct sock *sk)
{
	__u8 state = sk->__sk_common.skc_state;

	return state != TCP_TIME_WAIT && state != TCP_NEW_SYN_RECV;
}

static __always_inline bool is_of_network(const struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	return (family == AF_INET || family == AF_INET6) && (sk->sk_protocol == IPPROTO_TCP || is_udp(sk));
}

/* To is_followed() any storage will do, also another program's. This is for what does not look for its own anyway. */
static __always_inline bool is_ours(struct sock *sk)
{
	if (!is_full(sk) || !is_of_network(sk) || !is_followed(sk))
		return false;
	return config.creates || bpf_sk_storage_get(&flows, sk, 0, 0) || bpf_sk_storage_get(&sendings, sk, 0, 0) ||
	       bpf_sk_storage_get(&datagrams, sk, 0, 0) || bpf_sk_storage_get(&outgoings, sk, 0, 0);
}

static __always_inline void count_drop(__u32 sent, __u32 reason)
{
	struct drop_key drop = { .sent = sent, .reason = reason };
	__u64 *n = bpf_map_lookup_elem(&drops, &drop), none = 0;

	if (!n) {
		bpf_map_update_elem(&drops, &drop, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&drops, &drop);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
}

static __noinline int receive_drop(struct sock *sk, __u32 reason)
{
	if (config.receives && takes_new() && is_ours(sk))
		count_drop(0, reason);
	return 0;
}

static __noinline int send_drop(void *ctx, struct sk_buff *skb, struct sock *sk, __u32 reason)
{
	if (!config.sends || !is_sampling() || !is_ours(sk))
		return 0;
	if (takes_new())
		count_drop(1, reason);
	drop_datagram(ctx, skb, sk);
	return 0;
}

/*
 * A packet is dropped. Where the kernel names no socket that it came for, it may have found one early. What came through a
 * device has its index.
 */
SEC("tp_btf/kfree_skb")
int BPF_PROG(on_kfree_skb, struct sk_buff *skb, void *location, __u32 reason)
{
	struct sock *sk = skb->sk;

	if (config.names_receivers) {
		/* Not an argument above: the load has to stay behind the test. */
		struct sock *receiver = *(struct sock *volatile *)&ctx[3];

		if (receiver)
			return receive_drop(receiver, reason);
	}
	if (!sk)
		return 0;
	return skb->skb_iif ? receive_drop(sk, reason) : send_drop(ctx, skb, sk, reason);
}

#endif
