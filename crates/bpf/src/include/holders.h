/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had the processor while a followed thread waited for it.
 *
 * Each processor keeps the last who had it. When a thread leaves its processor, the kernel's own account has its last
 * wait, which ended with its arrival there: those who had the processor within that time kept it waiting. All times are
 * of the run queue's clock. What the processor's switches do not explain stays without a name: some are seen by no
 * program, and a thread may have waited for another processor first.
 */
#ifndef NETFATHOM_HOLDERS_H
#define NETFATHOM_HOLDERS_H

#include "stay.h"

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

struct stays {
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

/* A task leaves this processor, of that process; 0: of those that are followed. An idle one keeps nobody waiting. */
static __always_inline void note_stay(struct task_struct *task, __u32 process)
{
	const __u32 zero = 0;
	struct stays *of_cpu = bpf_map_lookup_elem(&stays, &zero);
	/* Kernels without CONFIG_KALLSYMS_ALL do not show the run queues themselves. */
	const struct rq *rq = task->se.cfs_rq->rq;
	struct stay *stay;

	if (!of_cpu || !task->pid)
		return;
	stay = &of_cpu->last[of_cpu->n & (STAYS - 1)];
	stay->from = task->sched_info.last_arrival;
	stay->until = rq->clock;
	stay->process = process;
	stay->kernel = task->flags & PF_KTHREAD;
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
		first.kernel = stay->kernel;
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

/* A followed thread, which is on this processor still, had waited so long when it arrived. */
static __always_inline void blame(__u64 arrival, __u64 waited)
{
	const __u32 zero = 0;
	struct blaming b = { .from = arrival - waited, .until = arrival };

	b.of_cpu = bpf_map_lookup_elem(&stays, &zero);
	if (b.of_cpu && waited)
		bpf_loop(STAYS, blame_one, &b, 0);
}

#endif
