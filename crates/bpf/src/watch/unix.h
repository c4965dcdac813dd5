/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unix sockets: what other programs of this host have put into them and was not read yet.
 *
 * A message is what a sender queues at once, and waits from then on. As with datagrams, messages and reads are counted:
 * no hook has both. Of a stream the bytes are counted too, as a read ends anywhere. A message may be read before it is
 * announced: then it waited for nothing, and has no times.
 */
#ifndef NETFATHOM_WATCH_UNIX_H
#define NETFATHOM_WATCH_UNIX_H

/* include/linux/net.h */
#define SOCK_STREAM 1
/* Watched sockets that listen, at once. */
#define LISTENERS 1024

/* The addresses of sockets that listen, as the kernel has them: what they accept has the same one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LISTENERS);
	__type(key, __u64);
	__type(value, __u32);
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
	__u32 one = 1;

	if (address)
		bpf_map_update_elem(&listeners, &address, &one, 0);
}

static __always_inline struct datagrams *followed_unix(struct sock *sk)
{
	struct datagrams *d = sk->sk_bpf_storage ? bpf_sk_storage_get(&datagrams, sk, 0, 0) : 0;
	struct unix_sock *accepted;
	__u64 address;

	if (d)
		return d;
	accepted = bpf_skc_to_unix_sock(sk);
	address = accepted ? (__u64)accepted->addr : 0;
	if (!address || !bpf_map_lookup_elem(&listeners, &address))
		return 0;
	return bpf_sk_storage_get(&datagrams, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* In the sender's call: a message is in the queue of its reader. */
static __noinline int come_to_unix(struct sock *sk)
{
	const struct sk_buff *last = sk->sk_receive_queue.prev;
	bool is_read = last == (void *)&sk->sk_receive_queue;
	struct datagrams *d = followed_unix(sk);
	__u32 waiting = sk->sk_receive_queue.qlen;
	struct datagram *to;
	__u32 number;

	if (!d)
		return 0;
	/* A connection waits to be accepted. */
	if (sk->__sk_common.skc_state == TCP_LISTEN) {
		note_listener(sk);
		return 0;
	}
	/* What waits from before is not counted: it is read first. */
	if ((waiting > 1 && d->sample != this_sample()) || !begin_datagrams(d, waiting) || !takes_new())
		return 0;
	count(seen, 1);
	if (d->came - d->read >= PLACES) {
		count(crowded, 1);
		return 0;
	}
	number = __sync_fetch_and_add(&d->came, 1);
	if (is_read) {
		count(unfollowed, 1);
		return 0;
	}
	to = datagram(d, number);
	to->ready = bpf_ktime_get_ns();
	to->bytes = to->left = last->len;
	publish(to->after, number + 1);
	return 0;
}

struct unix_read {
	struct datagrams *from;
	struct reading *reading;
	__u32 bytes; /* that are not yet of a message */
	__u32 streams; /* as a bool, the verifier does not know that it is 0 or 1 */
	bool empties; /* nothing waits behind it */
};

static long read_unix(__u32 i, struct unix_read *u)
{
	__u32 number = u->from->read;
	struct datagram *from = datagram(u->from, number);
	struct arrival a = { .state = READY };

	if (number == u->from->came)
		return 1;
	if (observe(from->after) != number + 1) {
		__sync_val_compare_and_swap(&u->from->read, number, number + 1);
		return 0;
	}
	if (u->streams && !u->empties && u->bytes < from->left) {
		from->left -= u->bytes;
		return 1;
	}
	a.link = a.taken = a.ready = from->ready;
	a.bytes = u->streams ? from->bytes : u->bytes;
	/* Another thread that reads takes the next one. */
	if (__sync_val_compare_and_swap(&u->from->read, number, number + 1) != number)
		return 0;
	u->bytes -= from->left < u->bytes ? from->left : u->bytes;
	end(&a, u->reading);
	return u->streams == 0;
}

/* The thread that runs has read; its system call goes on. */
static __noinline int read_from_unix(struct sock *sk, int bytes)
{
	struct unix_read u = { .bytes = bytes };
	struct reading r = { .sk = sk };
	struct account account;

	if (bytes <= 0)
		return 0;
	u.from = bpf_sk_storage_get(&datagrams, sk, 0, 0);
	if (!u.from || u.from->sample != this_sample())
		return 0;
	if (takes_new())
		count(bytes_read, bytes);
	r.now = bpf_ktime_get_ns();
	r.thread = reading_thread(r.now);
	if (!r.thread)
		return 0;
	load_account(bpf_get_current_task_btf(), &account);
	r.known = last_away(r.thread, &account, r.now, &r.last);
	u.reading = &r;
	u.streams = sk->sk_type == SOCK_STREAM;
	u.empties = !sk->sk_receive_queue.qlen;
	bpf_loop(PLACES, read_unix, &u, 0);
	r.thread->copying = 0;
	return 0;
}

#endif
