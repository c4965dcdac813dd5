/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unix sockets: what other programs of this host have put into them and was not read yet.
 *
 * A message is what a sender queues at once, and waits from then on. No hook has a message and its reader: datagrams and
 * packets are counted as those of UDP are, and of a stream the bytes, as a read ends anywhere. A message may be read before it
 * is announced: then it has no times. The urgent byte (MSG_OOB) is no message: reads skip it.
 *
 * What is sent has none either: it is in the queue of its reader before the call returns. It is counted.
 */
#ifndef NETFATHOM_WATCH_UNIX_H
#define NETFATHOM_WATCH_UNIX_H

/* include/linux/net.h */
#define SOCK_STREAM 1
#define SOCK_SEQPACKET 5
/* include/net/sock.h */
#define SOCK_URGINLINE 2
/* Watched sockets that listen, at once. */
#define LISTENERS 1024
/* After that, user space has found what was accepted, and the address may be another's. */
#define NOTED_NS 10000000000

/* The addresses of sockets that listen, as the kernel has them, and when a client last connected: what they accept has the same one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LISTENERS);
	__type(key, __u64);
	__type(value, __u64);
} listeners SEC(".maps");

static __always_inline bool is_unix(const struct sock *sk)
{
	return config.follows_unix && sk->__sk_common.skc_family == AF_UNIX;
}

/* A client connects, before it sends anything. */
static __always_inline void note_listener(struct sock *sk)
{
	struct unix_sock *listener = bpf_skc_to_unix_sock(sk);
	__u64 address = listener ? (__u64)listener->addr : 0;
	__u64 now = bpf_ktime_get_ns();

	if (!address)
		return;
	bpf_map_update_elem(&listeners, &address, &now, 0);
	shared.connected = now;
}

static __always_inline struct datagrams *followed_unix(struct sock *sk)
{
	struct datagrams *d = sk->sk_bpf_storage ? bpf_sk_storage_get(&datagrams, sk, 0, 0) : 0;
	__u64 address, *noted, now, connected = shared.connected;
	struct unix_sock *accepted;

	if (d || !connected)
		return d;
	now = bpf_ktime_get_ns();
	if (connected + NOTED_NS < now) {
		/* A client may connect meanwhile. */
		__sync_val_compare_and_swap(&shared.connected, connected, 0);
		return 0;
	}
	accepted = bpf_skc_to_unix_sock(sk);
	address = accepted ? (__u64)accepted->addr : 0;
	noted = address ? bpf_map_lookup_elem(&listeners, &address) : 0;
	if (!noted || *noted + NOTED_NS < now)
		return 0;
	return bpf_sk_storage_get(&datagrams, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A client's end has no address, or one of its own. Of a pair of sockets neither end has one. */
static __always_inline bool was_accepted(struct sock *sk, const struct unix_sock *other)
{
	struct unix_address *address = BPF_CORE_READ((struct unix_sock *)sk, addr);

	return address && (!other->addr || BPF_CORE_READ(address, refcnt.refs.counter) > 1);
}

/*
 * In the sender's call, which has the other end of this connection. At the end that was accepted the application's own time is
 * over, from the last byte that it read to the first that it sends.
 */
static __always_inline void answer_by_unix(struct sock *sk)
{
	struct unix_sock *end = bpf_skc_to_unix_sock(sk);
	struct sock *sender = end ? end->peer : 0;
	struct datagrams *d;
	__u64 read_at;

	if ((sk->sk_type != SOCK_STREAM && sk->sk_type != SOCK_SEQPACKET) || !sender)
		return;
	d = sender->sk_bpf_storage ? bpf_sk_storage_get(&datagrams, sender, 0, 0) : 0;
	if (!d) {
		follow_opened(sender);
		return;
	}
	read_at = d->sample == this_sample() ? observe(d->read_at) : 0;
	/* Several threads may send. */
	if (read_at && was_accepted(sender, end) && __sync_val_compare_and_swap(&d->read_at, read_at, 0) == read_at)
		add(SPAN_APPLICATION, bpf_ktime_get_ns() - read_at);
}

/* A byte that a read skips, unless it asks for that byte alone. */
static __always_inline bool is_urgent(const struct sock *sk, const struct unix_sock *end, const struct sk_buff *last)
{
	return end && bpf_core_field_exists(end->oob_skb) && end->oob_skb == last && !(sk->__sk_common.skc_flags & 1 << SOCK_URGINLINE);
}

static __always_inline int come_as_datagram(struct sock *sk, struct datagrams *d, __u32 bytes, __u32 waiting)
{
	struct datagram last = { .ready = bpf_ktime_get_ns(), .left = bytes };

	/* One that was read meanwhile did not wait. */
	last.link = waiting ? last.ready : 0;
	keep_datagram(sk, d, &last);
	return 0;
}

/* In the sender's call: a message is in the queue of its reader. */
static __noinline int come_to_unix(struct sock *sk)
{
	const struct sk_buff *last = sk->sk_receive_queue.prev;
	__u32 number, bytes = last->len, waiting = sk->sk_receive_queue.qlen;
	struct datagrams *d;
	struct datagram *to;
	bool is_read;

	/* It may be freed from here on. Others send datagrams to the same socket, but not to this end of a stream. */
	barrier();
	is_read = last == (void *)&sk->sk_receive_queue || sk->sk_receive_queue.prev != last;
	answer_by_unix(sk);
	d = followed_unix(sk);
	if (!d)
		return 0;
	/* A connection waits to be accepted. */
	if (sk->__sk_common.skc_state == TCP_LISTEN) {
		note_listener(sk);
		return 0;
	}
	if (sk->sk_type != SOCK_STREAM)
		return come_as_datagram(sk, d, is_read ? 0 : bytes, waiting);
	if (bytes == 1 && is_urgent(sk, bpf_skc_to_unix_sock(sk), last))
		return 0;
	if (waiting > 1 && d->sample != this_sample()) {
		/* How many bytes wait before it is not known. */
		if (takes_new()) {
			count(seen, 1);
			count(unfollowed, 1);
		}
		return 0;
	}
	if (!begin_datagrams(d, waiting) || !takes_new())
		return 0;
	count(seen, 1);
	if (is_read) {
		count(unfollowed, 1);
		return 0;
	}
	if ((__s32)(d->queue.came - d->queue.read) >= PLACES) {
		count(crowded, 1);
		return 0;
	}
	number = __sync_fetch_and_add(&d->queue.came, 1);
	to = datagram(d, number);
	to->ready = bpf_ktime_get_ns();
	to->bytes = to->left = bytes;
	publish(to->after, number + 1);
	return 0;
}

struct stream_read {
	struct datagrams *from;
	struct reading *reading;
	__u32 until; /* those that came later were not read */
	__u32 bytes; /* that are not yet of a message */
	__u32 missed; /* those of messages before them, taken by splice, which no hook shows, or by a thread before its hook */
	bool empties; /* nothing waits behind it */
};

/* If nothing waits behind it, this read has the last ones. */
static long add_left(__u32 i, struct stream_read *u)
{
	__u32 number = u->reading->first + i;
	struct datagram *from = datagram(u->from, number);

	if (!after(u->until, number))
		return 1;
	if (observe(from->after) == number + 1)
		u->missed += from->left;
	return 0;
}

static long read_part(__u32 i, struct stream_read *u)
{
	__u32 left, missed = u->missed, number = u->from->queue.read;
	struct datagram *from = datagram(u->from, number);
	struct arrival a = { .state = READY };

	if (!after(u->until, number))
		return 1;
	if (after(u->from->queue.first, number)) {
		/* It waited before others were counted. */
		__sync_val_compare_and_swap(&u->from->queue.read, number, number + 1);
		return 1;
	}
	if (observe(from->after) != number + 1) {
		if (__sync_val_compare_and_swap(&u->from->queue.read, number, number + 1) == number)
			count(unfollowed, 1);
		return 0;
	}
	if (!u->empties && u->bytes < from->left) {
		from->left -= u->bytes;
		return 1;
	}
	a.link = a.taken = a.ready = from->ready;
	a.bytes = from->bytes;
	left = from->left;
	/* Another thread that reads takes the next one. */
	if (__sync_val_compare_and_swap(&u->from->queue.read, number, number + 1) != number)
		return 0;
	if (missed)
		u->missed -= left < missed ? left : missed;
	else
		u->bytes -= left < u->bytes ? left : u->bytes;
	if (missed || a.ready > u->reading->now)
		count(unfollowed, 1);
	else
		end(&a, u->reading);
	return 0;
}

/* The thread that runs has read; its system call goes on. */
static __noinline int read_from_stream(struct sock *sk, struct datagrams *d, int bytes)
{
	struct stream_read u = { .from = d, .bytes = bytes };
	struct reading r = { .sk = sk };
	struct account account;

	/* The end of a stream. */
	if (!bytes)
		return 0;
	if (takes_new())
		count(bytes_read, bytes);
	r.now = bpf_ktime_get_ns();
	d->read_at = takes_new() ? r.now : 0;
	r.thread = reading_thread(r.now);
	if (!r.thread)
		return 0;
	load_account(bpf_get_current_task_btf(), &account);
	r.known = last_away(r.thread, &account, r.now, &r.last);
	u.reading = &r;
	u.until = observe(d->queue.came);
	u.empties = !sk->sk_receive_queue.qlen;
	/* Another thread may move it meanwhile. */
	r.first = observe(d->queue.read);
	if (u.empties)
		bpf_loop(PLACES, add_left, &u, 0);
	u.missed = u.missed > u.bytes ? u.missed - u.bytes : 0;
	bpf_loop(PLACES, read_part, &u, 0);
	r.thread->copying = 0;
	return 0;
}

/* A call is over that sent something. */
static __noinline int sent_to_unix(struct sock *sk, int bytes)
{
	if (bytes >= 0 && is_sampling() && takes_new() && followed_unix(sk)) {
		count(tx_unix, 1);
		count(tx_unix_bytes, bytes);
	}
	return 0;
}

#endif
