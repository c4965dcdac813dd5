/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What held a message before TCP sent it. Each look at the socket charges the time since the look before to what holds then: an
 * acknowledgment is looked at before TCP does, so it shows what has held until now. A socket sums these times, a message has
 * what the sums were when it began to wait.
 */
#ifndef NETFATHOM_WATCH_HELD_H
#define NETFATHOM_WATCH_HELD_H

/* The spans from SPAN_TX_SNDBUF to SPAN_TX_SENDQ; a power of two. */
#define HELD 8
/*
 * A unit of these sums: 256 ns, so that 32 bits hold 18 minutes. What is left of a look is charged at the next one, what is left
 * of the last to the last reason.
 */
#define HELD_SHIFT 8
/* include/net/tcp.h, include/linux/tcp.h, include/net/sock.h */
#define NAGLE_OFF 1
#define NAGLE_CORK 2
#define TSQF_THROTTLED 1
#define PACING_NEEDED 1

_Static_assert(SPAN_TX_SENDQ - SPAN_TX_SNDBUF == HELD - 1, "each has its place");

struct held {
	__u32 by[HELD];
};

struct looks {
	struct held sums;
	struct held then; /* the sums at the last turn or return of a call, or look that found the buffer full */
	__u64 at; /* the sums are of this time */
	enum span why; /* what holds, at the last look */
};

/* The parts of a message's wait, ns. */
struct parts {
	__u64 by[HELD];
};

static __always_inline __u32 held_by(enum span why)
{
	return (why - SPAN_TX_SNDBUF) & (HELD - 1);
}

static __always_inline __u32 smaller(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

/*
 * Of its whole life, as a window at one moment is small where the receiver is slow, too. Where two processors race, the next
 * look is right.
 */
static __always_inline void note_window(const struct tcp_sock *tcp)
{
	if (tcp->max_window > shared.widest)
		shared.widest = tcp->max_window;
}

/* What keeps TCP from sending more, in the order in which tcp_write_xmit asks. */
static __always_inline enum span what_holds(const struct sock *sk, const struct tcp_sock *tcp, __u64 now)
{
	__u32 unsent = tcp->write_seq - tcp->snd_nxt;
	__u32 in_flight = tcp->packets_out - tcp->sacked_out - tcp->lost_out + tcp->retrans_out;
	__u32 nonagle = BPF_CORE_READ_BITFIELD_PROBED(tcp, nonagle);

	/* TCP could send more, and has none. */
	if (!unsent)
		return SPAN_TX_SNDBUF;
	if (sk->sk_pacing_status == PACING_NEEDED && tcp->tcp_wstamp_ns > now)
		return SPAN_TX_PACING;
	if (in_flight >= tcp->snd_cwnd)
		return SPAN_TX_CWND;
	if (after(tcp->snd_nxt + smaller(unsent, tcp->mss_cache), tcp->snd_una + tcp->snd_wnd)) {
		note_window(tcp);
		return SPAN_TX_RWND;
	}
	if (unsent < tcp->mss_cache && nonagle & NAGLE_CORK)
		return SPAN_TX_CORK;
	if (unsent < tcp->mss_cache && !(nonagle & NAGLE_OFF) && tcp->packets_out)
		return SPAN_TX_NAGLE;
	return sk->sk_tsq_flags & TSQF_THROTTLED ? SPAN_TX_TSQ : SPAN_TX_SENDQ;
}

static __always_inline void charge_held(struct looks *l, __u64 now)
{
	/* A call that returns has no lock: another processor may have looked at a later time. */
	__u64 units = now > l->at ? (now - l->at) >> HELD_SHIFT : 0;

	l->sums.by[held_by(l->why)] += units;
	l->at += units << HELD_SHIFT;
}

static __always_inline void look(const struct sock *sk, const struct tcp_sock *tcp, struct looks *l, __u64 now)
{
	l->why = what_holds(sk, tcp, now);
	charge_held(l, now);
}

/* What held since then is none of the message: it was being copied, or there was room and the application did not send. */
static __always_inline void leave_out(struct looks *l, struct held *from)
{
	for (int i = 0; i < HELD; i++)
		from->by[i] += l->sums.by[i] - l->then.by[i];
	l->then = l->sums;
}

/* Of what the sums were, makes how much they grew. */
static __always_inline void take_away(const struct looks *l, struct held *from)
{
	for (int i = 0; i < HELD; i++)
		from->by[i] = l->sums.by[i] - from->by[i];
}

/* They add up to `wait`. */
static __always_inline void split(const struct held *held, enum span why, __u64 wait, struct parts *parts)
{
	for (int i = 0; i < HELD; i++) {
		__u64 ns = (__u64)held->by[i] << HELD_SHIFT;

		parts->by[i] = ns < wait ? ns : wait;
		wait -= parts->by[i];
	}
	parts->by[held_by(why)] += wait;
}

#endif
