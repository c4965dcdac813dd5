/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What comes to the socket is counted and timed. */
#ifndef NETFATHOM_MESSAGE_BOOK_H
#define NETFATHOM_MESSAGE_BOOK_H

/* enum sk_action of include/uapi/linux/bpf.h */
#define SK_DROP 0
#define SK_PASS 1

/* The fields of include/uapi/linux/bpf.h that are needed, at their places. */
struct __sk_buff {
	__u32 len;
	__u8 unused[164];
	/* A struct bpf_sock, which the kernel alone reads. */
	__u64 sk;
};

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

/* Packets of UDP may be at this on several processors at once, so that all sums are atomic. */
static __always_inline __u64 add(__u64 *sum, __u64 value)
{
	return __sync_fetch_and_add(sum, value);
}

static __always_inline void book_interval(__u64 now)
{
	__u64 before = __sync_lock_test_and_set(&shared.last_message_ns, now);
	__s64 interval = now - before;
	__u32 index;

	if (!before) {
		shared.first_message_ns = now;
		return;
	}
	if (interval < 0) {
		add(&shared.negative, 1);
		return;
	}
	index = bucket_index(interval);
	if (index < BUCKETS)
		add(&shared.buckets[index], 1);
}

/* How many messages these bytes make whole. */
static __always_inline __u64 completed(__u64 bytes_before, __u32 bytes)
{
	if (shared.datagrams || !shared.message_bytes)
		return 1;
	return (bytes_before + bytes) / shared.message_bytes - bytes_before / shared.message_bytes;
}

/* Returns the number of the message that these bytes begin in, from 1. */
static __always_inline __u64 book(__u32 bytes)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 whole = completed(add(&shared.bytes, bytes), bytes);
	__u64 number = add(&shared.messages, whole) + 1;

	if (!add(&shared.calls, 1))
		shared.first_ns = now;
	shared.last_ns = now;
	if (whole) {
		book_interval(now);
		add(&shared.together, whole - 1);
	}
	return number;
}

static __always_inline bool is_answered(__u64 number)
{
	return !shared.stopped && (!shared.until || number < shared.until);
}

static __always_inline int refuse(void)
{
	add(&shared.refused, 1);
	return SK_DROP;
}

/*
 * Whether the other end of a stream takes too little of what is sent back. It waits for its worker
 * without any limit of the kernel's.
 */
static __always_inline bool is_clogged(struct __sk_buff *skb)
{
	struct tcp_sock *tcp;
	void *sk;

	if (shared.datagrams)
		return false;
	sk = (void *)skb->sk;
	if (!sk)
		return false;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return false;
	if (!shared.returned_bytes)
		shared.acked_before = tcp->bytes_acked;
	return shared.returned_bytes > MOST_UNREAD + tcp->bytes_acked - shared.acked_before;
}

/* Sends a number of bytes out of a socket of a map. */
static __always_inline int send_to(struct __sk_buff *skb, void *map, __u32 key, __u32 bytes)
{
	if (bpf_sk_redirect_map(skb, map, key, 0) != SK_PASS)
		return refuse();
	add(&shared.returned_bytes, bytes);
	return SK_PASS;
}

#endif
