/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The same hooks for messages over TCP (docs/decisions/0034-stack-over-tcp.md).
 *
 * A message is the bytes that it is in the stream, and its time at a hook is that of its last byte. So it does not matter
 * how TCP, GSO or GRO cut and join segments, and a retransmission changes nothing: the first time counts. The sender opens
 * the slot of a message before its call, with its stamp: payload is in pages that no program here can read.
 */

/* GSO_MAX_SIZE of include/linux/netdevice.h, rounded up: what TCP hands down in one piece. */
#define MOST_PAYLOAD (1 << 19)

/* Messages with their last byte in a segment. */
struct run {
	__u64 first;
	__u32 count;
	enum join at;
	__u64 now;
	struct idle idle;
};

/* Plain words at any address; see message.h. */
static __always_inline const struct ipv6hdr *words_at(const void *address)
{
	return bpf_rdonly_cast(address - sizeof(__u64), bpf_core_type_id_kernel(struct ipv6hdr));
}

/* Where in the stream a sequence number is, in bytes; negative before its begin. */
static __always_inline __s64 place_of(__u32 sequence)
{
	struct stream *stream = &shared.stream;

	return stream->top + (__s32)(sequence - (stream->first + (__u32)stream->top));
}

/* Whether addresses are those of the connection: their last words, by which hosts differ. */
static __always_inline bool is_between(const struct sk_buff *skb, const unsigned char *ip)
{
	bool is_ipv4 = skb->protocol == PROTOCOL_IPV4;
	const struct ipv6hdr *from = words_at(ip + (is_ipv4 ? 12 : 20)), *to = words_at(ip + (is_ipv4 ? 16 : 36));

	return word_of(from->saddr, 0) == shared.stream.from && word_of(to->saddr, 0) == shared.stream.to;
}

/* Whether the packet with its IP header at `ip` ends messages of ours, and which. */
static __always_inline bool ends_messages(const struct sk_buff *skb, const unsigned char *ip, struct run *run)
{
	struct stream *stream = &shared.stream;
	__u32 offset = udp_offset(skb->protocol), bytes;
	const unsigned char *tcp = ip + offset;
	const struct ipv6hdr *words;
	unsigned long from_data;
	__s64 place;

	if (!offset || !stream->message_bytes)
		return false;
	words = words_at(tcp);
	if (word_of(words->saddr, 0) != stream->ports || !is_between(skb, ip))
		return false;
	from_data = (unsigned long)tcp + (bpf_ntohl(word_of(words->saddr, 3)) >> 28 << 2) - (unsigned long)skb->data;
	/* Linux 7 knows both as pointers, and refuses a difference in 32 bits, which is all that is needed of it. */
	barrier_var(from_data);
	bytes = skb->len - (__u32)from_data;
	place = place_of(bpf_ntohl(word_of(words->saddr, 1)));
	if (!bytes || bytes > MOST_PAYLOAD || place < 0)
		return false;
	if (place + bytes > stream->top)
		stream->top = place + bytes;
	run->first = place / stream->message_bytes;
	run->count = (place + bytes) / stream->message_bytes - run->first;
	return run->count;
}

static __always_inline bool leaves(const struct sk_buff *skb, struct run *run)
{
	__u16 offset = skb->network_header;

	return offset != NO_HEADER && ends_messages(skb, skb->head + offset, run);
}

static long leave_one(__u32 i, struct run *run)
{
	__u64 owner = run->first + i + 1;
	struct tx_slot *slot = tx_slot(owner);
	enum join at = run->at;
	__u64 *stamp;

	if (slot->owner != owner) {
		if (at < JOINS)
			count_lost(at);
		return 0;
	}
	switch (at) {
	case JOIN_QDISC_ENQUEUE:
		stamp = &slot->qdisc_enqueue;
		break;
	case JOIN_QDISC_DEQUEUE:
		stamp = &slot->qdisc_dequeue;
		break;
	case JOIN_NET_DEV_START_XMIT:
		stamp = &slot->net_dev_start_xmit;
		break;
	default:
		stamp = &slot->net_dev_queue;
	}
	/* Later times are those of a second device, or of a retransmission. */
	if (!*stamp)
		*stamp = run->now;
	return 0;
}

static __always_inline bool pass_out(const struct sk_buff *skb, enum join at, struct run *run)
{
	run->now = bpf_ktime_get_ns();
	run->at = at;
	if (!leaves(skb, run))
		return false;
	bpf_loop(run->count, leave_one, run, 0);
	return true;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(stream_net_dev_queue, struct sk_buff *skb)
{
	struct run run = {};

	pass_out(skb, JOIN_NET_DEV_QUEUE, &run);
	return 0;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(stream_qdisc_enqueue, struct Qdisc *qdisc, struct netdev_queue *txq, struct sk_buff *skb)
{
	struct run run = {};

	pass_out(skb, JOIN_QDISC_ENQUEUE, &run);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(stream_qdisc_dequeue, struct Qdisc *qdisc, struct netdev_queue *txq, int packets, struct sk_buff *skb)
{
	struct run run = {};

	/* The event fires for an empty queue too, without a packet. */
	if (skb)
		pass_out(skb, JOIN_QDISC_DEQUEUE, &run);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(stream_net_dev_start_xmit, struct sk_buff *skb, struct net_device *dev)
{
	struct run run = {};
	struct cpu_state *cpu;

	if (!pass_out(skb, JOIN_NET_DEV_START_XMIT, &run))
		return 0;
	cpu = this_cpu();
	if (cpu) {
		cpu->tx_owner = run.first + 1;
		cpu->tx_count = run.count;
		cpu->tx_skb = ctx[0];
	}
	return 0;
}

static long sum_up_one(__u32 i, struct run *run)
{
	__u64 owner = run->first + i + 1;
	struct tx_slot *slot = tx_slot(owner);

	if (slot->owner == owner && slot->net_dev_queue && !slot->net_dev_xmit) {
		slot->net_dev_xmit = run->now;
		sum_up(slot, true);
	}
	return 0;
}

/* As on_net_dev_xmit does. */
SEC("raw_tp/net_dev_xmit")
int RAW_PROG(stream_net_dev_xmit)
{
	struct run run = { .now = bpf_ktime_get_ns() };
	struct cpu_state *cpu = this_cpu();

	if (!cpu || !cpu->tx_owner || cpu->tx_skb != ctx->args[0])
		return 0;
	run.first = cpu->tx_owner - 1;
	cpu->tx_owner = 0;
	if ((int)ctx->args[1] >= NET_XMIT_MASK)
		return 0;
	bpf_loop(cpu->tx_count, sum_up_one, &run, 0);
	return 0;
}

/* The sender's call is over. What it had to say may be in the socket still. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(stream_sock_send_length, struct sock *sk)
{
	__u64 owner = shared.stream.announced;
	struct tx_slot *slot = tx_slot(owner);

	if (sk->__sk_common.skc_cookie.counter != shared.stream.sender_cookie)
		return 0;
	if (owner && slot->owner == owner && !slot->net_dev_queue)
		slot->output = bpf_ktime_get_ns();
	return 0;
}

static long arrive_one(__u32 i, struct run *run)
{
	__u64 owner = run->first + i + 1;
	struct rx_slot *slot = rx_slot(owner);

	/* It is a retransmission otherwise, of what came before. */
	if (slot->owner < owner)
		open_rx(slot, owner, run->at == JOINS ? run->now : 0);
	if (slot->owner == owner && run->at != JOINS && !slot->netif_receive_skb)
		slot->netif_receive_skb = run->now;
	return 0;
}

/* From the driver, where `at` is JOINS, or to the link layer. */
static __always_inline int pass_in(const struct sk_buff *skb, enum join at)
{
	struct run run = { .now = bpf_ktime_get_ns(), .at = at };

	if (ends_messages(skb, skb->data, &run))
		bpf_loop(run.count, arrive_one, &run, 0);
	return 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(stream_netif_rx, struct sk_buff *skb)
{
	return pass_in(skb, JOINS);
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(stream_napi_gro_receive_entry, struct sk_buff *skb)
{
	return pass_in(skb, JOINS);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(stream_netif_receive_skb, struct sk_buff *skb)
{
	return pass_in(skb, JOIN_SK_DATA_READY);
}

static long ready_one(__u32 i, struct run *run)
{
	__u64 owner = run->first + i + 1;
	struct rx_slot *slot = rx_slot(owner);

	if (slot->owner != owner) {
		count_lost(JOIN_SK_DATA_READY);
		return 0;
	}
	slot->idle = run->idle;
	publish(slot->sk_data_ready, run->now);
	return 0;
}

/* Under the socket's lock: what TCP has in order is there for the reader. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(stream_sk_data_ready, struct sock *sk)
{
	struct stream *stream = &shared.stream;
	struct run run = {};
	struct tcp_sock *tcp;
	__s64 place;
	__u64 end;

	if (!is_readers(sk) || !stream->message_bytes)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	place = place_of(tcp->rcv_nxt);
	if (place <= 0)
		return 0;
	end = place / stream->message_bytes;
	run.first = stream->ready;
	if (end <= run.first)
		return 0;
	/* The programs were not attached meanwhile. */
	if (end - run.first > SLOTS)
		run.first = end - SLOTS;
	stream->ready = end;
	if (read_idle(&run.idle, &run.now)) {
		count_lost(JOIN_SK_DATA_READY);
		return 0;
	}
	bpf_loop(end - run.first, ready_one, &run, 0);
	return 0;
}
