/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had the processor while a followed thread waited for it. Whoever includes this has process_of().
 *
 * Each processor keeps the last who had it. When a thread leaves its processor, the kernel's own account has its last
 * wait, which ended with its arrival there: those who had the processor within that time kept it waiting. All times
 * are of the run queue's clock. While some tasks of some machines are current no program runs, so that none sees them
 * leave; the switch to them is seen. What the processor's switches do not explain stays without a name: several such
 * tasks one after the other, and a thread may have waited for another processor first.
 */
#ifndef NETFATHOM_HOLDERS_H
#define NETFATHOM_HOLDERS_H

#include "quota.h"
#include "stay.h"

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

struct stays {
	/* Who came at the last switch that was seen, when, and how long it had run before; no number: it was seen to leave. */
	__u64 next;
	__u64 next_pid;
	__u64 since;
	__u64 ran;
	__u64 n;
	struct stay last[STAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stays);
} stays SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOLDERS);
	__type(key, __u32);
	__type(value, struct holder);
} holders SEC(".maps");

/* To be named, and counted. */
static __always_inline struct stay *new_stay(struct stays *of_cpu, __u64 from, __u64 until)
{
	struct stay *stay = &of_cpu->last[of_cpu->n & (STAYS - 1)];

	stay->from = from;
	stay->until = until;
	return stay;
}

/* Whoever came at the last switch that was seen left before this task came, which is current: unless it is the same. */
static __always_inline void note_unseen(const struct task_struct *task)
{
	const __u32 zero = 0;
	struct stays *of_cpu = bpf_map_lookup_elem(&stays, &zero);
	struct task_struct *unseen;
	struct stay *stay;

	if (!of_cpu || !of_cpu->next_pid || of_cpu->next_pid == task->pid)
		return;
	unseen = (struct task_struct *)of_cpu->next;
	/* With another arrival it came to a processor since, or is another task: how long it had this one is lost. */
	if (BPF_CORE_READ(unseen, sched_info.last_arrival) == of_cpu->since) {
		stay = new_stay(of_cpu, of_cpu->since,
				of_cpu->since + BPF_CORE_READ(unseen, se.sum_exec_runtime) - of_cpu->ran);
		stay->process = process_of(unseen);
		stay->thread = BPF_CORE_READ(unseen, flags) & PF_KTHREAD ? 0 : of_cpu->next_pid;
		BPF_CORE_READ_INTO(&stay->name, unseen, group_leader, comm);
		of_cpu->n++;
	}
	of_cpu->next_pid = 0;
}

/*
 * A task leaves this processor to another, of that process; 0: of those that are followed. An idle one is not why
 * another waits.
 */
static __always_inline void note_switch(struct task_struct *task, const struct task_struct *next, __u32 process)
{
	const __u32 zero = 0;
	struct stays *of_cpu = bpf_map_lookup_elem(&stays, &zero);
	/* Kernels without CONFIG_KALLSYMS_ALL do not show the run queues themselves; that of an idle task may be none. */
	const struct rq *rq = task->pid ? task->se.cfs_rq->rq : next->se.cfs_rq->rq;
	struct stay *stay;

	if (!of_cpu)
		return;
	of_cpu->next = (__u64)next;
	of_cpu->next_pid = next->pid;
	of_cpu->since = rq->clock;
	of_cpu->ran = next->se.sum_exec_runtime;
	if (!task->pid)
		return;
	stay = new_stay(of_cpu, task->sched_info.last_arrival, of_cpu->since);
	stay->process = process;
	stay->thread = task->flags & PF_KTHREAD ? 0 : task->pid;
	bpf_core_read(&stay->name, sizeof(stay->name), &task->group_leader->comm);
	of_cpu->n++;
}

struct blaming {
	struct stays *of_cpu;
	__u64 from;
	__u64 until;
};

static __always_inline void charge(const struct stay *stay, __u64 ns)
{
	struct holder *holder = bpf_map_lookup_elem(&holders, &stay->process);
	struct holder first = {};

	if (!holder) {
		first.kernel = !stay->thread;
		__builtin_memcpy(first.name, stay->name, sizeof(first.name));
		bpf_map_update_elem(&holders, &stay->process, &first, 0);
		holder = bpf_map_lookup_elem(&holders, &stay->process);
	}
	if (holder)
		__sync_fetch_and_add(&holder->ns, ns);
}

/* The newest first. */
static long blame_one(__u32 i, struct blaming *b)
{
	struct stay *stay = &b->of_cpu->last[(b->of_cpu->n - 1 - i) & (STAYS - 1)];
	__u64 from = stay->from > b->from ? stay->from : b->from;
	__u64 until = stay->until < b->until ? stay->until : b->until;

	if (i >= b->of_cpu->n || stay->until <= b->from)
		return 1;
	if (from < until)
		charge(stay, until - from);
	return 0;
}

/* Until the quota is filled up again others run who are not why it waits; what it waited after that is in here, too. */
static __noinline int charge_quota(__u64 ns)
{
	const struct stay quota = { .process = QUOTA, .thread = 1 };

	charge(&quota, ns);
	return 0;
}

/*
 * A followed thread, which is on this processor still, had waited so long when it arrived; `throttled`, whether it left its
 * processor before because of a quota.
 */
static __always_inline void blame(__u64 arrival, __u64 waited, bool throttled)
{
	const __u32 zero = 0;
	struct blaming b = { .from = arrival - waited, .until = arrival };

	if (throttled && waited) {
		charge_quota(waited);
		return;
	}
	b.of_cpu = bpf_map_lookup_elem(&stays, &zero);
	if (b.of_cpu && waited)
		bpf_loop(STAYS, blame_one, &b, 0);
}

#endif
