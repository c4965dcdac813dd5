/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The time of each message at each hook of its way through the stack.
 *
 * Hooks only stamp; spans are summed where a way ends, after its last stamp, so that
 * the sums do not lie within the spans: the way out ends in net_dev_xmit here, the way
 * in ends in the application (crates/measure, stack/reader.rs).
 */
#include "../include/kernel.h"
#include "../include/histogram.h"
#include "../include/message.h"
#include "abi.h"

/* include/linux/netdevice.h, include/linux/socket.h */
#define NET_XMIT_MASK 0x0f
#define MSG_PEEK 2

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpu_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_sums);
} tx_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tx_windows);
} tx_windows SEC(".maps");

static const __u32 zero = 0;

static __always_inline struct cpu_state *this_cpu(void)
{
	return bpf_map_lookup_elem(&cpu_states, &zero);
}

static __always_inline void count_lost(enum join at)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		cpu->lost[at]++;
}

/* The message of our flow whose IP header lies at `ip`; its owner number, or 0. */
static __always_inline __u64 owner_at(const struct sk_buff *skb, const unsigned char *ip,
				      struct message *message)
{
	if (read_message(skb, ip, shared.flow_be, message))
		return 0;
	return message->sequence + 1;
}

/* On the way out `data` is at the link layer's header; the IP header has its own mark. */
static __always_inline __u64 outgoing(const struct sk_buff *skb, struct message *message)
{
	__u16 offset = skb->network_header;

	return offset == NO_HEADER ? 0 : owner_at(skb, skb->head + offset, message);
}

/* On the way in the link layer's header has been taken off and `data` is at IP. */
static __always_inline __u64 incoming(const struct sk_buff *skb)
{
	struct message message;

	return owner_at(skb, skb->data, &message);
}

static __always_inline struct tx_slot *tx_slot(__u64 owner)
{
	return &shared.tx[owner & (SLOTS - 1)];
}

static __always_inline struct rx_slot *rx_slot(__u64 owner)
{
	return &shared.rx[owner & (SLOTS - 1)];
}

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

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_net_dev_queue, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	struct message message;
	struct tx_slot *slot;
	__u64 owner = outgoing(skb, &message);

	if (!owner)
		return 0;
	slot = tx_slot(owner);
	/* A second device on the way (a bridge, a tunnel) does not open the slot anew. */
	if (slot->owner == owner)
		return 0;
	slot->owner = owner;
	slot->sent = message.sent_ns;
	slot->net_dev_queue = now;
	slot->qdisc_enqueue = 0;
	slot->qdisc_dequeue = 0;
	slot->net_dev_start_xmit = 0;
	slot->net_dev_xmit = 0;
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

/* The link layer on the way out. */
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

static __always_inline void add_span(struct tx_sums *sums, struct tx_windows *windows, enum tx_span span,
				     __u32 window, __s64 value)
{
	if (value < 0)
		sums->negative[span]++;
	else
		sums->buckets[span][bucket_index(value)]++;
	add_moments(&windows->span[span][window & (WINDOWS - 1)], value);
}

/* The way out has ended: sums up its spans. */
static __always_inline void sum_up(const struct tx_slot *slot)
{
	struct tx_sums *sums = bpf_map_lookup_elem(&tx_sums, &zero);
	struct tx_windows *windows = bpf_map_lookup_elem(&tx_windows, &zero);
	__u64 window = (slot->sent - shared.start_ns) >> (shared.window_shift & 63);
	__s64 queued = 0;

	if (!sums || !windows)
		return;
	/* What leaves after the plan's end belongs to the last window. */
	if (window >= WINDOWS)
		window = WINDOWS - 1;
	if (slot->qdisc_enqueue && slot->qdisc_dequeue) {
		queued = slot->qdisc_dequeue - slot->qdisc_enqueue;
		add_span(sums, windows, TX_QDISC, window, queued);
	}
	add_span(sums, windows, TX_SOCKET, window, slot->net_dev_queue - slot->sent);
	add_span(sums, windows, TX_DEVICE, window, slot->net_dev_start_xmit - slot->net_dev_queue - queued);
	add_span(sums, windows, TX_DRIVER, window, slot->net_dev_xmit - slot->net_dev_start_xmit);
	add_span(sums, windows, TX_TOTAL, window, slot->net_dev_start_xmit - slot->sent);
}

/* The driver may have freed the packet by now: its address is compared, never followed. */
SEC("raw_tp/net_dev_xmit")
int on_net_dev_xmit(struct bpf_raw_tracepoint_args *args)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct cpu_state *cpu = this_cpu();
	struct tx_slot *slot;

	if (!cpu || !cpu->tx_owner || cpu->tx_skb != args->args[0])
		return 0;
	owner = cpu->tx_owner;
	cpu->tx_owner = 0;
	/*
	 * A busy driver gets the packet again later: the way has not ended. It has after an
	 * error or a drop behind the driver, as of a full backlog (dev_xmit_complete).
	 */
	if ((int)args->args[1] >= NET_XMIT_MASK)
		return 0;
	slot = tx_slot(owner);
	if (slot->owner != owner)
		return 0;
	slot->net_dev_xmit = now;
	sum_up(slot);
	return 0;
}

static __always_inline void on_arrival(const struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 owner = incoming(skb);
	struct rx_slot *slot;

	if (!owner)
		return;
	slot = rx_slot(owner);
	slot->owner = owner;
	slot->arrival = now;
	slot->netif_receive_skb = 0;
	slot->sk_data_ready = 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(on_netif_rx, struct sk_buff *skb)
{
	on_arrival(skb);
	return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(on_napi_gro_receive_entry, struct sk_buff *skb)
{
	on_arrival(skb);
	return 0;
}

/* The link layer on the way in. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_netif_receive_skb, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 owner = incoming(skb);
	struct cpu_state *cpu;
	struct rx_slot *slot;

	if (!owner)
		return 0;
	slot = rx_slot(owner);
	if (slot->owner != owner) {
		slot->owner = owner;
		slot->arrival = 0;
		slot->sk_data_ready = 0;
	}
	slot->netif_receive_skb = now;
	cpu = this_cpu();
	if (cpu)
		cpu->rx_owner = owner;
	return 0;
}

/* Bounded, since the writer's processor may be slow or stopped. */
#define READ_ATTEMPTS 8

/* What the reader's thread has waited and slept until now, seen from any processor. */
static __always_inline struct idle idle_until(__u64 now)
{
	const struct reader *reader = &shared.reader;
	struct idle idle = {};

	for (int i = 0; i < READ_ATTEMPTS; i++) {
		__u64 version = READ_ONCE(reader->version);
		__u64 since = READ_ONCE(reader->since);
		__u32 state = READ_ONCE(reader->state);

		idle.waited = READ_ONCE(reader->idle.waited);
		idle.slept = READ_ONCE(reader->idle.slept);
		if (state == WAITING)
			idle.waited += now - since;
		else if (state == SLEEPING)
			idle.slept += now - since;
		if (!(version & 1) && version == READ_ONCE(reader->version))
			break;
	}
	return idle;
}

/*
 * The event has the socket, not the packet. IP and UDP run to completion on one
 * processor, so the packet is the last one that this processor took from the link layer;
 * where packets come in lists, all but the last are counted as lost here.
 */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_sk_data_ready, struct sock *sk)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu_state *cpu;
	struct rx_slot *slot;
	__u64 owner;

	if (sk->__sk_common.skc_cookie.counter != shared.reader_cookie)
		return 0;
	cpu = this_cpu();
	if (!cpu)
		return 0;
	owner = cpu->rx_owner;
	cpu->rx_owner = 0;
	slot = rx_slot(owner);
	if (!owner || slot->owner != owner) {
		cpu->lost[JOIN_SK_DATA_READY]++;
		return 0;
	}
	slot->idle = idle_until(now);
	slot->sk_data_ready = now;
	return 0;
}

/*
 * The reader's thread passes into another state. It is bound to one processor, whose run
 * queue is locked around both events, so there is one writer.
 */
static __always_inline void pass_into(enum reader_state state, __u64 now)
{
	struct reader *reader = &shared.reader;
	__u64 spent = now - reader->since;

	WRITE_ONCE(reader->version, reader->version + 1);
	barrier();
	if (reader->state == WAITING)
		reader->idle.waited += spent;
	else if (reader->state == SLEEPING)
		reader->idle.slept += spent;
	reader->state = state;
	reader->since = now;
	barrier();
	WRITE_ONCE(reader->version, reader->version + 1);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct *task)
{
	__u32 tid = shared.reader.tid;
	__u64 now;

	/* Before the reader is known: 0 is the idle task of every processor. */
	if (!tid || task->pid != tid)
		return 0;
	now = bpf_ktime_get_ns();
	shared.reader.sched_wakeup = now;
	/* One that was only about to sleep goes on running. */
	if (shared.reader.state == SLEEPING)
		pass_into(WAITING, now);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 tid = shared.reader.tid;
	__u64 now;

	if (!tid)
		return 0;
	if (next->pid == tid) {
		now = bpf_ktime_get_ns();
		shared.reader.sched_switch = now;
		pass_into(RUNNING, now);
	} else if (prev->pid == tid) {
		now = bpf_ktime_get_ns();
		pass_into(preempt || !prev->__state ? WAITING : SLEEPING, now);
	}
	return 0;
}

/*
 * The event has no packet either. The reader counts its receives as this does, so the
 * n-th here is the n-th there. The reader's thread is learned here too, since user space
 * in a container does not know its number in the first PID namespace.
 */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_sock_recv_length, struct sock *sk, int ret, int flags)
{
	__u64 now = bpf_ktime_get_ns();
	struct reader *reader = &shared.reader;
	struct reception *reception;
	__u64 number;

	if (sk->__sk_common.skc_cookie.counter != shared.reader_cookie)
		return 0;
	/* It is running now, and from here on its switches are followed. */
	if (!reader->tid) {
		reader->since = now;
		reader->tid = bpf_get_current_pid_tgid();
	}
	if (ret < 0 || (flags & MSG_PEEK))
		return 0;
	number = reader->receptions_n++;
	reception = &shared.receptions[number & (SLOTS - 1)];
	reception->sock_recv_length = now;
	reception->sched_wakeup = reader->sched_wakeup;
	reception->sched_switch = reader->sched_switch;
	/* It is running, so nothing is to be added to the sums. */
	reception->idle = reader->idle;
	reception->number = number + 1;
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_kfree_skb, struct sk_buff *skb, void *location, unsigned int reason)
{
	struct message message;
	struct cpu_state *cpu;

	if (!outgoing(skb, &message))
		return 0;
	cpu = this_cpu();
	/* Other subsystems number theirs from 2^16 on; the last place is for all of them. */
	if (reason >= REASONS)
		reason = REASONS - 1;
	/* The mask shows the verifier the bound; clang must not see that it changes nothing. */
	barrier_var(reason);
	if (cpu)
		cpu->drops[reason & (REASONS - 1)]++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
