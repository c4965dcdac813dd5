/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets of followed sockets that the kernel drops, by its reason. A datagram that is dropped before UDP looked for its
 * socket, as by netfilter, is known by the port that it goes to.
 */
#ifndef NETFATHOM_WATCH_DROPS_H
#define NETFATHOM_WATCH_DROPS_H

/* include/linux/socket.h */
#define AF_INET6 10
/* include/net/tcp_states.h */
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12
/* include/uapi/linux/if.h */
#define IFF_LOOPBACK 8
/* include/linux/skbuff.h: beside the address of a route */
#define SKB_DST_NOREF 1

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DROPS);
	__type(key, struct drop_key);
	__type(value, __u64);
} drops SEC(".maps");

/* Those of marked sockets of UDP, while they are open and later. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PORTS);
	__type(key, struct udp_port);
	__type(value, __u32);
} ports SEC(".maps");

/* A socket that has sent has a port; it may have had none when user space looked. */
static __noinline int note_port(struct sock *sk, struct outgoings *o)
{
	struct udp_port of = {
		.net = BPF_CORE_READ(sk, __sk_common.skc_net.net, net_cookie),
		.port = sk->__sk_common.skc_num,
	};
	const __u32 any = 1;

	bpf_map_update_elem(&ports, &of, &any, 0);
	o->port = of.port;
	return 0;
}

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

/* The port that a datagram goes to; 0 of fragments and of other packets. */
static __always_inline __u16 destination_port(const struct sk_buff *skb)
{
	unsigned long network = (unsigned long)skb->head + skb->network_header;
	unsigned long transport = (unsigned long)skb->head + skb->transport_header;
	__be16 ends[2];
	__u8 header[10];

	if (bpf_probe_read_kernel(header, sizeof(header), (void *)network) ||
	    bpf_probe_read_kernel(ends, sizeof(ends), (void *)transport))
		return 0;
	if (header[0] >> 4 == 6)
		return header[6] == IPPROTO_UDP ? bpf_ntohs(ends[1]) : 0;
	if (header[0] >> 4 != 4 || header[9] != IPPROTO_UDP || (header[6] << 8 | header[7]) & (IP_MORE | IP_OFFSET))
		return 0;
	return bpf_ntohs(ends[1]);
}

static __always_inline bool is_watched_port(const struct udp_port *to)
{
	if (config.creates)
		return shared.port_is_udp && to->port == config.port && !config.peer_port;
	return bpf_map_lookup_elem(&ports, to);
}

/* The route of what this host keeps ends at the loopback device. What it forwards may go to the same port elsewhere. */
static __noinline int port_drop(const struct sk_buff *skb, __u32 reason)
{
	struct dst_entry *route = (void *)(skb->_skb_refdst & ~SKB_DST_NOREF);
	struct net_device *device;
	struct udp_port to = {};

	if (!config.receives || !route || !takes_new())
		return 0;
	device = BPF_CORE_READ(route, dev);
	if (!(BPF_CORE_READ(device, flags) & IFF_LOOPBACK))
		return 0;
	to.net = BPF_CORE_READ(device, nd_net.net, net_cookie);
	to.port = destination_port(skb);
	if (to.port && is_watched_port(&to))
		count_drop(0, reason);
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
	if (!skb->skb_iif)
		return sk ? send_drop(ctx, skb, sk, reason) : 0;
	return sk ? receive_drop(sk, reason) : port_drop(skb, reason);
}

#endif
