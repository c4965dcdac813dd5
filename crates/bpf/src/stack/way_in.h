/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hooks of the way in, and what its reader's thread does meanwhile. It ends in the
 * application, which joins the stamps (crates/measure, stack/tap/bpf.rs).
 */

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

/*
 * The time, and what the reader's thread has waited and slept until then, seen from any
 * processor. Both are of one moment: a hypervisor may stop this processor for milliseconds
 * between any two instructions. Returns 0, or -1 if no attempt was undisturbed.
 */
static __always_inline int read_idle(struct idle *idle, __u64 *now)
{
	const struct reader *reader = &shared.reader;

	for (int i = 0; i < READ_ATTEMPTS; i++) {
		__u64 version = READ_ONCE(reader->version);
		__u64 since;
		__u32 state;

		*now = bpf_ktime_get_ns();
		since = READ_ONCE(reader->since);
		state = READ_ONCE(reader->state);
		idle->waited = READ_ONCE(reader->idle.waited);
		idle->slept = READ_ONCE(reader->idle.slept);
		if (state == WAITING)
			idle->waited += *now - since;
		else if (state == SLEEPING)
			idle->slept += *now - since;
		if (!(version & 1) && version == READ_ONCE(reader->version))
			return 0;
	}
	return -1;
}

/*
 * The event has the socket, not the packet. IP and UDP run to completion on one
 * processor, so the packet is the last one that this processor took from the link layer;
 * where packets come in lists, all but the last are counted as lost here.
 */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_sk_data_ready, struct sock *sk)
{
	struct cpu_state *cpu;
	struct rx_slot *slot;
	struct idle idle;
	__u64 owner, now;

	if (sk->__sk_common.skc_cookie.counter != shared.reader_cookie)
		return 0;
	cpu = this_cpu();
	if (!cpu)
		return 0;
	owner = cpu->rx_owner;
	cpu->rx_owner = 0;
	slot = rx_slot(owner);
	if (!owner || slot->owner != owner || read_idle(&idle, &now)) {
		cpu->lost[JOIN_SK_DATA_READY]++;
		return 0;
	}
	slot->idle = idle;
	slot->sk_data_ready = now;
	return 0;
}

/*
 * The reader's thread passes into another state; returns when. It is bound to one processor,
 * whose run queue is locked around both events, so there is one writer. The clock is read
 * while the version is odd: whoever reads until then tries again, and never sees an old state
 * at a time when the new one had begun.
 */
static __always_inline __u64 pass_into(enum reader_state state)
{
	struct reader *reader = &shared.reader;
	__u64 now, spent;

	WRITE_ONCE(reader->version, reader->version + 1);
	barrier();
	now = bpf_ktime_get_ns();
	spent = now - reader->since;
	if (reader->state == WAITING)
		reader->idle.waited += spent;
	else if (reader->state == SLEEPING)
		reader->idle.slept += spent;
	reader->state = state;
	reader->since = now;
	barrier();
	WRITE_ONCE(reader->version, reader->version + 1);
	return now;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct *task)
{
	__u32 tid = shared.reader.tid;

	/* Before the reader is known: 0 is the idle task of every processor. */
	if (!tid || task->pid != tid)
		return 0;
	/* One that was only about to sleep goes on running. */
	if (shared.reader.state == SLEEPING)
		shared.reader.sched_wakeup = pass_into(WAITING);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 tid = shared.reader.tid;

	if (!tid)
		return 0;
	if (next->pid == tid)
		shared.reader.sched_switch = pass_into(RUNNING);
	else if (prev->pid == tid)
		pass_into(preempt || !prev->__state ? WAITING : SLEEPING);
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
