/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sockets of UDP, and Unix sockets of datagrams and packets: what came into them and was not read yet.
 *
 * No hook has both a datagram and its reader, so they are counted: each has a number and a place of its own. What came and
 * does not wait has left the queue, and a reader has the last that left. Those before it without a reader were discarded, as
 * with a wrong checksum, or another thread comes for them. No lock is held: datagrams come on several processors at once,
 * and several threads read.
 */
#ifndef NETFATHOM_WATCH_DATAGRAMS_H
#define NETFATHOM_WATCH_DATAGRAMS_H

/*
 * Datagrams that wait in one socket; a power of two. The default receive buffer has room for some 280. From Linux 7 on, a
 * socket's storage is 8 KB at most (kmalloc_nolock).
 */
#define PLACES 256
/* Threads that read one socket at the same moment, at most. */
#define READERS 32
/* Of a reader, while others move the same number. */
#define CLAIMS 4
/* Datagrams that wait, or were read already, while their hooks still run. More: too many count as read. */
#define IN_HOOKS 16
/* include/linux/in.h, include/linux/net.h, include/linux/socket.h */
#define IPPROTO_UDP 17
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define MSG_OOB 1
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000

struct datagram {
	union {
		__u64 link; /* at the link layer, CLOCK_MONOTONIC; 0: unknown */
		__u64 bytes; /* of a Unix stream, which has no link layer */
	};
	__u64 ready;
	__u32 after; /* its number, plus 1: written last */
	__u32 linear : 1; /* no hook shows when its copy begins */
	__u32 left : 31; /* its bytes, where known; of a Unix stream, those that were not read */
};

struct datagrams {
	struct datagram_queue queue; /* first, for user space */
	__u64 sample; /* all this is of that one */
	__u64 begun; /* the one that it becomes of */
	__u32 passed; /* those without a reader, before one that was read */
	__u64 passed_at; /* the last time */
	__u64 read_at; /* of a connection; 0: something was sent since */
	struct datagram ring[PLACES];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct datagrams);
} datagrams SEC(".maps");

static __always_inline struct datagram *datagram(struct datagrams *d, __u32 number)
{
	return &d->ring[number & (PLACES - 1)];
}

/* True once, for whoever asks first. */
static __always_inline bool has_taken(struct datagram *of, __u32 number)
{
	return __sync_val_compare_and_swap(&of->after, number + 1, 0) == number + 1;
}

static __always_inline bool is_udp(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_UDP;
}

static __always_inline void count_seen(const struct sock *sk)
{
	count(seen, 1);
	if (is_udp(sk))
		count(udp, 1);
}

/* The reader of UDP takes them from the second queue, which it fills from the first. Other sockets have the first alone. */
static __always_inline __u32 waiting_in(struct sock *sk)
{
	__u32 first = sk->sk_receive_queue.qlen;

	/* In this order: what moves in between counts twice, and is not missed. */
	barrier();
	if (!is_udp(sk) || sk->sk_type != SOCK_DGRAM)
		return first;
	return first + BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen);
}

/* Of the last datagram in the queue, unless it was taken meanwhile. */
static __always_inline void look_at_last(struct sock *sk, struct datagram *to)
{
	const struct sk_buff *last = sk->sk_receive_queue.prev;
	__s64 stamp = last->tstamp;
	__u32 bytes = last->len;

	to->linear = !last->data_len;
	barrier();
	if (!sk->sk_receive_queue.qlen || sk->sk_receive_queue.prev != last)
		return;
	to->link = stamp ? stamp - shared.realtime_ahead : 0;
	to->left = bytes;
}

/*
 * A datagram waits alone: if its number counted as read before that look, that of another was missed as it came. If it is read
 * after the look, the number that counts as read has moved, and stays. One case is wrong: this one was read before the look, and
 * another processor has just queued the one that waits. Then this one counts as unread.
 */
static __always_inline void realign(struct datagrams *d, __u32 read, __u32 number, __u32 waiting)
{
	if (waiting == 1 && after(read, number))
		__sync_val_compare_and_swap(&d->queue.read, read, number);
}

/*
 * The newest place before this number that has no reader; a number without a place if there is none. The last one has: the
 * thread that moved the number is about to take it.
 */
static __always_inline __u32 newest_before(struct datagrams *d, __u32 number)
{
	__u32 i;

	for (i = 2; i < READERS; i++)
		if (observe(datagram(d, number - i)->after) == number - i + 1)
			break;
	return number - i;
}

/* Those before the one that is read now have no reader yet. False: another thread moved the number. */
static __always_inline bool pass_over(struct datagrams *d, __u32 read, __u32 next, __u64 now)
{
	__u32 passed = after(next, read) ? next - 1 - read : 0;

	/* Before the number: the thread that comes for one of them looks here. */
	if (passed) {
		publish(d->passed_at, now);
		__sync_fetch_and_add(&d->passed, passed);
	}
	if (__sync_val_compare_and_swap(&d->queue.read, read, next) == read)
		return true;
	if (passed)
		__sync_fetch_and_add(&d->passed, -passed);
	return false;
}

/*
 * The number of the datagram that the thread which runs has read; it took the one before at took_at. Usually it is the last
 * that left. If that counts as read, a thread that took a later one was here first: what it passed over is for those that
 * have read nothing since. Otherwise the hook of this datagram still runs. Not inlined: read_datagram has hardly any stack
 * left.
 */
static __noinline __u32 number_read(struct sock *sk, struct datagrams *d, __u64 took_at, __u64 now)
{
	__u32 i, read, left, next, passed;

	for (i = 0; i < CLAIMS; i++) {
		/* First what came: what comes in between counts as waiting, never as having left. */
		left = observe(d->queue.came);
		left -= waiting_in(sk);
		read = observe(d->queue.read);
		passed = observe(d->passed);
		next = left;
		if (!after(left, read) && (__s32)passed > 0 && took_at < observe(d->passed_at)) {
			if (__sync_val_compare_and_swap(&d->passed, passed, passed - 1) == passed)
				return newest_before(d, read);
			continue;
		}
		if (!after(left, read) && read - left < IN_HOOKS)
			next = read + 1;
		if (pass_over(d, read, next, now))
			return next - 1;
	}
	return __sync_fetch_and_add(&d->queue.read, 1);
}

/* Those before this one were not counted as they came. Numbers go on beyond all that the ring has. */
static __always_inline bool begin_datagrams(struct datagrams *d, __u32 waiting)
{
	__u64 begun = d->begun, sample = this_sample();
	__u32 next = (after(d->queue.read, d->queue.came) ? d->queue.read : d->queue.came) + PLACES;

	if (observe(d->sample) == sample)
		return true;
	/* Another processor does it. */
	if (begun == sample || __sync_val_compare_and_swap(&d->begun, begun, sample) != begun)
		return false;
	d->queue.read = next;
	d->queue.first = d->queue.came = next + (waiting > 1 ? waiting - 1 : 0);
	d->queue.since = bpf_ktime_get_ns();
	d->read_at = 0;
	d->passed = 0;
	publish(d->sample, sample);
	return true;
}

/* It is in the queue of its socket, as the last of those that wait. */
static __always_inline void keep_datagram(struct sock *sk, struct datagrams *d, const struct datagram *last)
{
	/* In this order, for realign(). */
	__u32 read = observe(d->queue.read), waiting = waiting_in(sk), number;
	struct datagram *to;

	if (!begin_datagrams(d, waiting))
		return;
	number = __sync_fetch_and_add(&d->queue.came, 1);
	to = datagram(d, number);
	realign(d, read, number, waiting);
	if (waiting == 1)
		d->queue.since = last->ready;
	if (!takes_new())
		return;
	count_seen(sk);
	if (after(d->queue.read, number)) {
		count(unfollowed, 1);
		return;
	}
	if (number - d->queue.read >= PLACES) {
		count(crowded, 1);
		return;
	}
	*to = *last;
	__sync_lock_test_and_set(&to->after, number + 1);
	/* It may have been read meanwhile: either the reader has its times, or it has none. */
	if (after(observe(d->queue.read), number) && has_taken(to, number))
		count(unfollowed, 1);
}

/*
 * No hook shows that a process opens such a socket: one of a watched process is followed once a call of that shows it, or when
 * user space finds it. outgoing.h has it, with what is sent.
 */
static bool follow_opened(struct sock *sk);

#include "unix.h"

/* A datagram is in the queue of its socket. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(udp_sk_data_ready, struct sock *sk)
{
	struct datagram last = {};
	struct datagrams *d;

	if (!is_sampling())
		return 0;
	if (is_unix(sk))
		return come_to_unix(sk);
	if (!is_udp(sk) || !is_followed(sk))
		return 0;
	/* First, as a reader may take it at any moment. */
	look_at_last(sk, &last);
	last.ready = bpf_ktime_get_ns();
	d = bpf_sk_storage_get(&datagrams, sk, 0, config.creates ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (d)
		keep_datagram(sk, d, &last);
	return 0;
}

/* Of a port, what comes is followed before there is any. */
static __always_inline bool follows_datagrams(struct sock *sk)
{
	return is_followed(sk) && (config.creates || bpf_sk_storage_get(&datagrams, sk, 0, 0));
}

/* A datagram finds no room in the receive buffer of its socket. */
SEC("tp_btf/udp_fail_queue_rcv_skb")
int BPF_PROG(udp_udp_fail_queue_rcv_skb, int error, struct sock *sk)
{
	if (!is_sampling() || !takes_new() || !follows_datagrams(sk))
		return 0;
	count_seen(sk);
	count(refused, 1);
	return 0;
}

/* Not inlined, as what reads from a Unix stream is not: their states together do not fit on the stack. */
static __noinline int read_datagram(struct sock *sk, struct datagrams *d, int bytes)
{
	bool udp = is_udp(sk), linear = false, taken = false;
	struct arrival a = { .state = READY };
	struct reading r = {};
	struct account account;
	struct datagram *from;
	__u32 number;

	r.sk = sk;
	r.now = bpf_ktime_get_ns();
	r.thread = reading_thread(r.now);
	number = number_read(sk, d, r.thread ? r.thread->took_at : r.now, r.now);
	from = datagram(d, number);
	/* At once: a later datagram may have its place from here on. */
	if (observe(from->after) == number + 1) {
		a.link = from->link;
		a.taken = a.ready = from->ready;
		linear = from->linear;
		/* With MSG_TRUNC the call returns all of them, otherwise those that its buffer has room for. */
		if ((int)from->left > bytes)
			bytes = from->left;
		taken = has_taken(from, number);
	}
	/* What waited before others were counted is in no count. */
	if (takes_new() && !after(d->queue.first, number))
		count(bytes_read, bytes);
	d->queue.since = r.now;
	d->read_at = takes_new() ? r.now : 0;
	if (!r.thread)
		return 0;
	r.thread->took_at = r.now;
	if (udp) {
		r.thread->read_from = takes_new() ? bpf_get_socket_cookie(sk) : 0;
		r.thread->read_at = r.now;
		r.thread->answered_at = 0;
	}
	if (!taken)
		return 0;
	/* Its hook may have run in between. */
	r.now = later(r.now, a.ready);
	a.bytes = bytes;
	if (linear)
		r.thread->copying = 0;
	load_account(bpf_get_current_task_btf(), &account);
	r.known = last_away(r.thread, &account, r.now, &r.last);
	if (config.by_socket && udp)
		r.place = take_place(sk);
	end(&a, &r);
	r.thread->copying = 0;
	return 0;
}

/* A message of a socket that was not followed: it is in the account, without times. */
static __always_inline void count_missed(const struct sock *sk, int bytes)
{
	/* Nothing to read, or the end of a connection. */
	if (bytes < 0 || (!bytes && sk->sk_type != SOCK_DGRAM) || !takes_new())
		return;
	count_seen(sk);
	count(unfollowed, 1);
	count(bytes_read, bytes);
}

/* Nothing waits for the thread that runs, or it has read from a socket that was not followed. */
static __noinline int begin_to_read(struct sock *sk, int bytes)
{
	if (!follows_datagrams(sk)) {
		if (!follow_opened(sk))
			return 0;
		count_missed(sk, bytes);
	}
	follow_thread(bpf_get_current_task_btf(), bpf_ktime_get_ns());
	return 0;
}

/* A thread has read, or found nothing; its system call goes on. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(udp_sock_recv_length, struct sock *sk, int bytes, int flags)
{
	struct datagrams *d;

	if (!is_sampling() || flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE) || (!is_unix(sk) && !is_udp(sk)))
		return 0;
	d = bytes >= 0 && sk->sk_bpf_storage ? bpf_sk_storage_get(&datagrams, sk, 0, 0) : 0;
	if (!d)
		return begin_to_read(sk, bytes);
	if (d->sample != this_sample())
		return 0;
	return is_unix(sk) && sk->sk_type == SOCK_STREAM ? read_from_stream(sk, d, bytes) : read_datagram(sk, d, bytes);
}

#endif
