/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hooks of receiving, and what its reader's thread does meanwhile. It ends in the
 * application, which joins the stamps (crates/measure, tap/bpf.rs).
 */

/*
 * A message takes a slot. User space reads the owner, the times and the owner again (view.rs): between these two
 * stores it finds a slot without an owner, so that it never takes the times of one message for those of another.
 */
static __always_inline void open_rx(struct rx_slot *slot, __u64 owner, __u64 arrival)
{
	publish(slot->owner, 0);
	slot->arrival = arrival;
	slot->netif_receive_skb = 0;
	slot->sk_data_ready = 0;
	slot->enqueue = 0;
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

/* The link layer, receiving. */
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

/* Of one that is not, nothing is known but its receive calls. */
static __always_inline bool follows_reader(void)
{
	return has_account() && shared.follows_reader;
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

	if (!follows_reader() || !reader->tid) {
		*now = bpf_ktime_get_ns();
		idle->waited = idle->slept = 0;
		return 0;
	}
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		__u64 version = observe(reader->version);
		struct account account;
		bool known;

		*now = bpf_ktime_get_ns();
		read_account((struct task_struct *)reader->task, &account);
		known = idle_until(reader, &account, *now, idle);
		if (known && !(version & 1) && version == observe(reader->version))
			return 0;
	}
	return -1;
}

static __always_inline bool is_readers(const struct sock *sk)
{
	return sk->__sk_common.skc_cookie.counter == shared.reader_cookie;
}

/*
 * UDP hands a message to the socket: its buffer is charged and its queue locked from here on. No tracepoint is there.
 * It has the packet too, so that the event after it joins the right one where packets come in lists.
 */
SEC("fentry/__udp_enqueue_schedule_skb")
int BPF_PROG(on___udp_enqueue_schedule_skb, struct sock *sk, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), owner;
	struct message message;
	struct cpu_state *cpu;
	struct rx_slot *slot;

	if (!is_readers(sk))
		return 0;
	owner = outgoing(skb, &message);
	slot = rx_slot(owner);
	cpu = this_cpu();
	if (!owner || !cpu || slot->owner != owner)
		return 0;
	slot->enqueue = now;
	cpu->rx_owner = owner;
	return 0;
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
 * The reader is bound to one processor, and its run queue is locked around this event, so there is one writer. The clock
 * is read while the version is odd: whoever reads until then tries again, and never sees an old state at a time when
 * the new one had begun.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct reader *reader = &shared.reader;
	__u32 tid = reader->tid;
	struct account account;
	__u64 arrivals;

	/* Before the reader is known: 0 is the idle task of every processor. */
	if (!tid)
		return 0;
	if (next->pid == tid) {
		/*
		 * Here, so that clang does not merge it with the load of reader->departures on the other branch: the verifier
		 * refuses one instruction that reads from either (arm64, Linux 6.12).
		 */
		arrivals = next->sched_info.pcount;
		publish(reader->version, reader->version + 1);
		reader->seen = bpf_ktime_get_ns();
		/* The kernel counts it after this event. */
		reader->seen_arrivals = arrivals + 1;
		publish(reader->version, reader->version + 1);
	} else if (prev->pid == tid) {
		read_account(prev, &account);
		publish(reader->version, reader->version + 1);
		depart(reader, &account, bpf_ktime_get_ns(), !preempt && !is_runnable(prev));
		publish(reader->version, reader->version + 1);
	}
	return 0;
}

/* From here on the reader's switches are followed: it is running now. User space in a container does not know its
 * number in the first PID namespace. */
static __always_inline void learn_reader(void)
{
	struct reader *reader = &shared.reader;
	struct account account;

	reader->task = bpf_get_current_task();
	if (has_account()) {
		read_account((struct task_struct *)reader->task, &account);
		meet(reader, &account, bpf_ktime_get_ns());
	}
	publish(reader->tid, (__u32)bpf_get_current_pid_tgid());
}

/*
 * A receive call of the reader is about to return. The event has no packet: the reader
 * counts its receives as this does, so the n-th here is the n-th there.
 */
static __always_inline int on_received(int ret, int flags)
{
	struct reader *reader = &shared.reader;
	struct reception *reception;
	struct task_struct *task;
	struct idle idle;
	__u64 number, now, arrivals;

	if (!reader->tid)
		learn_reader();
	task = (struct task_struct *)reader->task;
	if (ret < 0 || (flags & MSG_PEEK))
		return 0;
	number = reader->receptions_n++;
	if (read_idle(&idle, &now)) {
		count_lost(JOIN_SOCK_RECV_LENGTH);
		return 0;
	}
	/* The reader sees this in user space: the same thread needs no order but the compiler's. */
	reception = &shared.receptions[number & (SLOTS - 1)];
	reception->sock_recv_length = now;
	reception->departures = reader->departures;
	reception->at_departure = reader->idle;
	reception->idle = idle;
	reception->entry = shared.entry;
	reception->dequeue = shared.dequeue;
	shared.entry.ns = 0;
	shared.dequeue.ns = 0;
	/* It has waited and slept since its last departure until it came back. */
	reception->sched_switch = reader->departed + (idle.waited - reader->idle.waited) +
				  (idle.slept - reader->idle.slept);
	/* A reader that never left its processor came to it before it was met. */
	arrivals = reader->departures ? reader->seen_arrivals : reader->arrivals + 1;
	reception->unseen = follows_reader() && arrivals != BPF_CORE_READ(task, sched_info.pcount);
	reception->number = number + 1;
	return 0;
}

/* In the reader's thread, which may leave its processor between the two: then it is not known. */
static __always_inline int note(const struct sock *sk, struct moment *moment)
{
	__u64 departures = observe(shared.reader.departures), now = bpf_ktime_get_ns();

	if (!is_readers(sk))
		return 0;
	moment->ns = observe(shared.reader.departures) == departures ? now : 0;
	moment->departures = departures;
	return 0;
}

/* UDP's half of a receive call begins. */
SEC("fentry/udp_recvmsg")
int BPF_PROG(on_udp_recvmsg, struct sock *sk)
{
	return note(sk, &shared.entry);
}

SEC("fentry/udpv6_recvmsg")
int BPF_PROG(on_udpv6_recvmsg, struct sock *sk)
{
	return note(sk, &shared.entry);
}

/* A message is off the socket's queue, and copied next. */
SEC("fexit/__skb_recv_udp")
int BPF_PROG(on___skb_recv_udp, struct sock *sk)
{
	return note(sk, &shared.dequeue);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_sock_recv_length, struct sock *sk, int ret, int flags)
{
	return is_readers(sk) ? on_received(ret, flags) : 0;
}

/* Since Linux 6.3 the tracepoint is the next statement after this function and that of IPv6. */
SEC("fexit/inet_recvmsg")
int BPF_PROG(on_inet_recvmsg, struct socket *socket, struct msghdr *message, size_t size, int flags, int ret)
{
	return is_readers(socket->sk) ? on_received(ret, flags) : 0;
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(on_inet6_recvmsg, struct socket *socket, struct msghdr *message, size_t size, int flags, int ret)
{
	return is_readers(socket->sk) ? on_received(ret, flags) : 0;
}

/*
 * Where functions have no hooks: the last thing that UDP does in a receive call is to free
 * the packet. A copy that a packet socket reads belongs to that socket; ours to none by now.
 */
SEC("tp_btf/consume_skb")
int BPF_PROG(on_consume_skb, struct sk_buff *skb)
{
	struct message message;
	const struct rx_slot *slot;
	__u64 owner;

	if (skb->sk)
		return 0;
	owner = outgoing(skb, &message);
	slot = rx_slot(owner);
	if (!owner || slot->owner != owner || !slot->sk_data_ready)
		return 0;
	return on_received(0, 0);
}
