/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread has read: the spans of each message, in the sums, and by itself if it took long. */
#ifndef NETFATHOM_WATCH_READING_H
#define NETFATHOM_WATCH_READING_H

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

static __always_inline void add_passed(__u32 span, __u64 ns)
{
	if (ns)
		add(span, ns);
}

/* Not inlined: the verifier would follow each path to a bucket from each state of sum_up(). */
__noinline int add_to_socket(const struct arrival *a, const struct wait *wait, __u64 now, __u32 place)
{
	struct socket_sums *s = bpf_map_lookup_elem(&sockets, &place);

	if (!a || !wait || !s)
		return 0;
	add_to_stage(s, a->locked ? SPAN_LOCK : SPAN_PROTOCOL, a->taken - a->link);
	add_to_stage(s, SPAN_HOLE, a->ready - a->taken);
	add_to_stage(s, SPAN_WAKEUP, wait->wakeup);
	add_to_stage(s, SPAN_RUNQUEUE, wait->runqueue);
	add_to_stage(s, SPAN_BLOCKED, wait->blocked);
	add_to_stage(s, SPAN_SOCKQUEUE, sockqueue(wait));
	add_to_stage(s, SPAN_READ, now - wait->end);
	add_to_total(&s->receive, now - a->link);
	return 0;
}

/*
 * The spans of a message add up to its total: what is not known to be anything else, the thread ran and did not read.
 * Not inlined, as a loop within a loop: Linux 7 took 0.7 GB to look at every state of both. Returns whether it is slow,
 * with its wait left at the thread: what is there is unknown to the verifier, which would follow each value on the stack.
 */
__noinline int sum_up(const struct arrival *a, struct thread *thread, const struct away *last, __u64 now, __u32 place)
{
	struct wait *wait;

	if (!a || !thread || !last)
		return 0;
	wait = &thread->wait;
	if (!look_back(thread, last, a->ready, thread->copying ? thread->copying : now))
		count(long_away, 1);
	add_passed(a->locked ? SPAN_LOCK : SPAN_PROTOCOL, a->taken - a->link);
	add_passed(SPAN_HOLE, a->ready - a->taken);
	add_passed(SPAN_WAKEUP, wait->wakeup);
	add_passed(SPAN_RUNQUEUE, wait->runqueue);
	add_passed(SPAN_BLOCKED, wait->blocked);
	add_passed(SPAN_SOCKQUEUE, sockqueue(wait));
	add_passed(SPAN_READ, now - wait->end);
	add(SPAN_TOTAL, now - a->link);
	if (wait->stopped)
		count(stopped_ns, wait->stopped);
	count(timed, 1);
	count(bytes_timed, a->bytes);
	if (config.by_socket)
		add_to_socket(a, wait, now, place);
	return config.keeps_slow && (__s64)(now - a->link) >= (__s64)shared.slow_received_ns;
}

/* A message that the thread which runs has read. */
static __noinline int keep_received(const struct arrival *a, const struct reading *r)
{
	struct slow_message *s = new_slow(a->link, r->now, a->bytes);
	const struct wait *wait = &r->thread->wait;
	struct account account;

	if (!s)
		return 0;
	name_slow(s, r->sk, r->place);
	if (!is_own(r->place))
		name_user(&s->socket);
	s->stages[a->locked ? SPAN_LOCK : SPAN_PROTOCOL] = a->taken - a->link;
	s->stages[SPAN_HOLE] = a->ready - a->taken;
	s->stages[SPAN_WAKEUP] = wait->wakeup;
	s->stages[SPAN_RUNQUEUE] = wait->runqueue;
	s->stages[SPAN_BLOCKED] = wait->blocked;
	s->stages[SPAN_SOCKQUEUE] = sockqueue(wait);
	s->stages[SPAN_READ] = r->now - wait->end;
	s->stopped = wait->stopped;
	s->throttled = wait->throttled;
	load_account(bpf_get_current_task_btf(), &account);
	s->reader = bpf_get_current_pid_tgid();
	keep_stays(s, clock_ahead(&r->thread->reader, &account));
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The verifier does not know what sum_up() returns: by the constant it leaves out what keeps a message. */
static __always_inline void end(const struct arrival *a, const struct reading *r)
{
	if (!a->link)
		count(unstamped, 1);
	else if (!r->known || a->ready < r->thread->met)
		count(unfollowed, 1);
	else if (sum_up(a, r->thread, &r->last, r->now, r->place) && config.keeps_slow)
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
	count(tls, 1);
}

/* What came to a connection that is open in one direction alone passes no hook. */
static __always_inline void note_outside(const struct sock *sk, struct flow *flow, __u32 copied)
{
	__u32 known = flow->read_until;

	/* To one that the peer has closed all came before. */
	if (sk->__sk_common.skc_state == TCP_ESTABLISHED || sk->__sk_common.skc_state == TCP_CLOSE_WAIT)
		return;
	if (flow->tail != flow->head && after(arrival(flow, flow->tail - 1)->end, known))
		known = arrival(flow, flow->tail - 1)->end;
	if (after(copied, known))
		count(bytes_outside, copied - known);
}

/* A thread has copied something out of the socket; its system call goes on. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(rx_tcp_rcv_space_adjust, struct sock *sk)
{
	struct reading r = {};
	struct settling s = {};
	struct account account;
	struct tcp_sock *tcp;

	if (!is_sampling() || !sk->sk_bpf_storage)
		return 0;
	r.flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!r.flow || r.flow->sample != this_sample() || !tcp)
		return 0;
	r.sk = sk;
	r.now = bpf_ktime_get_ns();
	r.thread = reading_thread(r.now);
	if (!r.thread)
		return 0;
	r.copied = tcp->copied_seq;
	join_first(r.flow, sk, tcp);
	s.flow = r.flow;
	s.rcv_nxt = tcp->rcv_nxt;
	settle(&s);
	take_back(r.flow, s.rcv_nxt);
	if (after(r.copied, r.flow->read_until)) {
		if (takes_new()) {
			count(bytes_read, r.copied - r.flow->read_until);
			note_outside(sk, r.flow, r.copied);
		}
		r.flow->read_until = r.copied;
	}
	load_account(bpf_get_current_task_btf(), &account);
	r.known = last_away(r.thread, &account, r.now, &r.last);
	if (config.by_socket)
		r.place = take_place(sk);
	r.first = r.flow->head;
	bpf_loop(r.flow->tail - r.first, read_one, &r, 0);
	r.flow->read_at = takes_new() ? r.now : 0;
	answered(r.flow, r.now);
	r.thread->copying = 0;
	note_encrypted(sk, r.flow);
	return 0;
}

#endif
