/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had the processor while a followed thread waited for it.
 *
 * All times are of the run queue's clock, as the kernel's own account of each task is. Some switches are seen by no
 * program, as those away from certain tasks of some machines: no time is wrong then, and where the switch to such a
 * task was seen, what it had follows from the arrival of the next one.
 */
#include "../include/kernel.h"
#include "../include/order.h"
#include "../include/who.h"
#include "abi.h"

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_HOLDERS);
	__type(key, struct holder_key);
	__type(value, struct holder);
} holders SEC(".maps");

/* What a processor had lost at the last switch that was seen on it. */
struct seen {
	struct lost lost;
	__u64 at; /* CLOCK_MONOTONIC; 0: none yet */
	__u64 now; /* of the run queue's clock */
	struct task_struct *next; /* never followed */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps");

/* A switch on this processor. */
struct change {
	struct task_struct *prev;
	struct task_struct *next;
	__u64 arrival; /* of prev; 0 of an idle processor, which has none */
	__u64 now;
	struct lost lost; /* while prev ran */
	__u32 cpu;
	__u64 clock; /* now, CLOCK_MONOTONIC */
	__u64 foreign_since; /* 0: nothing foreign had the processor */
	struct task_struct *missed; /* whose departure was not seen; NULL: none */
	__u64 missed_ns; /* what it had, at most */
};

/* What the processor lost since its last switch that was seen, and whether others had it. */
static __always_inline void look(struct change *change, const struct rq *rq)
{
	const __u32 zero = 0;
	struct seen *before = bpf_map_lookup_elem(&seen, &zero);
	const struct task_struct *prev = change->prev;
	__u64 ran = change->now - change->arrival;
	struct lost now = {};

	if (!before)
		return;
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		now.stolen = rq->prev_steal_time_rq;
	if (bpf_core_field_exists(rq->prev_irq_time))
		now.interrupted = rq->prev_irq_time;
	if (before->next != prev && change->arrival) {
		change->missed = before->next;
		change->missed_ns = change->arrival - before->now;
	}
	if (before->at) {
		change->lost.stolen = now.stolen - before->lost.stolen;
		change->lost.interrupted = now.interrupted - before->lost.interrupted;
	}
	if (change->arrival && prev->tgid != shared.process && ran > LEAST_STINT_NS)
		change->foreign_since = change->clock - ran;
	else if (change->lost.stolen > LEAST_STINT_NS)
		change->foreign_since = before->at;
	before->lost = now;
	before->at = change->clock;
	before->now = change->now;
	before->next = change->next;
}

static __always_inline void note_stint(struct thread *thread, const struct change *change)
{
	struct stint *stint = &thread->stints[thread->stints_n & (STINTS - 1)];

	stint->start = change->foreign_since;
	stint->end = change->clock;
	publish(thread->stints_n, thread->stints_n + 1);
}

static __always_inline void charge(__u32 place, struct task_struct *to, __u64 ns)
{
	struct holder_key key = { .place = place, .process = BPF_CORE_READ(to, tgid) };
	struct holder *holder = bpf_map_lookup_elem(&holders, &key);
	struct holder first = {};

	if (!holder) {
		/* A thread has a name of its own; people know that of its process. */
		BPF_CORE_READ_STR_INTO(&first.name, to, group_leader, comm);
		bpf_map_update_elem(&holders, &key, &first, 0);
		holder = bpf_map_lookup_elem(&holders, &key);
	}
	if (holder)
		holder->ns += ns;
}

static __always_inline __u64 take(__u64 *from, __u64 most)
{
	__u64 taken = most < *from ? most : *from;

	*from -= taken;
	return taken;
}

/* prev had the processor that the thread waits for. */
static __always_inline void blame(struct thread *thread, __u32 place, __u64 queued, const struct change *change)
{
	__u64 had = change->now - (queued > change->arrival ? queued : change->arrival);

	if ((__s64)had <= 0)
		return;
	thread->named += had;
	thread->waiting.stolen += take(&had, change->lost.stolen);
	thread->waiting.interrupted += take(&had, change->lost.interrupted);
	charge(place, change->prev, had);
}

/* The switch to the thread was not seen: what of its wait has no name belongs to whoever was switched to before. */
static __always_inline void blame_missed(struct thread *thread, __u32 place, const struct change *change)
{
	__u64 unnamed = thread->waited - thread->named;
	__u64 had = take(&unnamed, change->missed_ns);

	if ((__s64)change->missed_ns <= 0 || !had)
		return;
	thread->named += had;
	charge(place, change->missed, had);
}

static __always_inline __u32 cpu_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return BPF_CORE_READ(task, thread_info.cpu);
	return BPF_CORE_READ((struct task_struct___before_5_16 *)task, cpu);
}

static __always_inline void at_switch(struct thread *thread, __u32 place, const struct change *change)
{
	struct task_struct *task = (struct task_struct *)thread->task;
	__u64 queued;

	if (change->foreign_since && thread->cpu == change->cpu)
		note_stint(thread, change);
	if (task == change->prev) {
		thread->running.stolen += change->lost.stolen;
		thread->running.interrupted += change->lost.interrupted;
		thread->waited = BPF_CORE_READ(task, sched_info.run_delay) - thread->waited_before;
		if (change->missed)
			blame_missed(thread, place, change);
		return;
	}
	queued = BPF_CORE_READ(task, sched_info.last_queued);
	if (!queued || cpu_of(task) != change->cpu)
		return;
	blame(thread, place, queued, change);
	/* The kernel adds this wait to its account after this event. */
	if (task == change->next)
		thread->waited = BPF_CORE_READ(task, sched_info.run_delay) + (change->now - queued) -
				 thread->waited_before;
}

static long at_place(__u32 place, struct change *change)
{
	if (place >= PLACES)
		return 1;
	if (shared.threads[place].task)
		at_switch(&shared.threads[place], place, change);
	return 0;
}

/* A thread that user space named by its number leaves its processor: from now on it is followed. */
static __always_inline void meet(struct task_struct *prev)
{
	struct bpf_pidns_info current = {};

	if (!who_runs(&shared.namespace, &current))
		return;
	for (__u32 i = 0; i < PLACES && i < shared.places; i++) {
		struct thread *thread = &shared.threads[i];

		if (thread->number != current.pid || thread->task)
			continue;
		shared.process = prev->tgid;
		thread->cpu = bpf_get_smp_processor_id();
		thread->waited_before = prev->sched_info.run_delay;
		publish(thread->task, (__u64)prev);
		__sync_fetch_and_add(&shared.pending, -1);
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_any_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	/* Kernels without CONFIG_KALLSYMS_ALL do not show the run queues themselves. */
	const struct rq *rq = prev->se.cfs_rq->rq;
	struct change change = {
		.prev = prev,
		.next = next,
		.arrival = prev->pid ? prev->sched_info.last_arrival : 0,
		.now = rq->clock,
		.cpu = bpf_get_smp_processor_id(),
		.clock = bpf_ktime_get_ns(),
	};

	look(&change, rq);
	bpf_loop(shared.places, at_place, &change, 0);
	if (shared.pending && prev->pid)
		meet(prev);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
