/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a followed thread waited, and who had its processor meanwhile; what it slept or was stopped. */

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x0002

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
