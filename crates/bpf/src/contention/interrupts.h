/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What interrupts and softirqs take from the followed threads. An interrupt may interrupt a softirq, and is not
 * interrupted itself; softirqs run one after the other.
 */

/* include/linux/interrupt.h */
#define NET_TX_SOFTIRQ 2
#define NET_RX_SOFTIRQ 3
#define TASKLET_SOFTIRQ 6

struct interruption {
	__u64 ns;
	__u64 now;
	__u64 current;
	__u32 cpu;
	__u32 cause; /* CAUSES: that of a device, below; PAUSE */
	struct irq_key irq;
	const char *name;
	__u64 foreign; /* 1: not the load's own packets */
};

static __always_inline struct lost *of_irq(__u32 place, struct interruption *it)
{
	struct irq first = {};
	struct irq *irq;

	it->irq.place = place;
	irq = bpf_map_lookup_elem(&irqs, &it->irq);
	if (!irq) {
		bpf_probe_read_kernel_str(first.name, LABEL, it->name);
		bpf_map_update_elem(&irqs, &it->irq, &first, 0);
		irq = bpf_map_lookup_elem(&irqs, &it->irq);
	}
	return irq ? &irq->lost : NULL;
}

static long at_interrupted(__u32 place, struct interruption *it)
{
	struct task_struct *task;
	struct thread *thread;
	struct lost *lost;

	if (place >= PLACES)
		return 1;
	thread = &shared.threads[place];
	task = (struct task_struct *)thread->task;
	if (!task || thread->cpu != it->cpu + 1)
		return 0;
	if (it->foreign && it->ns > LEAST_STINT_NS)
		note_stint(thread, it->now - it->ns, it->now);
	if (it->cause == PAUSE) {
		/* Of a wait it is a part that the next switch knows. */
		if (thread->task == it->current)
			thread->stolen.running += it->ns;
		return 0;
	}
	lost = it->cause < CAUSES ? &thread->interrupts[it->cause] : of_irq(place, it);
	if (!lost)
		return 0;
	if (thread->task == it->current) {
		lost->running += it->ns;
	} else if (!thread->throttled_since && BPF_CORE_READ(task, sched_info.last_queued)) {
		lost->waiting += it->ns;
		thread->interrupted += it->ns;
	}
	return 0;
}

/* Most processors have one followed thread. */
static __always_inline void charge_interruption(const struct seen *cpu, struct interruption *it)
{
	if (cpu->watched == MANY)
		bpf_loop(shared.places, at_interrupted, it, 0);
	else
		at_interrupted(cpu->watched - 1, it);
}

/* This processor, if followed threads were here. */
static __always_inline struct seen *watched_cpu(void)
{
	struct seen *cpu = this_cpu();

	return cpu && cpu->watched ? cpu : NULL;
}

/*
 * One in a number of softirqs for packets stands for all of them: there is one for each message of a load, and timing it
 * takes as long as a tenth of its work. A prime number, so that no pattern of packets fits to it.
 */
#define PACKETS 7

static __always_inline void interrupt_begins(void)
{
	struct seen *cpu = watched_cpu();

	if (cpu)
		cpu->interrupt_since = bpf_ktime_get_ns();
}

static __always_inline void add_interruption(struct interruption *it, __u64 since)
{
	it->now = bpf_ktime_get_ns();
	it->ns = it->now - since;
	it->current = bpf_get_current_task();
	it->cpu = bpf_get_smp_processor_id();
}

static __always_inline int interrupt_ends(struct interruption *it)
{
	struct seen *cpu = watched_cpu();

	if (!cpu || !cpu->interrupt_since)
		return 0;
	it->foreign = 1;
	add_interruption(it, cpu->interrupt_since);
	cpu->interrupt_since = 0;
	cpu->within_softirq += it->ns;
	charge_interruption(cpu, it);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_handler_entry, int irq, struct irqaction *action)
{
	interrupt_begins();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_handler_exit, int irq, struct irqaction *action)
{
	struct interruption it = { .cause = CAUSES, .irq.number = irq, .name = action->name };

	return interrupt_ends(&it);
}

/* Of x86: its local timer is no device. */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_local_timer_entry, int vector)
{
	interrupt_begins();
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_local_timer_exit, int vector)
{
	struct interruption it = { .cause = LOCAL_TIMER };

	return interrupt_ends(&it);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	struct seen *cpu = watched_cpu();

	if (!cpu)
		return 0;
	/* An interrupt that is still open has ended unseen: how long it took is not known. */
	cpu->interrupt_since = 0;
	if (vector == NET_RX_SOFTIRQ && ++cpu->packets % PACKETS) {
		cpu->softirq_since = 0;
		return 0;
	}
	cpu->within_softirq = 0;
	cpu->softirq_since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	struct seen *cpu = watched_cpu();
	struct interruption it = { .cause = vector };

	if (!cpu || !cpu->softirq_since || vector >= NR_SOFTIRQS)
		return 0;
	add_interruption(&it, cpu->softirq_since);
	it.ns -= cpu->within_softirq < it.ns ? cpu->within_softirq : it.ns;
	if (vector == NET_RX_SOFTIRQ)
		it.ns *= PACKETS;
	/* The load's own packets go through these, and drivers use tasklets. */
	it.foreign = vector != NET_TX_SOFTIRQ && vector != NET_RX_SOFTIRQ && vector != TASKLET_SOFTIRQ;
	cpu->softirq_since = 0;
	charge_interruption(cpu, &it);
	return 0;
}

/*
 * While a CPU has work, its timer ticks every few milliseconds. A tick that comes late shows that nothing of this kernel ran,
 * or that interrupts were off. What is shorter than a tick may not be seen.
 */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_expire_entry, struct hrtimer *timer)
{
	struct interruption it = { .cause = PAUSE, .foreign = 1 };
	struct seen *cpu = watched_cpu();

	/* An idle CPU sleeps until its timer, and takes its time to wake up. */
	if (!cpu || !shared.tick || (__u64)timer->function != shared.tick || !(__u32)bpf_get_current_pid_tgid())
		return 0;
	add_interruption(&it, timer->node.expires);
	if ((__s64)it.ns < LEAST_PAUSE_NS)
		return 0;
	cpu->paused += it.ns;
	cpu->within_softirq += it.ns;
	charge_interruption(cpu, &it);
	return 0;
}
