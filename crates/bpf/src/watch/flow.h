/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sockets: what came into them and was not read yet. */
#ifndef NETFATHOM_WATCH_FLOW_H
#define NETFATHOM_WATCH_FLOW_H

/* Messages that wait in one socket; a power of two. Beyond half of it they are merged. */
#define RING 64
/* include/net/tcp.h */
#define TCPHDR_FIN 1

enum state {
	GONE, /* read, or refused by TCP */
	READY,
	AHEAD, /* of a hole */
	FILLED, /* was ahead of a hole, and is ready */
};

/* A message, in the order of arrival. */
struct arrival {
	__u64 link; /* at the link layer, CLOCK_MONOTONIC; 0: unknown */
	__u64 taken; /* by TCP */
	__u64 ready;
	__u32 end; /* the sequence number after its last byte */
	__u32 bytes;
	__u32 state;
	__u32 locked; /* came while a system call had the socket: it waited for that */
};

/* Whether a socket is followed, from the first look at it on. */
enum met {
	NOT_MET,
	FOLLOWED,
	ENCRYPTED, /* followed; the kernel encrypts */
	LEFT, /* not followed: the application has the socket of MPTCP, which reads from this one */
};

/* Which end it is. If the kernel's counts do not show it, who speaks first is a client. */
enum role {
	UNKNOWN,
	SERVER,
	CLIENT,
};

/* Of one socket: its messages that wait to be read, in a ring from head to tail. */
struct flow {
	enum role role; /* first, for user space */
	__u32 met; /* enum met */
	__u32 read_until; /* the sequence number after the last byte that was read */
	__u32 head;
	__u32 tail;
	__u64 sample; /* all this is of that one */
	__u64 ahead; /* waiting messages that came ahead of a hole */
	__u64 in_order; /* when the last message in order came */
	__u64 read_at; /* of a server; 0: something was sent since */
	__u64 asked_at; /* of a client; 0: something was read since */
	__u64 established; /* 0: what came with the handshake is among the messages */
	struct arrival ring[RING];
};

/* Accepted sockets have what their listener has. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

static __always_inline bool after(__u32 a, __u32 b)
{
	return (__s32)(b - a) < 0;
}

static __always_inline struct arrival *arrival(struct flow *flow, __u32 place)
{
	return &flow->ring[place & (RING - 1)];
}

/* What TCP has read in the header of a segment. */
struct segment {
	__u32 seq; /* of its payload */
	__u32 end;
	__u32 acked; /* what it acknowledges is before that */
};

/* One copy of them all, as each takes a call. */
static __always_inline bool read_segment(const struct sk_buff *skb, struct segment *segment)
{
	char cb[sizeof(skb->cb)] __attribute__((aligned(8)));

	if (bpf_probe_read_kernel(cb, sizeof(cb), &skb->cb))
		return false;
	segment->seq = *(__u32 *)(cb + bpf_core_field_offset(struct tcp_skb_cb, seq));
	segment->end = *(__u32 *)(cb + bpf_core_field_offset(struct tcp_skb_cb, end_seq));
	segment->acked = *(__u32 *)(cb + bpf_core_field_offset(struct tcp_skb_cb, ack_seq));
	if (segment->seq != segment->end && cb[bpf_core_field_offset(struct tcp_skb_cb, tcp_flags)] & TCPHDR_FIN)
		segment->end--;
	return true;
}

struct settling {
	struct flow *flow;
	__u32 rcv_nxt;
	bool covered; /* something that waits has all of the segment */
	struct segment segment;
};

static long settle_one(__u32 i, struct settling *s)
{
	struct arrival *a = arrival(s->flow, s->flow->head + i);

	if (a->state != AHEAD)
		return 0;
	if (!after(a->end, s->rcv_nxt)) {
		if (s->flow->in_order < a->taken) {
			/* What filled the hole was not seen, so it is not known since when this is ready. */
			a->state = GONE;
			s->flow->ahead--;
			count(unfollowed, 1);
			return 0;
		}
		a->ready = s->flow->in_order;
		a->state = FILLED;
	} else if (!after(s->segment.end, a->end) && !after(a->end - a->bytes, s->segment.seq)) {
		s->covered = true;
	}
	return 0;
}

/* Messages ahead of a hole are ready since the one came that filled it: the last one in order. */
static __always_inline void settle(struct settling *s)
{
	if (s->flow->ahead)
		bpf_loop(RING, settle_one, s, 0);
}

/* The newest message came in order; as TCP does not expect what is after it, it was not taken, or not wholly. */
static __always_inline void take_back(struct flow *flow, __u32 rcv_nxt)
{
	struct arrival *last = arrival(flow, flow->tail - 1);
	__u32 refused = last->end - rcv_nxt;

	if (flow->head == flow->tail || last->state != READY || !after(last->end, rcv_nxt))
		return;
	if (refused >= last->bytes) {
		last->state = GONE;
		count(refused, 1);
		return;
	}
	last->end = rcv_nxt;
	last->bytes -= refused;
}

/* Into the last message, which is the older one: its times stay. */
static __always_inline bool merged(struct flow *flow, const struct segment *segment, __u32 state)
{
	struct arrival *last = arrival(flow, flow->tail - 1);

	if (flow->tail - flow->head <= RING / 2 || last->state != state || last->end != segment->seq)
		return false;
	last->bytes += segment->end - segment->seq;
	last->end = segment->end;
	count(merged, 1);
	return true;
}

static __always_inline void push(struct flow *flow, const struct segment *segment, __u32 state, const struct sk_buff *skb,
				 const struct sock *sk, __u64 now)
{
	struct arrival *a = arrival(flow, flow->tail);

	if (merged(flow, segment, state))
		return;
	if (flow->tail - flow->head >= RING) {
		count(crowded, 1);
		return;
	}
	a->link = skb->tstamp ? skb->tstamp - shared.realtime_ahead : 0;
	a->taken = a->ready = now;
	a->end = segment->end;
	a->bytes = segment->end - segment->seq;
	a->state = state;
	a->locked = sk->sk_lock.owned != 0;
	flow->ahead += state == AHEAD;
	flow->tail++;
}

/* Of a connection of MPTCP. */
static __always_inline bool is_part(const struct tcp_sock *tcp)
{
	return bpf_core_field_exists(tcp->is_mptcp) && BPF_CORE_READ_BITFIELD_PROBED(tcp, is_mptcp);
}

/*
 * The end that connected has its SYN among the bytes that were acknowledged, but not among those that it sent. What a queue
 * drops on this host is counted again when it is sent again: then nothing is known.
 */
static __always_inline enum role role_of(const struct tcp_sock *tcp)
{
	__u32 counted = tcp->bytes_acked + tcp->snd_nxt - tcp->snd_una;
	__u32 sent = tcp->bytes_sent - tcp->bytes_retrans;

	if (counted == sent)
		return SERVER;
	return counted - sent == 1 ? CLIENT : UNKNOWN;
}

static __always_inline void begin_flow(struct flow *flow, const struct tcp_sock *tcp)
{
	flow->sample = this_sample();
	flow->read_until = tcp->rcv_nxt;
	flow->head = flow->tail = 0;
	flow->ahead = flow->in_order = flow->read_at = flow->asked_at = flow->established = 0;
	if (flow->met)
		return;
	flow->met = is_part(tcp) ? LEFT : FOLLOWED;
	if (!flow->role)
		flow->role = config.serves ? SERVER : role_of(tcp);
	if (flow->met == LEFT)
		count(mptcp, 1);
}

static __always_inline struct flow *flow_of(struct sock *sk, const struct tcp_sock *tcp)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, config.creates ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);

	if (flow && flow->sample != this_sample())
		begin_flow(flow, tcp);
	return flow;
}

/*
 * A segment that ends the handshake may have payload: the first request, where the listener waits for it
 * (TCP_DEFER_ACCEPT), or where it was faster than the bare acknowledgment, on another processor. No hook sees it come. It
 * is in the socket's queue until the first read ends, or was taken from there.
 */
static __always_inline void join_first(struct flow *flow, const struct sock *sk, const struct tcp_sock *tcp)
{
	const struct sk_buff *skb = sk->sk_receive_queue.next;
	__u64 established = flow->established;
	struct segment segment;

	flow->established = 0;
	if (!established || tcp->rcv_nxt == flow->read_until)
		return;
	count(seen, 1);
	/* What came later came to a socket that is half closed, which no hook sees. */
	if (skb == (void *)&sk->sk_receive_queue || !read_segment(skb, &segment) || !after(segment.end, flow->read_until) ||
	    (skb->tstamp && skb->tstamp - shared.realtime_ahead > established)) {
		count(unstamped, 1);
		return;
	}
	push(flow, &segment, READY, skb, sk, established);
	arrival(flow, flow->tail - 1)->locked = false;
}

/* A segment with payload, which TCP has not looked at yet. */
static __always_inline void arrive(struct sock *sk, const struct tcp_sock *tcp, const struct sk_buff *skb,
				   const struct segment *segment, __u64 now)
{
	struct settling s = { .rcv_nxt = tcp->rcv_nxt, .segment = *segment };
	bool in_order;

	s.flow = flow_of(sk, tcp);
	if (!s.flow || s.flow->met == LEFT)
		return;
	join_first(s.flow, sk, tcp);
	settle(&s);
	take_back(s.flow, s.rcv_nxt);
	if (!after(s.segment.end, s.rcv_nxt) || s.covered)
		return; /* it came before */
	in_order = !after(s.segment.seq, s.rcv_nxt);
	if (in_order) {
		s.segment.seq = s.rcv_nxt;
		s.flow->in_order = now;
	}
	if (!takes_new())
		return;
	count(seen, 1);
	push(s.flow, &s.segment, in_order ? READY : AHEAD, skb, sk, now);
}

/* A server's own time ends: from the last byte that it read to the first one that it sends. A client begins to wait. */
static __always_inline void answer(struct sock *sk, const struct tcp_sock *tcp, __u64 now)
{
	struct flow *flow = flow_of(sk, tcp);

	if (!flow)
		return;
	if (!flow->role)
		flow->role = CLIENT;
	if (flow->role == CLIENT && !flow->asked_at && takes_new())
		flow->asked_at = now;
	/* What a client has read is an answer: no other end waits for what it sends next. */
	if (flow->role == CLIENT || !flow->read_at)
		return;
	add(SPAN_APPLICATION, now - flow->read_at);
	if (config.keeps_slow && (__s64)(now - flow->read_at) >= (__s64)shared.slow_application_ns)
		keep_application(sk, flow->read_at, now);
	flow->read_at = 0;
}

/* A client has its answer. */
static __always_inline void answered(struct flow *flow, __u64 now)
{
	if (!flow->role)
		flow->role = SERVER;
	if (flow->asked_at)
		add(SPAN_ANSWER, now - flow->asked_at);
	flow->asked_at = 0;
}

#endif
