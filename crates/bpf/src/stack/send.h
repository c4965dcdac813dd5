/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The hooks of sending. It ends in net_dev_xmit, where its spans are summed. */

/* The slot of an outgoing message that net_dev_queue has opened. */
static __always_inline struct tx_slot *joined(const struct sk_buff *skb, __u64 *owner, enum join at)
{
	struct message message;
	struct tx_slot *slot;

	*owner = outgoing(skb, &message);
	if (!*owner)
		return NULL;
	slot = tx_slot(*owner);
	if (slot->owner == *owner)
		return slot;
	count_lost(at);
	return NULL;
}

/* As open_rx, but the caller publishes the owner. A second device on the way (a bridge, a tunnel) does not open it anew. */
static __always_inline struct tx_slot *open_tx(const struct sk_buff *skb, __u64 *owner)
{
	struct message message;
	struct tx_slot *slot;

	*owner = outgoing(skb, &message);
	if (!*owner)
		return NULL;
	slot = tx_slot(*owner);
	if (slot->owner == *owner)
		return NULL;
	publish(slot->owner, 0);
	slot->sent = message.sent_ns;
	return slot;
}

/* IP takes a message from UDP, before the packet knows its protocol. No tracepoint is there. */
static __always_inline int on_output(const struct sk_buff *skb, __be16 protocol)
{
	const unsigned char *udp = skb->head + skb->network_header + udp_offset(protocol);
	__u64 now = bpf_ktime_get_ns();
	struct cpu_state *cpu = this_cpu();
	struct message message;

	if (cpu && !read_datagram(udp, shared.flow_be, &message)) {
		cpu->output = now;
		cpu->output_owner = message.sequence + 1;
	}
	return 0;
}

SEC("fentry/ip_send_skb")
int BPF_PROG(on_ip_send_skb, struct net *net, struct sk_buff *skb)
{
	return on_output(skb, PROTOCOL_IPV4);
}

SEC("fentry/ip6_send_skb")
int BPF_PROG(on_ip6_send_skb, struct sk_buff *skb)
{
	return on_output(skb, PROTOCOL_IPV6);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_net_dev_queue, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct tx_slot *slot = open_tx(skb, &owner);
	struct cpu_state *cpu;

	if (!slot)
		return 0;
	slot->net_dev_queue = now;
	slot->qdisc_enqueue = 0;
	slot->qdisc_dequeue = 0;
	slot->net_dev_start_xmit = 0;
	slot->net_dev_xmit = 0;
	cpu = this_cpu();
	/* Of a sender that changed its processor meanwhile nothing is known between. */
	slot->output = cpu && cpu->output_owner == owner ? cpu->output : 0;
	publish(slot->owner, owner);
	return 0;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(on_qdisc_enqueue, struct Qdisc *qdisc, struct netdev_queue *txq, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct tx_slot *slot = joined(skb, &owner, JOIN_QDISC_ENQUEUE);

	if (slot)
		slot->qdisc_enqueue = now;
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(on_qdisc_dequeue, struct Qdisc *qdisc, struct netdev_queue *txq, int packets,
	     struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct tx_slot *slot;

	/* The event fires for an empty queue too, without a packet. */
	if (!skb)
		return 0;
	slot = joined(skb, &owner, JOIN_QDISC_DEQUEUE);
	if (slot)
		slot->qdisc_dequeue = now;
	return 0;
}

/* The link layer, sending. */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(on_net_dev_start_xmit, struct sk_buff *skb, struct net_device *dev)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct tx_slot *slot = joined(skb, &owner, JOIN_NET_DEV_START_XMIT);
	struct cpu_state *cpu;

	if (!slot)
		return 0;
	/* A second device below one that has sent it on does not count again. */
	if (slot->net_dev_xmit)
		return 0;
	slot->net_dev_start_xmit = now;
	cpu = this_cpu();
	if (cpu) {
		cpu->tx_owner = owner;
		cpu->tx_skb = ctx[0];
	}
	return 0;
}

static __always_inline void add_value(struct span_sums *sums, struct span_windows *windows, __u32 window, __s64 value)
{
	if (value < 0)
		sums->negative++;
	else
		sums->buckets[bucket_index(value)]++;
	add_moments(&windows->n[window & (WINDOWS - 1)], value);
}

#define add_span(sums, windows, span, window, value) add_value(&(sums)->span, &(windows)->span, window, value)

static __always_inline void add_parts(const struct tx_slot *slot, __u32 window)
{
	struct part_sums *sums = bpf_map_lookup_elem(&part_sums, &zero);
	struct part_windows *windows = bpf_map_lookup_elem(&part_windows, &zero);

	if (!sums || !windows)
		return;
	add_span(sums, windows, send, window, slot->output - slot->sent);
	add_span(sums, windows, output, window, slot->net_dev_queue - slot->output);
}

/* What TCP has not sent by the end of the call waits for its turn. */
static __always_inline void add_sendq(const struct tx_slot *slot, __u32 window)
{
	struct part_sums *sums = bpf_map_lookup_elem(&part_sums, &zero);
	struct part_windows *windows = bpf_map_lookup_elem(&part_windows, &zero);

	if (sums && windows)
		add_span(sums, windows, sendq, window, slot->net_dev_queue - slot->output);
}

/* What leaves after the plan's end belongs to the last window. */
static __always_inline __u64 window_of(const struct tx_slot *slot)
{
	__u64 window = (slot->sent - shared.start_ns) >> (shared.window_shift & 63);

	return window >= WINDOWS ? WINDOWS - 1 : window;
}

/* Sending has ended: sums up its spans. */
static __always_inline void sum_up(const struct tx_slot *slot, bool is_stream)
{
	struct tx_sums *sums = bpf_map_lookup_elem(&tx_sums, &zero);
	struct tx_windows *windows = bpf_map_lookup_elem(&tx_windows, &zero);
	__u64 window = window_of(slot);
	__u64 handed = slot->net_dev_queue;
	__s64 queued = 0;

	if (!sums || !windows)
		return;
	if (slot->qdisc_enqueue && slot->qdisc_dequeue) {
		queued = slot->qdisc_dequeue - slot->qdisc_enqueue;
		add_span(sums, windows, qdisc, window, queued);
	}
	if (is_stream && slot->output && slot->output < handed) {
		handed = slot->output;
		add_sendq(slot, window);
	}
	if (!is_stream && slot->output)
		add_parts(slot, window);
	else
		add_span(sums, windows, socket, window, handed - slot->sent);
	add_span(sums, windows, device, window, slot->net_dev_start_xmit - slot->net_dev_queue - queued);
	add_span(sums, windows, driver, window, slot->net_dev_xmit - slot->net_dev_start_xmit);
	add_span(sums, windows, total, window, slot->net_dev_start_xmit - slot->sent);
}

/* The only hook of sending where nothing but its whole time is wanted. */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(on_departure, struct sk_buff *skb, struct net_device *dev)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct tx_slot *slot = open_tx(skb, &owner);
	struct tx_windows *windows;
	struct tx_sums *sums;

	if (!slot)
		return 0;
	slot->net_dev_start_xmit = now;
	publish(slot->owner, owner);
	sums = bpf_map_lookup_elem(&tx_sums, &zero);
	windows = bpf_map_lookup_elem(&tx_windows, &zero);
	if (sums && windows)
		add_span(sums, windows, total, window_of(slot), now - slot->sent);
	return 0;
}

/* The driver may have freed the packet by now: its address is compared, never followed. */
SEC("raw_tp/net_dev_xmit")
int RAW_PROG(on_net_dev_xmit)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct cpu_state *cpu = this_cpu();
	struct tx_slot *slot;

	if (!cpu || !cpu->tx_owner || cpu->tx_skb != ctx->args[0])
		return 0;
	owner = cpu->tx_owner;
	cpu->tx_owner = 0;
	/*
	 * A busy driver gets the packet again later: the way has not ended. It has after an
	 * error or a drop behind the driver, as of a full backlog (dev_xmit_complete).
	 */
	if ((int)ctx->args[1] >= NET_XMIT_MASK)
		return 0;
	slot = tx_slot(owner);
	if (slot->owner != owner)
		return 0;
	slot->net_dev_xmit = now;
	sum_up(slot, false);
	return 0;
}
