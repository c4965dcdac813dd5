/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sockets of UDP: what they sent, and waits for its device. The hooks at the device are here for TCP too: they hand its
 * segments to sending.h.
 *
 * No tracepoint shows the beginning of the call, so without the functions' hooks a datagram begins at the queue of its
 * device. It is known by the address of its packet, which no other packet has before it is freed. One that is freed unseen leaves its place behind:
 * the next with that address, or the next that finds no other place, takes it. No lock is held: each place is taken and
 * given back by a compare-and-swap of the address.
 */
#ifndef NETFATHOM_WATCH_OUTGOING_H
#define NETFATHOM_WATCH_OUTGOING_H

/* Datagrams of one socket that wait; a power of two. The default send buffer has room for some 280. */
#define WAITING_LOG 8
#define WAITING (1 << WAITING_LOG)
/* Places that a packet may have. */
#define TRIES 8
/* A place that is being written to. No packet has this address. */
#define WRITTEN 1
/* include/net/ip.h, include/uapi/linux/in6.h, include/linux/socket.h */
#define MSG_MORE 0x8000
#define IP_MORE 0x2000
#define IP_OFFSET 0x1fff
#define NEXTHDR_HOP 0
#define NEXTHDR_ROUTING 43
#define NEXTHDR_FRAGMENT 44
#define NEXTHDR_DEST 60
#define IP6_MORE 1
#define IP6_OFFSET 0xfff8
#define IP6_HEADER 40
/* Headers of a packet of IPv6 behind its first one, with that of UDP. */
#define NEXT_HEADERS 5
#define UDP_HEADER 8

struct outgoing {
	__u64 packet; /* its address; 0: there is none */
	__u64 queued;
	__u64 bytes : 16;
	__u64 segments : 1; /* a device may have others in its place */
	__u64 called : 47; /* so long before, ns; 0: the call was not seen */
};

struct outgoings {
	struct outgoing places[WAITING];
	__u64 port; /* in the map of ports (drops.h); 0: none yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct outgoings);
} outgoings SEC(".maps");

/* That of a thread. */
struct call {
	__u64 socket; /* 0: it has returned */
	__u64 since;
	__u64 packet; /* that it has sent: 0 until then. Some devices hand it on to one that stands below none of them */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

static __noinline bool follow_opened(struct sock *sk)
{
	const __u64 flags = BPF_LOCAL_STORAGE_GET_F_CREATE;

	if (config.creates || sk->sk_type == SOCK_RAW || !follows_new_sockets())
		return false;
	if (config.sends && is_udp(sk) && !bpf_sk_storage_get(&outgoings, sk, 0, flags))
		return false;
	return !config.receives || bpf_sk_storage_get(&datagrams, sk, 0, flags);
}

/*
 * The address of the packet that a hook has as its first argument, as a number: the verifier refuses arithmetic with it
 * otherwise.
 */
static __always_inline __u64 address_of_first(void *ctx)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), ctx);
	return address;
}

/*
 * A packet passes several devices where one stands on another (VLAN, bond, bridge), where it came from a container, and
 * in a tunnel. Of devices that stand on each other the lowest counts, otherwise the first.
 */
static __always_inline bool is_at_its_device(const struct sk_buff *skb)
{
	const struct net_device *dev = skb->dev;

	if (!dev || skb->skb_iif || BPF_CORE_READ_BITFIELD_PROBED(skb, encapsulation))
		return false;
	return dev->lower_level == 1;
}

static __always_inline bool has_segments(const struct sk_buff *skb)
{
	return BPF_CORE_READ((struct skb_shared_info *)(skb->head + skb->end), gso_size) != 0;
}

/* Whether the headers of IPv6 that are next end with that of UDP, and which part of a datagram it is. */
static __noinline bool ends_with_udp(unsigned long at, __u8 next, __u32 *part)
{
	__u8 header[4];
	int i;

	for (i = 0; i < NEXT_HEADERS; i++) {
		if (next == IPPROTO_UDP)
			return true;
		if (next != NEXTHDR_HOP && next != NEXTHDR_ROUTING && next != NEXTHDR_FRAGMENT && next != NEXTHDR_DEST)
			return false;
		if (bpf_probe_read_kernel(header, sizeof(header), (void *)at))
			return false;
		if (next == NEXTHDR_FRAGMENT)
			*part = header[2] << 8 | header[3];
		/* What follows is no header. That the socket is one of UDP is known. */
		if (*part & IP6_OFFSET)
			return header[0] == IPPROTO_UDP;
		at += next == NEXTHDR_FRAGMENT ? 8 : (header[1] + 1) * 8;
		next = header[0];
	}
	return false;
}

/* The payload of a datagram. The last fragment stands for the whole. Negative of other fragments, and of what a tunnel made of it. */
static __always_inline int payload(const struct sk_buff *skb, const struct sock *sk)
{
	unsigned long network = (unsigned long)skb->head + skb->network_header;
	unsigned long transport = (unsigned long)skb->head + skb->transport_header, before;
	__u32 offset, part = 0, more;
	__be16 source = 0;
	__u8 header[20];

	if (bpf_probe_read_kernel(header, sizeof(header), (void *)network) ||
	    bpf_probe_read_kernel(&source, sizeof(source), (void *)transport))
		return -1;
	if (header[0] >> 4 == 4 && header[9] == IPPROTO_UDP) {
		part = header[6] << 8 | header[7];
		offset = (part & IP_OFFSET) * 8;
		more = part & IP_MORE;
	} else if (header[0] >> 4 == 6 && ends_with_udp(network + IP6_HEADER, header[6], &part)) {
		offset = part & IP6_OFFSET;
		more = part & IP6_MORE;
	} else {
		return -1;
	}
	if (more || (!offset && bpf_ntohs(source) != sk->__sk_common.skc_num))
		return -1;
	before = transport - (unsigned long)skb->data;
	/* Linux 7: as of a segment. */
	barrier_var(before);
	return offset + skb->len - (__u32)before - UDP_HEADER;
}

static __always_inline struct outgoing *place_for(struct outgoings *o, __u64 packet, __u32 try)
{
	return &o->places[((packet * 0x9e3779b97f4a7c15) >> (64 - WAITING_LOG)) + try & (WAITING - 1)];
}

static __noinline struct outgoing *find(struct outgoings *o, __u64 packet)
{
	__u32 try;

	for (try = 0; try < TRIES; try++) {
		struct outgoing *place = place_for(o, packet, try);

		if (observe(place->packet) == packet)
			return place;
	}
	return 0;
}

/* A place that is free, or else has another, which is given up. It is the caller's until that publishes the address. */
static __noinline struct outgoing *claim_for(struct outgoings *o, __u64 packet)
{
	struct outgoing *place;
	__u64 before;
	__u32 try;

	for (try = 0; try < TRIES; try++) {
		place = place_for(o, packet, try);
		if (!observe(place->packet) && !__sync_val_compare_and_swap(&place->packet, 0, WRITTEN))
			return place;
	}
	place = place_for(o, packet, 0);
	before = observe(place->packet);
	if (before == WRITTEN || __sync_val_compare_and_swap(&place->packet, before, WRITTEN) != before)
		return 0;
	if (before)
		count(tx_missed, 1);
	return place;
}

static __always_inline struct outgoings *outgoings_of(struct sock *sk, __u64 flags)
{
	if (!is_sampling() || !is_followed(sk))
		return 0;
	return bpf_sk_storage_get(&outgoings, sk, 0, config.creates ? flags : 0);
}

/* Takes a packet out, and has its times. What was before at its address is missed. */
static __always_inline bool take(struct outgoings *o, const struct sk_buff *skb, __u64 packet, struct outgoing *taken)
{
	struct outgoing *place = find(o, packet);

	if (!place)
		return false;
	*taken = *place;
	/* Otherwise its place is another's now, which has counted it. */
	if (__sync_val_compare_and_swap(&place->packet, packet, 0) != packet)
		return false;
	if (taken->queued >= this_sample() && taken->segments == has_segments(skb))
		return true;
	count(tx_missed, 1);
	return false;
}

/* The call of the thread that runs, if it is one to this socket. */
static __always_inline struct call *call_to(const struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call = task->bpf_storage ? bpf_task_storage_get(&calls, task, 0, 0) : 0;

	/* One that returned between two samples did so unseen. */
	return call && call->socket == (__u64)sk && call->since >= this_sample() ? call : 0;
}

/* Its address may have been another's, which is closed. */
static __always_inline bool was_read(const struct thread *thread, const struct sock *sk)
{
	return thread->read_from && thread->read_from == (__u64)sk->__sk_common.skc_cookie.counter;
}

/* The thread that runs answers what it has read. */
static __always_inline void note_answer(const struct sock *sk, __u64 now)
{
	struct thread *thread = config.receives ? followed(bpf_get_current_task_btf()) : 0;

	if (thread && thread->sample == this_sample() && !thread->answered_at && was_read(thread, sk))
		thread->answered_at = now;
}

static __noinline int queue_datagram(void *ctx, struct sk_buff *skb, struct sock *sk)
{
	struct outgoings *o = outgoings_of(sk, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct outgoing *place;
	__u64 now, packet;
	struct call *call;
	int bytes;

	if (!o || !is_at_its_device(skb))
		return 0;
	packet = address_of_first(ctx);
	call = call_to(sk);
	if (call && call->packet == packet)
		return 0;
	place = find(o, packet);
	bytes = payload(skb, sk);
	if (place && __sync_val_compare_and_swap(&place->packet, packet, 0) == packet)
		count(tx_missed, 1);
	if (bytes < 0 || !takes_new())
		return 0;
	if (call)
		call->packet = packet;
	count(tx_seen, 1);
	count(tx_udp, 1);
	if (!shared.datagrams)
		shared.datagrams = 1;
	now = bpf_ktime_get_ns();
	note_answer(sk, call ? call->since : now);
	place = claim_for(o, packet);
	if (!place) {
		count(tx_crowded, 1);
		return 0;
	}
	place->queued = now;
	place->called = call ? now - call->since : 0;
	place->bytes = bytes;
	place->segments = has_segments(skb);
	publish(place->packet, packet);
	return 0;
}

static __noinline int leave_datagram(void *ctx, struct sk_buff *skb, struct sock *sk)
{
	struct departure d = {};
	struct passing p = { .sk = sk };
	struct outgoing taken;
	struct outgoings *o = outgoings_of(sk, 0);

	if (!o || !is_at_its_device(skb) || !take(o, skb, address_of_first(ctx), &taken))
		return 0;
	d.queued = taken.queued;
	d.sent = d.queued - taken.called;
	d.left = bpf_ktime_get_ns();
	d.end = taken.bytes;
	if (config.by_socket)
		p.place = place_of(sk);
	sum_up_sent(&d, &p);
	return 0;
}

static __noinline int begin_call(struct sock *sk)
{
	struct call *call;

	if (!outgoings_of(sk, BPF_LOCAL_STORAGE_GET_F_CREATE) && !(is_sampling() && follow_opened(sk)))
		return 0;
	call = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call)
		return 0;
	call->socket = (__u64)sk;
	call->since = bpf_ktime_get_ns();
	call->packet = 0;
	return 0;
}

/* What a socket of IPv6 sends to an address of IPv4 comes from the other function. */
SEC("fentry/udp_sendmsg")
int BPF_PROG(tx_udp_sendmsg, struct sock *sk)
{
	return sk->__sk_common.skc_family == AF_INET ? begin_call(sk) : 0;
}

SEC("fentry/udpv6_sendmsg")
int BPF_PROG(tx_udpv6_sendmsg, struct sock *sk)
{
	return begin_call(sk);
}

/* drops.h has it. */
static int note_port(struct sock *sk, struct outgoings *o);

/*
 * The call is over. In it, the datagram may have come to its device's queue. One that failed, or sent the first part of a
 * datagram, is tried again, or goes on.
 */
static __noinline int datagram_returns(struct sock *sk, bool is_whole)
{
	struct outgoings *o = outgoings_of(sk, 0);
	struct thread *thread;
	struct call *call;

	if (!o) {
		/* Where no hook shows when a call begins, the first datagram went unseen. */
		if (!config.sees_calls && is_whole && is_sampling() && takes_new() && follow_opened(sk)) {
			count(tx_seen, 1);
			count(tx_udp, 1);
			count(tx_missed, 1);
			shared.datagrams = 1;
		}
		return 0;
	}
	if (config.receives && !config.creates && o->port != sk->__sk_common.skc_num)
		note_port(sk, o);
	call = call_to(sk);
	if (call)
		call->socket = 0;
	if (!shared.process)
		name_process(bpf_get_current_task_btf());
	if (config.by_socket)
		take_place(sk);
	thread = config.receives ? followed(bpf_get_current_task_btf()) : 0;
	if (!thread || !was_read(thread, sk))
		return 0;
	if (thread->answered_at)
		add(SPAN_APPLICATION, thread->answered_at - thread->read_at);
	if (thread->answered_at || is_whole)
		thread->read_from = 0;
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(tx_sock_send_length, struct sock *sk, int bytes, int flags)
{
	if (is_unix(sk))
		return sent_to_unix(sk, bytes);
	return is_udp(sk) ? datagram_returns(sk, bytes >= 0 && !(flags & MSG_MORE)) : returns(sk);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tx_net_dev_queue, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	if (sk && is_udp(sk))
		return queue_datagram(ctx, skb, sk);
	return queue_segment(skb);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(tx_net_dev_start_xmit, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	if (sk && is_udp(sk))
		return leave_datagram(ctx, skb, sk);
	return leave_segment(skb);
}

/* A packet that was sent is dropped. */
static __always_inline void drop_datagram(void *ctx, const struct sk_buff *skb, struct sock *sk)
{
	struct outgoings *o = is_udp(sk) ? outgoings_of(sk, 0) : 0;
	struct outgoing taken;

	if (o && take(o, skb, address_of_first(ctx), &taken))
		count(tx_dropped, 1);
}

#endif
