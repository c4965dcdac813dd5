/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had the processor while a followed thread waited for it: switch.h has a processor at a switch, waits.h what a thread
 * waited, and for whom.
 *
 * All times are of the run queue's clock, as the kernel's own account of each task is. Some switches are seen by no
 * program, as those away from certain tasks of some machines: no time is wrong then, and where the switch to such a
 * task was seen, what it had follows from the arrival of the next one. Interrupts and softirqs are no switches: they have
 * programs of their own (interrupts.h).
 */
#include "../include/kernel.h"
#include "../include/order.h"
#include "../include/quota.h"
#include "../include/who.h"
#include "abi.h"

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_HOLDERS);
	__type(key, struct holder_key);
	__type(value, struct holder);
} holders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_IRQS);
	__type(key, struct irq_key);
	__type(value, struct irq);
} irqs SEC(".maps");

#include "switch.h"
#include "waits.h"

/* The thread came to this processor. */
static __always_inline void settle(struct thread *thread, __u32 place, const struct change *change)
{
	struct seen *cpu = this_cpu();

	thread->cpu = change->cpu + 1;
	if (cpu && cpu->watched != place + 1)
		cpu->watched = cpu->watched ? MANY : place + 1;
}

/* Whether this processor is the one that the thread has, or waits for. Most threads are bound, and need no look at their task. */
static __always_inline bool is_here(const struct thread *thread, const struct change *change)
{
	struct task_struct *task = (struct task_struct *)thread->task;

	if (thread->moves)
		return BPF_CORE_READ(task, se.cfs_rq, rq) == change->rq;
	return thread->cpu == change->cpu + 1;
}

static __always_inline void at_switch(struct thread *thread, __u32 place, const struct change *change)
{
	struct task_struct *task = (struct task_struct *)thread->task;
	__u64 queued;

	if (!is_here(thread, change))
		return;
	if (change->foreign_since)
		note_stint(thread, change->foreign_since, change->clock);
	if (task == change->prev.task) {
		at_departure(thread, place, change);
		return;
	}
	queued = BPF_CORE_READ(task, sched_info.last_queued);
	if (!queued)
		return;
	blame(thread, place, queued, change);
	if (task != change->next) {
		note_throttled(thread, task, change);
		return;
	}
	if (thread->moves)
		settle(thread, place, change);
	if (thread->state & STOPPED)
		note_stint(thread, change->clock - (change->now - thread->departed), change->clock);
	/* The kernel adds this wait to its account after this event. */
	thread->waited = BPF_CORE_READ(task, sched_info.run_delay) + (change->now - queued) -
			 thread->waited_before;
}

/* A thread that user space named by its number leaves its processor: from now on it is followed. */
static __always_inline void meet(struct thread *thread, __u32 place, const struct change *change)
{
	struct task_struct *task = change->prev.task;
	struct bpf_pidns_info current = {};

	if (!who_runs(&shared.namespace, &current) || thread->number != current.pid)
		return;
	shared.process = change->prev.process;
	thread->moves = BPF_CORE_READ(task, nr_cpus_allowed) != 1;
	settle(thread, place, change);
	thread->waited_before = BPF_CORE_READ(task, sched_info.run_delay);
	publish(thread->task, (__u64)task);
}

static long at_place(__u32 place, struct change *change)
{
	struct thread *thread;

	if (place >= PLACES)
		return 1;
	thread = &shared.threads[place];
	if (thread->task)
		at_switch(thread, place, change);
	else if (thread->number)
		meet(thread, place, change);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_any_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	/* Kernels without CONFIG_KALLSYMS_ALL do not show the run queues themselves. */
	const struct rq *rq = prev->se.cfs_rq->rq;
	struct change change = {
		.prev = { .task = prev, .process = prev->tgid },
		.next = next,
		.rq = rq,
		.arrival = prev->sched_info.last_arrival,
		.now = rq->clock,
		.cpu = bpf_get_smp_processor_id(),
		.state = preempt ? 0 : prev->__state,
		.clock = bpf_ktime_get_ns(),
	};

	look(&change, rq, prev);
	bpf_loop(shared.places, at_place, &change, 0);
	return 0;
}

#include "interrupts.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
