/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hooks of the way in, and what its reader's thread does meanwhile. It ends in the
 * application, which joins the stamps (crates/measure, stack/tap/bpf.rs).
 */

/*
 * A message takes a slot. User space reads the owner, the times and the owner again (view.rs): between these two
 * stores it finds nobody's slot, so that it never takes the times of one message for those of another.
 */
static __always_inline void open_rx(struct rx_slot *slot, __u64 owner, __u64 arrival)
{
	publish(slot->owner, 0);
	slot->arrival = arrival;
	slot->netif_receive_skb = 0;
	slot->sk_data_ready = 0;
	publish(slot->owner, owner);
}

static __always_inline void on_arrival(const struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 owner = incoming(skb);

	if (owner)
		open_rx(rx_slot(owner), owner, now);
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
	if (slot->owner != owner)
		open_rx(slot, owner, 0);
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
 * between any two instructions. What is read between two equal, even versions belongs to
 * them, since neither reading moves out. Returns 0, or -1 if no attempt was undisturbed.
 */
static __always_inline int read_idle(struct idle *idle, __u64 *now)
{
	struct reader *reader = &shared.reader;

	for (int i = 0; i < READ_ATTEMPTS; i++) {
		__u64 version = observe(reader->version);
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
		if (!(version & 1) && version == observe(reader->version))
			return 0;
	}
	return -1;
}

static __always_inline bool is_readers(const struct sock *sk)
{
	return sk->__sk_common.skc_cookie.counter == shared.reader_cookie;
}

/*
 * A message is in the socket's buffer. The event has the socket, not the packet. IP and UDP
 * run to completion on one processor, so the packet is the last one that this processor took
 * from the link layer; where packets come in lists, all but the last are counted as lost here.
 */
static __always_inline int on_ready(const struct sock *sk)
{
	struct cpu_state *cpu;
	struct rx_slot *slot;
	struct idle idle;
	__u64 owner, now;

	if (!is_readers(sk))
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
	/* A reader that is awake may look at the slot now: with the time it sees the idleness. */
	publish(slot->sk_data_ready, now);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_sk_data_ready, struct sock *sk)
{
	return on_ready(sk);
}

/* Since Linux 6.3 the tracepoint is the first statement of this function. */
SEC("fentry/sock_def_readable")
int BPF_PROG(on_sock_def_readable, struct sock *sk)
{
	return on_ready(sk);
}

/*
 * Where there is neither: a message counts as ready when the link layer has it. Attached
 * after on_netif_receive_skb, and called after it.
 */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_ready_at_link, struct sk_buff *skb)
{
	__u64 owner = incoming(skb), now;
	struct rx_slot *slot;
	struct idle idle;

	if (!owner)
		return 0;
	slot = rx_slot(owner);
	if (slot->owner != owner || read_idle(&idle, &now)) {
		count_lost(JOIN_SK_DATA_READY);
		return 0;
	}
	slot->idle = idle;
	slot->netif_receive_skb = now;
	publish(slot->sk_data_ready, now);
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

	publish(reader->version, reader->version + 1);
	now = bpf_ktime_get_ns();
	spent = now - reader->since;
	if (reader->state == WAITING)
		reader->idle.waited += spent;
	else if (reader->state == SLEEPING)
		reader->idle.slept += spent;
	reader->state = state;
	reader->since = now;
	publish(reader->version, reader->version + 1);
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
		pass_into(preempt || is_runnable(prev) ? WAITING : SLEEPING);
	return 0;
}

/*
 * A receive call of the reader is about to return. The event has no packet: the reader
 * counts its receives as this does, so the n-th here is the n-th there. The reader's thread
 * is learned here too, since user space in a container does not know its number in the first
 * PID namespace.
 */
static __always_inline int on_received(__u64 now, int ret, int flags)
{
	struct reader *reader = &shared.reader;
	struct reception *reception;
	__u64 number;

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
	/*
	 * It is running, so nothing is to be added to the sums; and what its switches stored it sees
	 * itself, as it sees all of this in user space: the same thread needs no order but the compiler's.
	 */
	reception->idle = reader->idle;
	reception->number = number + 1;
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_sock_recv_length, struct sock *sk, int ret, int flags)
{
	__u64 now = bpf_ktime_get_ns();

	return is_readers(sk) ? on_received(now, ret, flags) : 0;
}

/* Since Linux 6.3 the tracepoint is the next statement after this function and that of IPv6. */
SEC("fexit/inet_recvmsg")
int BPF_PROG(on_inet_recvmsg, struct socket *socket, struct msghdr *message, size_t size, int flags, int ret)
{
	__u64 now = bpf_ktime_get_ns();

	return is_readers(socket->sk) ? on_received(now, ret, flags) : 0;
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(on_inet6_recvmsg, struct socket *socket, struct msghdr *message, size_t size, int flags, int ret)
{
	__u64 now = bpf_ktime_get_ns();

	return is_readers(socket->sk) ? on_received(now, ret, flags) : 0;
}

/*
 * Where functions have no hooks: the last thing that UDP does in a receive call is to free
 * the packet. A copy that a packet socket reads belongs to that socket; ours to none by now.
 */
SEC("tp_btf/consume_skb")
int BPF_PROG(on_consume_skb, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns();
	struct message message;
	const struct rx_slot *slot;
	__u64 owner;

	if (skb->sk)
		return 0;
	owner = outgoing(skb, &message);
	slot = rx_slot(owner);
	if (!owner || slot->owner != owner || !slot->sk_data_ready)
		return 0;
	return on_received(now, 0, 0);
}
