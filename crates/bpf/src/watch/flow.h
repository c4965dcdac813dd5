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

/* What is done with a socket. */
enum met {
	NOT_MET,
	FOLLOWED,
	ENCRYPTED, /* followed; the kernel encrypts */
	LEFT, /* not followed: the application has the socket of MPTCP, which reads from this one */
};

/* Who speaks first. */
enum role {
	UNKNOWN,
	SERVER,
	CLIENT,
};

struct flow {
	__u32 met;
	__u32 read_until;
	__u32 head;
	__u32 tail;
	__u64 ahead; /* waiting messages that came ahead of a hole */
	__u64 in_order; /* when the last message in order came */
	__u64 read_at; /* 0: something was sent since */
	__u64 asked_at; /* 0: something was read since */
	__u32 role;
	__u32 unused;
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
		count(COUNT_REFUSED, 1);
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
	count(COUNT_MERGED, 1);
	return true;
}

static __always_inline void push(struct flow *flow, const struct segment *segment, __u32 state, const struct sk_buff *skb,
				 const struct sock *sk, __u64 now)
{
	struct arrival *a = arrival(flow, flow->tail);

	if (merged(flow, segment, state))
		return;
	if (flow->tail - flow->head >= RING) {
		count(COUNT_CROWDED, 1);
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

/* A segment with payload, which TCP has not looked at yet. */
static __always_inline void arrive(struct sock *sk, const struct tcp_sock *tcp, const struct sk_buff *skb,
				   const struct segment *segment, __u64 now)
{
	struct settling s = { .rcv_nxt = tcp->rcv_nxt, .segment = *segment };

	s.flow = bpf_sk_storage_get(&flows, sk, 0, config.port ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!s.flow)
		return;
	if (!s.flow->met) {
		s.flow->met = is_part(tcp) ? LEFT : FOLLOWED;
		s.flow->read_until = s.rcv_nxt;
		if (s.flow->met == LEFT)
			count(COUNT_MPTCP, 1);
	}
	if (s.flow->met == LEFT)
		return;
	settle(&s);
	take_back(s.flow, s.rcv_nxt);
	if (!after(s.segment.end, s.rcv_nxt) || s.covered)
		return; /* it came before */
	count(COUNT_SEEN, 1);
	if (after(s.segment.seq, s.rcv_nxt)) {
		push(s.flow, &s.segment, AHEAD, skb, sk, now);
		return;
	}
	s.segment.seq = s.rcv_nxt;
	s.flow->in_order = now;
	push(s.flow, &s.segment, READY, skb, sk, now);
}

/* The application's own time ends: from the last byte that it read to the first one that it sends. */
static __always_inline void answer(struct sock *sk, __u64 now)
{
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);

	if (!flow)
		return;
	if (!flow->role)
		flow->role = CLIENT;
	if (flow->role == CLIENT && !flow->asked_at)
		flow->asked_at = now;
	if (!flow->read_at)
		return;
	add(SPAN_APPLICATION, now - flow->read_at);
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

/* One look at what a thread has read. */
struct reading {
	struct flow *flow;
	struct thread *thread;
	struct sock *sk;
	__u64 now;
	__u32 first;
	__u32 copied;
	__u32 place; /* of the socket's sums */
	bool known; /* what the thread did */
	bool stays; /* a message before this one waits on */
	struct away last;
};

static __always_inline __u64 sockqueue(const struct wait *wait)
{
	return wait->end - wait->ready - wait->wakeup - wait->runqueue - wait->blocked;
}

struct waiting {
	struct wait wait;
	struct thread *thread;
	bool known; /* all that the thread did since */
};

/* The times before the last one, the newest first. */
static long add_before(__u32 i, struct waiting *w)
{
	struct thread *thread = w->thread;
	const struct away *away = &thread->aways[(thread->aways_n - 1 - i) & (AWAYS - 1)];

	if (i >= thread->aways_n || away->from + away->slept + away->waited <= w->wait.ready) {
		w->known = true;
		return 1;
	}
	add_away(&w->wait, away);
	return 0;
}

static __always_inline void add_passed(__u32 span, __u64 ns)
{
	if (ns)
		add(span, ns);
}

static __always_inline void add_to_socket(const struct arrival *a, const struct wait *wait, __u64 now, __u32 place)
{
	struct socket_sums *s = bpf_map_lookup_elem(&sockets, &place);

	if (!s)
		return;
	add_to_stage(s, a->locked ? SPAN_LOCK : SPAN_PROTOCOL, a->taken - a->link);
	add_to_stage(s, SPAN_HOLE, a->ready - a->taken);
	add_to_stage(s, SPAN_WAKEUP, wait->wakeup);
	add_to_stage(s, SPAN_RUNQUEUE, wait->runqueue);
	add_to_stage(s, SPAN_BLOCKED, wait->blocked);
	add_to_stage(s, SPAN_SOCKQUEUE, sockqueue(wait));
	add_to_stage(s, SPAN_READ, now - wait->end);
	add_to_total(&s->receive, now - a->link);
}

/*
 * The spans of a message add up to its total: what is not known to be anything else, the thread ran and did not read.
 * Not inlined, as a loop within a loop: Linux 7 took 0.7 GB to look at every state of both. Returns whether it is slow,
 * with its wait left at the thread.
 */
__noinline int sum_up(const struct arrival *a, struct thread *thread, const struct away *last, __u64 now, __u32 place)
{
	struct waiting waiting = { .thread = thread };
	struct wait *wait = &waiting.wait;

	if (!a || !thread || !last)
		return 0;
	wait->ready = a->ready;
	wait->end = thread->copying ? thread->copying : now;
	if (wait->end < wait->ready)
		wait->end = wait->ready;
	add_away(wait, last);
	bpf_loop(AWAYS, add_before, &waiting, 0);
	if (!waiting.known && thread->aways_n > AWAYS)
		count(COUNT_LONG, 1);
	add(a->locked ? SPAN_LOCK : SPAN_PROTOCOL, a->taken - a->link);
	add_passed(SPAN_HOLE, a->ready - a->taken);
	add_passed(SPAN_WAKEUP, wait->wakeup);
	add_passed(SPAN_RUNQUEUE, wait->runqueue);
	add_passed(SPAN_BLOCKED, wait->blocked);
	add_passed(SPAN_SOCKQUEUE, sockqueue(wait));
	add_passed(SPAN_READ, now - wait->end);
	add(SPAN_TOTAL, now - a->link);
	count(COUNT_TIMED, 1);
	count(COUNT_BYTES_TIMED, a->bytes);
	if (config.by_socket)
		add_to_socket(a, wait, now, place);
	if (!config.keeps_slow || (__s64)(now - a->link) < (__s64)shared.slow_received_ns)
		return 0;
	thread->slow = *wait;
	return 1;
}

/* A message that the thread which runs has read. */
static __noinline int keep_received(const struct arrival *a, const struct reading *r)
{
	struct slow_message *s = new_slow(a->link, r->now, a->bytes);
	const struct wait *wait = &r->thread->slow;
	struct account account;

	if (!s)
		return 0;
	name_slow(s, r->sk, r->place);
	if (r->place == OTHERS)
		name_user(&s->socket);
	s->stages[a->locked ? SPAN_LOCK : SPAN_PROTOCOL] = a->taken - a->link;
	s->stages[SPAN_HOLE] = a->ready - a->taken;
	s->stages[SPAN_WAKEUP] = wait->wakeup;
	s->stages[SPAN_RUNQUEUE] = wait->runqueue;
	s->stages[SPAN_BLOCKED] = wait->blocked;
	s->stages[SPAN_SOCKQUEUE] = sockqueue(wait);
	s->stages[SPAN_READ] = r->now - wait->end;
	load_account(bpf_get_current_task_btf(), &account);
	s->reader = bpf_get_current_pid_tgid() >> 32;
	keep_stays(s, clock_ahead(&r->thread->reader, &account));
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void end(const struct arrival *a, const struct reading *r)
{
	if (!a->link)
		count(COUNT_UNSTAMPED, 1);
	else if (!r->known || a->ready < r->thread->met)
		count(COUNT_UNFOLLOWED, 1);
	else if (sum_up(a, r->thread, &r->last, r->now, r->place))
		keep_received(a, r);
}

static long read_one(__u32 i, struct reading *r)
{
	struct arrival *a = arrival(r->flow, r->first + i);

	if (a->state != GONE && after(a->end, r->copied)) {
		r->stays = true;
		/* Those after it are later in the stream, unless some came ahead of a hole. */
		return !r->flow->ahead;
	}
	if (a->state != GONE) {
		end(a, r);
		r->flow->ahead -= a->state != READY;
		a->state = GONE;
	}
	if (!r->stays)
		r->flow->head++;
	return 0;
}

/* The layer above is that of TLS: MPTCP reads without this hook. */
static __always_inline void note_encrypted(const struct sock *sk, struct flow *flow)
{
	if (flow->met != FOLLOWED || !BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_ulp_ops))
		return;
	flow->met = ENCRYPTED;
	count(COUNT_TLS, 1);
}

/* A thread has copied something out of the socket; its system call goes on. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(rx_tcp_rcv_space_adjust, struct sock *sk)
{
	struct reading r = {};
	struct settling s = {};
	struct account account;
	struct tcp_sock *tcp;

	if (!sk->sk_bpf_storage)
		return 0;
	r.flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!r.flow || !r.flow->met || !tcp)
		return 0;
	r.sk = sk;
	r.now = bpf_ktime_get_ns();
	r.thread = reading_thread(r.now);
	if (!r.thread)
		return 0;
	r.copied = tcp->copied_seq;
	s.flow = r.flow;
	s.rcv_nxt = tcp->rcv_nxt;
	settle(&s);
	take_back(r.flow, s.rcv_nxt);
	if (after(r.copied, r.flow->read_until)) {
		count(COUNT_BYTES_READ, r.copied - r.flow->read_until);
		r.flow->read_until = r.copied;
	}
	load_account(bpf_get_current_task_btf(), &account);
	r.known = last_away(r.thread, &account, r.now, &r.last);
	if (config.by_socket)
		r.place = take_place(sk);
	r.first = r.flow->head;
	bpf_loop(r.flow->tail - r.first, read_one, &r, 0);
	r.flow->read_at = r.now;
	answered(r.flow, r.now);
	r.thread->copying = 0;
	note_encrypted(sk, r.flow);
	return 0;
}

#endif
