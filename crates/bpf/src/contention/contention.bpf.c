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

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_HOLDERS);
	__type(key, struct holder_key);
	__type(value, struct holder);
} holders SEC(".maps");

/* What a processor had lost at the last switch that was seen on it, and to whom that was. */
struct seen {
	struct lost lost;
	__u64 at; /* CLOCK_MONOTONIC; 0: none yet */
	__u64 now; /* of the run queue's clock */
	struct task_struct *next;
	__u32 next_process;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps");

/* Somebody who had the processor. */
struct stay {
	struct task_struct *task;
	__u32 process;
};

/* A switch on this processor. */
struct change {
	struct stay prev;
	struct task_struct *next;
	__u64 arrival; /* of prev */
	__u64 now;
	struct lost lost; /* since the last switch that was seen */
	__u64 since; /* then */
	__u32 cpu;
	__u64 clock; /* now, CLOCK_MONOTONIC */
	__u64 foreign_since; /* 0: nothing foreign had the processor */
	struct stay missed; /* whose departure was not seen; no task: none */
	__u64 missed_ns; /* what it had, at most */
};

/* The thread that does the work of softirqs, of the followed threads' own packets too. */
static __always_inline bool is_ksoftirqd(const struct task_struct *task)
{
	char name[8] = {};

	if (!(task->flags & PF_KTHREAD))
		return false;
	bpf_core_read(name, sizeof(name), &task->comm);
	return !__builtin_memcmp(name, "ksoftirq", sizeof(name));
}

static __always_inline bool is_foreign(const struct task_struct *task)
{
	return task->pid && task->tgid != shared.process && !is_ksoftirqd(task);
}

/* Compares with the last switch that was seen on this processor. */
static __always_inline void look(struct change *change, const struct rq *rq, const struct task_struct *prev)
{
	const __u32 zero = 0;
	struct seen *before = bpf_map_lookup_elem(&seen, &zero);
	struct lost now = {};

	if (!before)
		return;
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		now.stolen = rq->prev_steal_time_rq;
	if (bpf_core_field_exists(rq->prev_irq_time))
		now.interrupted = rq->prev_irq_time;
	if (before->at) {
		change->lost.stolen = now.stolen - before->lost.stolen;
		change->lost.interrupted = now.interrupted - before->lost.interrupted;
		change->since = before->now;
	}
	/* An idle processor has no arrival in the account. */
	if (!prev->pid)
		change->arrival = before->next == prev ? before->now : change->now;
	else if (before->at && before->next != prev) {
		change->missed.task = before->next;
		change->missed.process = before->next_process;
		change->missed_ns = change->arrival - before->now;
	}
	if (is_foreign(prev) && change->now - change->arrival > LEAST_STINT_NS)
		change->foreign_since = change->clock - (change->now - change->arrival);
	else if (change->lost.stolen > LEAST_STINT_NS)
		change->foreign_since = before->at;
	if (change->missed.process && change->missed.process != shared.process &&
	    change->missed_ns > LEAST_STINT_NS)
		change->foreign_since = before->at;
	before->lost = now;
	before->at = change->clock;
	before->now = change->now;
	before->next = change->next;
	before->next_process = change->next->tgid;
}

static __always_inline void note_stint(struct thread *thread, const struct change *change)
{
	struct stint *stint = &thread->stints[thread->stints_n & (STINTS - 1)];

	stint->start = change->foreign_since;
	stint->end = change->clock;
	publish(thread->stints_n, thread->stints_n + 1);
}

static __always_inline void charge(struct thread *thread, __u32 place, const struct stay *to, __u64 ns)
{
	struct holder_key key = { .place = place, .process = to->process };
	struct holder *holder = bpf_map_lookup_elem(&holders, &key);
	struct task_struct *task = to->task;
	struct holder first = {};

	thread->named += ns;
	if (!holder) {
		/* A thread has a name of its own; people know that of its process. */
		BPF_CORE_READ_STR_INTO(&first.name, task, group_leader, comm);
		first.kernel = !!(BPF_CORE_READ(task, flags) & PF_KTHREAD);
		bpf_map_update_elem(&holders, &key, &first, 0);
		holder = bpf_map_lookup_elem(&holders, &key);
	}
	if (holder)
		holder->ns += ns;
}

/* The part of what was lost that lies within the last `had` ns: losses have no times of their own. */
static __always_inline __u64 within(__u64 lost, __u64 had, const struct change *change)
{
	__u64 span = change->now - change->since;

	if (had >= span)
		return lost < had ? lost : had;
	return lost * (had >> 10) / ((span >> 10) + 1);
}

/* prev had the processor that the thread waits for. */
static __always_inline void blame(struct thread *thread, __u32 place, __u64 queued, const struct change *change)
{
	__u64 had = change->now - (queued > change->arrival ? queued : change->arrival);
	__u64 stolen, interrupted;

	if ((__s64)had <= 0)
		return;
	stolen = within(change->lost.stolen, had, change);
	interrupted = within(change->lost.interrupted, had - stolen, change);
	thread->waiting.stolen += stolen;
	thread->waiting.interrupted += interrupted;
	thread->named += stolen + interrupted;
	charge(thread, place, &change->prev, had - stolen - interrupted);
}

/* The switch to the thread was not seen: what of its wait has no name belongs to whoever was switched to before. */
static __always_inline void blame_missed(struct thread *thread, __u32 place, const struct change *change)
{
	__u64 had = thread->waited - thread->named;

	if (change->missed_ns < had)
		had = change->missed_ns;
	if ((__s64)had > 0)
		charge(thread, place, &change->missed, had);
}

static __always_inline void at_switch(struct thread *thread, __u32 place, const struct change *change)
{
	struct task_struct *task = (struct task_struct *)thread->task;
	__u64 queued;

	/* It is bound to its processor. */
	if (thread->cpu != change->cpu)
		return;
	if (change->foreign_since)
		note_stint(thread, change);
	if (task == change->prev.task) {
		thread->running.stolen += change->lost.stolen;
		thread->running.interrupted += change->lost.interrupted;
		thread->waited = BPF_CORE_READ(task, sched_info.run_delay) - thread->waited_before;
		if (change->missed.task)
			blame_missed(thread, place, change);
		/* What has no name by now has none later. */
		thread->named = thread->waited;
		return;
	}
	queued = BPF_CORE_READ(task, sched_info.last_queued);
	if (!queued)
		return;
	blame(thread, place, queued, change);
	/* The kernel adds this wait to its account after this event. */
	if (task == change->next)
		thread->waited = BPF_CORE_READ(task, sched_info.run_delay) + (change->now - queued) -
				 thread->waited_before;
}

/* A thread that user space named by its number leaves its processor: from now on it is followed. */
static __always_inline void meet(struct thread *thread, const struct change *change)
{
	struct task_struct *task = change->prev.task;
	struct bpf_pidns_info current = {};

	if (!who_runs(&shared.namespace, &current) || thread->number != current.pid)
		return;
	shared.process = change->prev.process;
	thread->cpu = change->cpu;
	thread->known = 1;
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
		meet(thread, change);
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
		.arrival = prev->sched_info.last_arrival,
		.now = rq->clock,
		.cpu = bpf_get_smp_processor_id(),
		.clock = bpf_ktime_get_ns(),
	};

	look(&change, rq, prev);
	bpf_loop(shared.places, at_place, &change, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
