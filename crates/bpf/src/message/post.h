/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A post: a small request is answered by a reply of many bytes, which is answered by the next
 * request.
 *
 * A datagram is made longer or shorter. A packet of a stream must not be: the kernel takes its
 * length for the bytes that were received. What is sent back of a reply is therefore cut out of it,
 * by a parser that has it end where the rest begins. A request is cut into as many pieces as the
 * reply is to have, which go through a pair of datagram sockets, and are made longer on their way.
 */
#ifndef NETFATHOM_MESSAGE_POST_H
#define NETFATHOM_MESSAGE_POST_H

/* Where the pieces of a request go in (OUT), and where they come out (IN). */
enum hop { HOP_IN, HOP_OUT, HOPS };

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, HOPS);
	__type(key, __u32);
	__type(value, __u32);
} hop SEC(".maps");

/* Called for each piece of a stream in turn; the answer's verdict moves on. */
static __always_inline __u32 next_of_reply(void)
{
	__u64 rest = shared.message_bytes - shared.answer_bytes;

	if (shared.position >= rest)
		return shared.answer_bytes;
	rest -= shared.position;
	return rest < MOST_GROWN ? rest : MOST_GROWN;
}

static __always_inline __u32 next_of_request(void)
{
	return shared.position + 1 < shared.pieces ? 1 : shared.message_bytes - shared.position;
}

/* Whether that was the message's end. */
static __always_inline bool move_on(__u32 bytes)
{
	shared.position += bytes;
	if (shared.position < shared.message_bytes)
		return false;
	shared.position = 0;
	return true;
}

SEC("sk_skb/stream_parser")
int message_cut_reply(struct __sk_buff *skb)
{
	return next_of_reply();
}

/*
 * A piece without a receiver. Of one that is dropped the kernel adds its packet's length to what was read of the socket, which
 * the parser adds too (tcp_eat_skb, seen in 6.18 and 7.2). If several packets wait, too little then seems to wait
 * for the next piece, and the parser stops for good. An empty packet adds nothing; this one is the parser's own copy.
 */
static __always_inline int discard(struct __sk_buff *skb)
{
	bpf_skb_change_tail(skb, 0, 0);
	return SK_DROP;
}

SEC("sk_skb/stream_verdict")
int message_ask(struct __sk_buff *skb)
{
	__u32 bytes = next_of_reply();
	__u64 number = book(bytes);

	if (!move_on(bytes) || !is_answered(number))
		return discard(skb);
	return send_to(skb, &sockets, THIS, bytes);
}

SEC("sk_skb/stream_parser")
int message_cut_request(struct __sk_buff *skb)
{
	return next_of_request();
}

SEC("sk_skb/stream_verdict")
int message_reply(struct __sk_buff *skb)
{
	__u32 bytes = next_of_request();
	__u64 number = book(bytes);

	move_on(bytes);
	if (!is_answered(number))
		return discard(skb);
	if (is_clogged(skb) || bpf_sk_redirect_map(skb, &hop, HOP_OUT, 0) != SK_PASS)
		return refuse();
	return SK_PASS;
}

/* One after the other: a single worker sends them. */
SEC("sk_skb/verdict")
int message_grow(struct __sk_buff *skb)
{
	__u64 left, bytes;

	if (shared.grown >= shared.pieces) {
		shared.grown = 0;
		shared.grown_bytes = 0;
	}
	left = shared.pieces - shared.grown;
	bytes = (shared.answer_bytes - shared.grown_bytes) / (left ? left : 1);
	shared.grown++;
	shared.grown_bytes += bytes;
	if (bpf_skb_change_tail(skb, bytes, 0))
		return refuse();
	return send_to(skb, &sockets, THIS, bytes);
}

SEC("sk_skb/verdict")
int message_resize(struct __sk_buff *skb)
{
	__u32 bytes = shared.answer_bytes;

	if (!is_answered(book(skb->len)))
		return SK_DROP;
	if (bpf_skb_change_tail(skb, bytes, 0) || bpf_skb_pull_data(skb, bytes))
		return refuse();
	return send_to(skb, &sockets, THIS, bytes);
}

#endif
