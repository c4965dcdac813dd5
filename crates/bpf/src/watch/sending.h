/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sockets: what was written to them, and is not acknowledged yet.
 *
 * A message is what one call sends. It is known by the sequence number after its last byte: what the call has not copied
 * yet is in its iterator, so the range is known before anything of it is sent. A call that was cut short by a full send
 * buffer, and the call that sends the rest, end at the same byte: they are one message. Segments are matched by the bytes
 * that they carry, so it does not matter how TCP cuts or joins them, and a retransmission changes nothing.
 *
 * Each span is summed by one program, and no program interrupts itself: the sums of one processor have one writer.
 */
#ifndef NETFATHOM_WATCH_SENDING_H
#define NETFATHOM_WATCH_SENDING_H

#include "held.h"

/* Messages of one socket that are not acknowledged; a power of two. Beyond half of it, those not sent are merged. */
#define SENDS 64
/* include/linux/net.h: the bit of struct socket */
#define SOCK_NOSPACE 2

struct departure {
	__u64 sent; /* the call has the socket */
	__u64 buffered; /* waited for the send buffer, ns */
	__u64 turn; /* the call began with its last part so far */
	__u64 returned; /* 0: the call goes on */
	__u64 queued;
	__u64 left;
	__u32 start;
	__u32 end;
	__u32 thread;
	enum span why; /* what held it last */
	struct held held; /* the socket's sums as its wait began, without its call; once it is queued, how much they grew */
};

/* Places in the ring are in this order: head, left, queued, tail. */
struct sending {
	__u32 head; /* before it all are acknowledged, or given up */
	__u32 left;
	__u32 queued;
	__u32 tail;
	__u32 written; /* the sequence number at the last turn of a call */
	__u32 crowded; /* the end of the message that found no room, or had begun before */
	__u32 queued_until;
	__u32 left_until;
	__u64 sample; /* all this is of that one */
	__u64 queued_at;
	__u64 left_at;
	__u64 full_at; /* the last look that found the send buffer full */
	struct looks looks;
	struct departure ring[SENDS];
};

_Static_assert(sizeof(struct sending) < 8000, "from Linux 7 on a socket's storage is 8 KB at most");

/* Accepted sockets have what their listener has. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct sending);
} sendings SEC(".maps");

/* Of this sample. */
static __always_inline struct sending *sending_of(struct sock *sk)
{
	struct sending *s = sk->sk_bpf_storage && is_sampling() ? bpf_sk_storage_get(&sendings, sk, 0, 0) : 0;

	return s && s->sample == this_sample() ? s : 0;
}

/* A call that goes on from before the sample, as some of its message is copied, is none of it. */
static __always_inline void begin_sending(struct sending *s, const struct msghdr *msg, __u32 end, __u64 now)
{
	if (s->sample == this_sample())
		return;
	s->head = s->left = s->queued = s->tail = 0;
	s->queued_until = s->left_until = 0;
	s->queued_at = s->left_at = s->full_at = 0;
	s->looks.why = SPAN_TX_SNDBUF;
	s->looks.at = now;
	s->crowded = config.samples && msg->msg_iter.iov_offset ? end : 0;
	/* A device may get a packet of this socket meanwhile. */
	publish(s->sample, this_sample());
}

static __always_inline struct departure *departure(struct sending *s, __u32 place)
{
	return &s->ring[place & (SENDS - 1)];
}

/* The kernel sets it where a call finds no room, and takes it away after an acknowledgment that makes enough. */
static __always_inline void note_full(const struct sock *sk, struct sending *s, __u64 now)
{
	if (sk->sk_socket->flags & 1 << SOCK_NOSPACE) {
		s->full_at = now;
		s->looks.then = s->looks.sums;
	}
}

/*
 * The next turn of the call, or another one that sends the rest. Between two calls the message waits while the buffer is full.
 * Once there is room, it is the application that does not send: that is no time of the message.
 */
static __always_inline void go_on(const struct sock *sk, struct sending *s, struct departure *d, __u32 written, __u64 now)
{
	bool was_full = true, waited;
	__u64 until = now;

	if (d->returned) {
		note_full(sk, s, now);
		was_full = s->full_at > d->turn;
		until = later(s->full_at, d->returned);
		d->sent += now - until;
	}
	/* Nothing was copied since the last turn. */
	waited = was_full && s->written == written;
	if (waited)
		d->buffered += until - d->turn;
	if (d->returned || !waited)
		leave_out(&s->looks, &d->held);
	else
		s->looks.then = s->looks.sums;
	d->turn = now;
	d->returned = 0;
	d->thread = bpf_get_current_pid_tgid();
}

/* The application does not send the rest of a message: it was what is written. All of it may have left. */
static __always_inline void cut_short(struct sending *s, struct departure *d, __u32 written)
{
	d->end = written;
	if (!d->queued && !after(written, s->queued_until)) {
		d->queued = s->queued_at;
		d->why = s->looks.why;
		d->held = (struct held){};
		if (!after(written, s->left_until))
			d->left = s->left_at;
	}
}

static __always_inline bool has_room(struct sending *s)
{
	if (s->tail - s->head < SENDS)
		return true;
	if (s->head == s->left)
		return false;
	/* Its acknowledgment is given up. */
	s->head++;
	return true;
}

static __always_inline void begin(struct sending *s, __u32 written, __u32 end, __u64 now)
{
	struct departure *last = departure(s, s->tail - 1), *d = departure(s, s->tail);
	bool waits = s->head != s->tail && !last->queued;

	if (end == s->crowded)
		return;
	if (waits && !last->returned)
		last->returned = last->turn;
	if (!takes_new())
		return;
	count(tx_seen, 1);
	if (waits && s->tail - s->left > SENDS / 2) {
		last->end = end;
		last->turn = now;
		last->returned = 0;
		last->thread = bpf_get_current_pid_tgid();
		leave_out(&s->looks, &last->held);
		count(tx_merged, 1);
		return;
	}
	if (!has_room(s)) {
		s->crowded = end;
		count(tx_crowded, 1);
		return;
	}
	d->sent = d->turn = now;
	d->buffered = d->returned = d->queued = d->left = 0;
	d->start = written;
	d->end = end;
	d->thread = bpf_get_current_pid_tgid();
	d->held = s->looks.then = s->looks.sums;
	s->tail++;
}

/* A call is about to copy a part of its message into the socket, or to wait for room. */
static __always_inline void send(struct sock *sk, const struct tcp_sock *tcp, const struct msghdr *msg, __u64 now)
{
	struct departure *last;
	struct sending *s;
	__u32 written, end;

	s = bpf_sk_storage_get(&sendings, sk, 0, config.creates ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!s)
		return;
	written = tcp->write_seq;
	end = written + msg->msg_iter.count;
	begin_sending(s, msg, end, now);
	charge_held(&s->looks, now);
	last = departure(s, s->tail - 1);
	if (!shared.process)
		name_process(bpf_get_current_task_btf());
	if (s->head == s->tail || !after(last->end, written)) {
		begin(s, written, end, now);
	} else if (last->end == end || last->start == written) {
		/* A call that took nothing is one with the next. */
		last->end = end;
		go_on(sk, s, last, written, now);
	} else {
		cut_short(s, last, written);
		begin(s, written, end, now);
	}
	s->written = written;
}

/* The call is over; the socket's lock is free. */
static __always_inline int returns(struct sock *sk)
{
	struct departure *last;
	struct tcp_sock *tcp;
	struct sending *s;
	__u64 now;

	s = sending_of(sk);
	if (!s || s->head == s->tail)
		return 0;
	last = departure(s, s->tail - 1);
	if (last->queued || last->returned || last->thread != (__u32)bpf_get_current_pid_tgid())
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	now = bpf_ktime_get_ns();
	last->returned = now;
	look(sk, tcp, &s->looks, now);
	leave_out(&s->looks, &last->held);
	note_full(sk, s, now);
	return 0;
}

/* As it is on the wire. */
struct tcp_header {
	__be16 source;
	__be16 dest;
	__be32 seq;
	__be32 ack_seq;
	__u8 offset; /* of the payload, in words; the upper half */
	__u8 flags;
};

/* A segment on its way to a device. */
struct passing {
	struct sending *s;
	struct sock *sk;
	__u32 end; /* the sequence number after its payload */
	__u32 place; /* of the socket's sums */
	__u64 now;
};

/* False of what is no segment of a followed socket, or lies in a tunnel's packet. */
static __always_inline bool passes(struct sk_buff *skb, struct passing *p)
{
	struct tcp_header header;
	struct sock *sk = skb->sk;
	unsigned long at, from_data;

	if (!sk)
		return false;
	p->s = sending_of(sk);
	if (!p->s || p->s->left == p->s->tail)
		return false;
	at = (unsigned long)skb->head + skb->transport_header;
	if (bpf_probe_read_kernel(&header, sizeof(header), (void *)at) || bpf_ntohs(header.source) != sk->__sk_common.skc_num)
		return false;
	from_data = at + header.offset / 16 * 4 - (unsigned long)skb->data;
	/* Linux 7 knows both as pointers, and refuses a difference in 32 bits, which is all that is needed of it. */
	barrier_var(from_data);
	p->sk = sk;
	p->end = bpf_ntohl(header.seq) + skb->len - (__u32)from_data;
	p->now = bpf_ktime_get_ns();
	return true;
}

static long queue_one(__u32 i, struct passing *p)
{
	struct departure *d = departure(p->s, p->s->queued);

	if (p->s->queued == p->s->tail || after(d->end, p->end))
		return 1;
	if (!d->queued) {
		d->queued = p->now;
		d->why = p->s->looks.why;
		if (!d->returned)
			leave_out(&p->s->looks, &d->held);
		take_away(&p->s->looks, &d->held);
	}
	p->s->queued++;
	return 0;
}

/* TCP has sent a segment: it comes to the device's queue. */
static __always_inline int queue_segment(struct sk_buff *skb)
{
	struct passing p = {};

	if (!passes(skb, &p))
		return 0;
	if (after(p.s->left, p.s->queued))
		p.s->queued = p.s->left;
	if (p.s->queued == p.s->tail)
		return 0;
	if (!after(departure(p.s, p.s->queued)->end, p.end))
		charge_held(&p.s->looks, p.now);
	bpf_loop(SENDS, queue_one, &p, 0);
	if (after(p.end, p.s->queued_until) || !p.s->queued_at) {
		p.s->queued_until = p.end;
		p.s->queued_at = p.now;
	}
	return 0;
}

/* Not inlined, as add_to_socket() is not. */
__noinline int add_sent_to_socket(const struct departure *d, const struct parts *waits, __u64 until, __u64 left, __u32 place)
{
	struct socket_sums *s = bpf_map_lookup_elem(&sockets, &place);

	if (!d || !waits || !s)
		return 0;
	add_to_stage(s, SPAN_TX_SOCKET, until - d->sent - d->buffered);
	for (int i = 0; i < HELD; i++)
		add_to_stage(s, SPAN_TX_SNDBUF + i, waits->by[i]);
	add_to_stage(s, SPAN_TX_QDISC, left - d->queued);
	add_to_total(&s->send, left - d->sent);
	return 0;
}

static __noinline int keep_sent(const struct departure *d, const struct passing *p, const struct parts *waits, __u64 until)
{
	struct slow_message *s = new_slow(d->sent, d->left, d->end - d->start);

	if (!s)
		return 0;
	s->sent = 1;
	name_slow(s, p->sk, p->place);
	for (int i = 0; i < HELD; i++)
		s->stages[SPAN_TX_SNDBUF - SPAN_TX_SOCKET + i] = waits->by[i];
	s->stages[0] = until - d->sent - d->buffered;
	s->stages[SPAN_TX_QDISC - SPAN_TX_SOCKET] = d->left - d->queued;
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The spans of a message add up to its total. */
static __always_inline void sum_up_sent(const struct departure *d, const struct passing *p)
{
	__u64 until = d->returned && d->returned < d->queued ? d->returned : d->queued, left = d->left;
	struct parts waits;

	split(&d->held, d->why, d->buffered + d->queued - until, &waits);
	add_passed(SPAN_TX_SOCKET, until - d->sent - d->buffered);
	for (int i = 0; i < HELD; i++)
		add_passed(SPAN_TX_SNDBUF + i, waits.by[i]);
	add(SPAN_TX_QDISC, left - d->queued);
	add(SPAN_TX_TOTAL, left - d->sent);
	count(tx_timed, 1);
	count(tx_bytes_timed, d->end - d->start);
	if (config.by_socket)
		add_sent_to_socket(d, &waits, until, left, p->place);
	if (config.keeps_slow && left - d->sent >= shared.slow_sent_ns)
		keep_sent(d, p, &waits, until);
}

static long leave_one(__u32 i, struct passing *p)
{
	struct departure *d = departure(p->s, p->s->left);

	if (p->s->left == p->s->tail || after(d->end, p->end))
		return 1;
	if (!d->left)
		d->left = p->now;
	if (d->queued)
		sum_up_sent(d, p);
	else
		count(tx_missed, 1);
	p->s->left++;
	return 0;
}

/* The device gets a segment. */
static __always_inline int leave_segment(struct sk_buff *skb)
{
	struct passing p = {};

	if (!passes(skb, &p))
		return 0;
	if (config.by_socket && skb->sk)
		p.place = place_of(skb->sk);
	if (after(p.s->head, p.s->left))
		p.s->left = p.s->head;
	bpf_loop(SENDS, leave_one, &p, 0);
	if (after(p.end, p.s->left_until) || !p.s->left_at) {
		p.s->left_until = p.end;
		p.s->left_at = p.now;
	}
	return 0;
}

static long acknowledge_one(__u32 i, struct passing *p)
{
	struct departure *d = departure(p->s, p->s->head);

	if (p->s->head == p->s->tail || after(d->end, p->end))
		return 1;
	if (after(p->s->left, p->s->head))
		add(SPAN_TX_ACKED, p->now - d->left);
	else
		count(tx_missed, 1);
	p->s->head++;
	return 0;
}

/* A segment acknowledges what is before `until`, which TCP has not looked at yet. */
static __always_inline void acknowledge(struct sock *sk, const struct tcp_sock *tcp, __u32 until, __u64 now)
{
	struct passing p = { .s = sending_of(sk), .end = until, .now = now };

	if (!p.s || p.s->head == p.s->tail || after(until, tcp->snd_nxt))
		return;
	if (after(p.s->tail, p.s->queued)) {
		look(sk, tcp, &p.s->looks, now);
		note_full(sk, p.s, now);
	}
	bpf_loop(SENDS, acknowledge_one, &p, 0);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tx_tcp_retransmit_skb, struct sock *sk)
{
	if (!is_sampling() || !takes_new())
		return 0;
	/* It failed. Volatile, as Linux refuses a program that reads an argument which there is not. */
	if (bpf_core_field_exists(((struct trace_event_raw_tcp_retransmit_skb *)0)->err) && (int)((volatile __u64 *)ctx)[2])
		return 0;
	if (sk->sk_bpf_storage && bpf_sk_storage_get(&sendings, sk, 0, 0))
		count(tx_retransmitted, 1);
	return 0;
}

#endif
