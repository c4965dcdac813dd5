/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had the processor while a followed thread waited for it.
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

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
#define TASK_UNINTERRUPTIBLE 0x0002
/* include/linux/interrupt.h */
#define NET_TX_SOFTIRQ 2
#define NET_RX_SOFTIRQ 3
#define TASKLET_SOFTIRQ 6

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

#define MANY (PLACES + 1)

/* A processor at the last switch that was seen on it, and since then. */
struct seen {
	__u64 stolen;
	__u64 at; /* CLOCK_MONOTONIC; 0: none yet */
	__u64 now; /* of the run queue's clock */
	struct task_struct *next;
	__u32 next_process;
	__u32 watched; /* 1 + the place of the followed thread that was here; MANY; 0: none */
	__u64 packets;
	/* CLOCK_MONOTONIC; 0: none runs. */
	__u64 interrupt_since;
	__u64 softirq_since;
	__u64 within_softirq; /* of interrupts, ns */
	__u64 paused; /* since the last switch */
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
	const struct rq *rq;
	__u64 arrival; /* of prev */
	__u64 now;
	__u64 paused; /* since the last switch that was seen */
	__u64 stolen; /* beyond that */
	__u64 since; /* then */
	__u32 cpu;
	__u32 state; /* of prev: 0, or that in which it sleeps */
	__u64 clock; /* now, CLOCK_MONOTONIC */
	__u64 foreign_since; /* 0: nothing foreign had the processor */
	struct stay missed; /* its departure was not seen; no task: none */
	__u64 missed_ns; /* what it had, at most */
};

static __always_inline struct seen *this_cpu(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&seen, &zero);
}

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
	struct seen *before = this_cpu();
	__u64 stolen = 0;

	if (!before)
		return;
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		stolen = rq->prev_steal_time_rq;
	if (before->at) {
		change->stolen = stolen - before->stolen;
		change->since = before->now;
		change->paused = before->paused;
		change->stolen -= change->stolen < change->paused ? change->stolen : change->paused;
	}
	before->paused = 0;
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
	else if (change->stolen > LEAST_STINT_NS)
		change->foreign_since = before->at;
	if (change->missed.process && change->missed.process != shared.process &&
	    change->missed_ns > LEAST_STINT_NS)
		change->foreign_since = before->at;
	before->stolen = stolen;
	before->at = change->clock;
	before->now = change->now;
	before->next = change->next;
	before->next_process = change->next->tgid;
	/* Where softirqs can be preempted, what they took is not known. */
	before->softirq_since = 0;
	/* Its end was not seen. */
	before->interrupt_since = 0;
}

static __always_inline void note_stint(struct thread *thread, __u64 start, __u64 end)
{
	struct stint *stint = &thread->stints[thread->stints_n & (STINTS - 1)];

	stint->start = start;
	stint->end = end;
	publish(thread->stints_n, thread->stints_n + 1);
}

/* The last part of the cgroup's path: in the unified hierarchy, or, where that has one group, in that of the CPU controller. */
static __always_inline void name_cgroup(struct task_struct *task, char name[LABEL])
{
	const char *at = NULL;

	if (bpf_core_field_exists(task->cgroups))
		at = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, name);
	if (at)
		bpf_probe_read_kernel_str(name, LABEL, at);
	if (name[0] || !bpf_core_field_exists(task->sched_task_group))
		return;
	at = BPF_CORE_READ(task, sched_task_group, css.cgroup, kn, name);
	if (at)
		bpf_probe_read_kernel_str(name, LABEL, at);
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
		name_cgroup(task, first.cgroup);
		first.kernel = !!(BPF_CORE_READ(task, flags) & PF_KTHREAD);
		first.number = process_in(&shared.namespace, task, to->process);
		bpf_map_update_elem(&holders, &key, &first, 0);
		holder = bpf_map_lookup_elem(&holders, &key);
	}
	if (holder)
		holder->ns += ns;
}

/* The part of what was stolen that lies within the last `had` ns: it has no times of its own. The kernel accounts it late, so
 * it can be more than the whole span. */
static __always_inline __u64 stolen_within(__u64 had, const struct change *change)
{
	__u64 span = change->now - change->since;
	__u64 part = change->paused + change->stolen;

	if (had < span)
		part = part * (had >> 10) / ((span >> 10) + 1);
	return part < had ? part : had;
}

/* Its quota was used up: it would not have run whatever else had the processor. */
static __always_inline void add_throttled(struct thread *thread, const struct change *change, __u64 from, __u64 until)
{
	thread->throttled += until - from;
	thread->named += until - from;
	if (until - from > LEAST_STINT_NS)
		note_stint(thread, change->clock - (change->now - from), change->clock);
}

static __always_inline void note_throttled(struct thread *thread, struct task_struct *task, const struct change *change)
{
	thread->throttled_since = is_throttled(task) ? change->now : 0;
}

/* prev had the processor that the thread waits for. Its quota has all since the last switch, also what no program saw. */
static __always_inline void blame(struct thread *thread, __u32 place, __u64 queued, const struct change *change)
{
	__u64 since = thread->throttled_since ? thread->throttled_since : change->arrival;
	__u64 from = queued > since ? queued : since;
	__u64 had = change->now - from;
	__u64 stolen, interrupted;

	if ((__s64)had <= 0)
		return;
	if (thread->throttled_since) {
		add_throttled(thread, change, from, change->now);
		return;
	}
	stolen = stolen_within(had, change);
	had -= stolen;
	/* One softirq for packets stands for several: what is too much belongs to other times. */
	interrupted = thread->interrupted < had ? thread->interrupted : had;
	had -= interrupted;
	thread->interrupted -= interrupted;
	thread->stolen.waiting += stolen;
	thread->named += stolen + interrupted;
	if (had)
		charge(thread, place, &change->prev, had);
}

/* The switch to the thread was not seen: what of its wait has no name belongs to its quota, or to whoever was switched to before. */
static __always_inline void blame_missed(struct thread *thread, __u32 place, const struct change *change)
{
	__u64 had = thread->waited - thread->named;

	if (change->missed_ns < had)
		had = change->missed_ns;
	if ((__s64)had <= 0)
		return;
	if (thread->throttled_since)
		add_throttled(thread, change, change->arrival - had, change->arrival);
	else
		charge(thread, place, &change->missed, had);
}

/* What it did since its last departure follows from its account: no switch to it need have been seen. */
static __always_inline void add_absence(struct thread *thread, const struct change *change, __u64 run_delay)
{
	__u64 away = change->arrival - thread->departed - (run_delay - thread->waited_then);

	if (thread->departed && (__s64)away > 0) {
		if (thread->state & STOPPED)
			thread->stopped += away;
		else if (thread->state & TASK_UNINTERRUPTIBLE)
			thread->blocked += away;
	}
	thread->departed = change->now;
	thread->waited_then = run_delay;
	thread->state = change->state;
}

static __always_inline void at_departure(struct thread *thread, __u32 place, const struct change *change)
{
	struct task_struct *task = change->prev.task;
	__u64 run_delay = BPF_CORE_READ(task, sched_info.run_delay);

	thread->stolen.running += change->stolen;
	thread->waited = run_delay - thread->waited_before;
	add_absence(thread, change, run_delay);
	if (change->missed.task)
		blame_missed(thread, place, change);
	note_throttled(thread, task, change);
	/* What has no name by now has none later. */
	thread->named = thread->waited;
}

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
