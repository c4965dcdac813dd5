/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had the processor while a followed thread waited for it. Whoever includes this has process_of().
 *
 * Each processor keeps the last who had it. When a thread leaves its processor, the kernel's own account has its last
 * wait, which ended with its arrival there: those who had the processor within that time kept it waiting. All times
 * are of the run queue's clock. While some tasks of some machines are current no program runs, so that none sees them
 * leave; the switch to them is seen. What the processor's switches do not explain stays without a name: several such
 * tasks one after the other, and a thread may have waited for another processor first.
 *
 * What the hypervisor, softirqs and interrupts took is read from the kernel's own sums at each switch. Many kernels
 * count softirqs by whole ticks, which are longer than most stays: what is beyond a stay is charged to the next ones. So
 * the shares are right in the long run alone, and are those of the processor's busy time.
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
	__u64 rq; /* that of this processor */
	__u64 counted[CAUSES]; /* by the kernel, at the last switch */
	__u64 carried[CAUSES]; /* of that, what is left for the next stays */
	__u64 n;
	struct stay last[STAYS];
	__u64 lost[STAYS][CAUSES]; /* what each of these lost */
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

/* A process may have the name of a thread of the kernel. */
struct holder_name {
	char name[NAME];
	__u32 kernel;
};

/*
 * By name: threads of the kernel, processes without a number in netfathom's PID namespace, and those that find no room above,
 * as where a build starts thousands.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOLDERS);
	__type(key, struct holder_name);
	__type(value, struct holder);
} named_holders SEC(".maps");

/* Of whoever includes this: number_of(), or 0 of a process that is followed. */
static __always_inline __u32 process_of(const struct task_struct *task);

/*
 * That of a task's process in netfathom's PID namespace; `first` is that in the first one, where alone threads of the kernel
 * have one.
 */
static __always_inline __u32 number_of(const struct task_struct *task, __u32 first)
{
	__u32 number;

	if (!shared.namespace.inode || BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return first;
	number = process_in(&shared.namespace, task, first);
	return number ? number : UNNUMBERED;
}

/*
 * What the hypervisor took is in the run queue's sum at once, in the other one at the next tick, also what it took from
 * an idle processor.
 */
static __always_inline void read_sums(struct stays *of_cpu, const struct rq *rq, __u64 sums[CAUSES])
{
	struct kernel_cpustat *times;

	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		sums[HYPERVISOR] = rq->prev_steal_time_rq;
	if (!shared.sums_from_rq)
		return;
	of_cpu->rq = (__u64)rq;
	/* Read back, it is a number: the verifier lets nothing without a bound be added to a pointer. */
	times = (struct kernel_cpustat *)(*(volatile __u64 *)&of_cpu->rq + shared.sums_from_rq);
	bpf_core_read(&sums[SOFTIRQS], 2 * sizeof(*sums), &times->cpustat[CPUTIME_SOFTIRQ]);
	if (!bpf_core_field_exists(rq->prev_steal_time_rq))
		bpf_core_read(&sums[HYPERVISOR], sizeof(*sums), &times->cpustat[CPUTIME_STEAL]);
}

/* `theirs`: what the kernel counted since the last time is to be charged. */
static __always_inline void count_lost(struct stays *of_cpu, const struct rq *rq, bool theirs)
{
	__u64 sums[CAUSES] = {};
	__u32 cause;

	read_sums(of_cpu, rq, sums);
	for (cause = 0; cause < CAUSES; cause++) {
		if (theirs)
			of_cpu->carried[cause] += sums[cause] - of_cpu->counted[cause];
		of_cpu->counted[cause] = sums[cause];
	}
}

/* The stay at this place has `left` more. */
static __always_inline void add_lost(struct stays *of_cpu, __u32 at, __u64 left)
{
	__u64 lost;
	__u32 cause;

	for (cause = 0; cause < CAUSES; cause++) {
		lost = of_cpu->carried[cause] < left ? of_cpu->carried[cause] : left;
		of_cpu->lost[at][cause] += lost;
		of_cpu->carried[cause] -= lost;
		left -= lost;
	}
}

/* To be named, and counted. */
static __always_inline struct stay *new_stay(struct stays *of_cpu, __u64 from, __u64 until)
{
	const __u32 at = of_cpu->n & (STAYS - 1);
	struct stay *stay = &of_cpu->last[at];

	stay->from = from;
	stay->until = until;
	__builtin_memset(of_cpu->lost[at], 0, sizeof(of_cpu->lost[at]));
	add_lost(of_cpu, at, until - from);
	return stay;
}

/* The threads that watch follows have storage. */
static __always_inline __u32 thread_of(const struct task_struct *task)
{
	if (task->flags & PF_KTHREAD)
		return 0;
	return bpf_core_field_exists(task->bpf_storage) && task->bpf_storage ? task->pid : ~task->tgid;
}

/*
 * Threads of a process that take turns have one stay: short turns would soon push out all others. Each thread of the kernel
 * has its own.
 */
static __always_inline bool goes_on(struct stays *of_cpu, __u64 from, __u32 thread)
{
	const __u32 at = (of_cpu->n - 1) & (STAYS - 1);
	struct stay *last = &of_cpu->last[at];

	if (!thread || last->until != from || last->thread != thread)
		return false;
	last->until = of_cpu->since;
	add_lost(of_cpu, at, of_cpu->since - from);
	return true;
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
		/* What the kernel counted since is of both. */
		of_cpu->since = task->sched_info.last_arrival;
	}
	of_cpu->next_pid = 0;
}

/*
 * A task leaves this processor to another; `of_tree`: its process is 0 here. An idle one is not why another
 * waits. In a PID namespace a number takes long to find: a stay that goes on has it.
 */
static __always_inline void note_switch(struct task_struct *task, const struct task_struct *next, bool of_tree)
{
	const __u32 zero = 0;
	struct stays *of_cpu = bpf_map_lookup_elem(&stays, &zero);
	/* Kernels without CONFIG_KALLSYMS_ALL do not show the run queues themselves; that of an idle task may be none. */
	const struct rq *rq = task->pid ? task->se.cfs_rq->rq : next->se.cfs_rq->rq;
	const __u32 thread = thread_of(task);
	const __u64 from = task->sched_info.last_arrival;
	struct stay *stay;

	if (!of_cpu)
		return;
	/* It came at the last switch that was seen, if there was one; an idle one, which is not why another waits, has no arrival. */
	count_lost(of_cpu, rq, of_cpu->since && from == of_cpu->since);
	of_cpu->next = (__u64)next;
	of_cpu->next_pid = next->pid;
	of_cpu->since = rq->clock;
	of_cpu->ran = next->se.sum_exec_runtime;
	if (!task->pid || goes_on(of_cpu, from, thread))
		return;
	stay = new_stay(of_cpu, from, of_cpu->since);
	stay->process = of_tree ? 0 : number_of(task, task->tgid);
	stay->thread = thread;
	bpf_core_read(&stay->name, sizeof(stay->name), &task->group_leader->comm);
	of_cpu->n++;
}

struct blaming {
	struct stays *of_cpu;
	__u64 from;
	__u64 until;
};

/* Made anew while there is room. */
static __always_inline struct holder *find_holder(void *map, const void *key, const struct stay *stay, __u32 number)
{
	struct holder *holder = bpf_map_lookup_elem(map, key);
	struct holder first = { .number = number };

	if (holder)
		return holder;
	first.kernel = !stay->thread;
	__builtin_memcpy(first.name, stay->name, sizeof(first.name));
	bpf_map_update_elem(map, key, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

static __noinline int charge_name(const struct stay *stay, __u32 number, __u64 ns)
{
	struct holder_name name = { .kernel = !stay->thread };
	struct holder *holder;

	__builtin_memcpy(name.name, stay->name, sizeof(name.name));
	holder = find_holder(&named_holders, &name, stay, number);
	if (!holder)
		return 0;
	if (holder->number != number)
		holder->number = SEVERAL;
	__sync_fetch_and_add(&holder->ns, ns);
	return 0;
}

/*
 * The number says what it is that is no process: its name is not read. User space makes room for these numbers before
 * processes take it.
 */
static __always_inline void charge(const struct stay *stay, __u32 number, __u64 ns)
{
	struct holder *holder = find_holder(&holders, &number, stay, number);

	if (holder)
		__sync_fetch_and_add(&holder->ns, ns);
	else
		charge_name(stay, number, ns);
}

/* Others are known by their names: the number of a thread of the kernel may be that of a process in netfathom's namespace. */
static __always_inline bool is_numbered(const struct stay *stay)
{
	return stay->thread && stay->process != UNNUMBERED;
}

/* Each cause with its part of these ns of a stay, the process with the rest. */
static __always_inline void charge_parts(const struct stay *stay, const __u64 lost[CAUSES], __u64 ns)
{
	__u64 length = stay->until - stay->from, rest = ns, part;
	__u32 cause;

	for (cause = 0; cause < CAUSES; cause++) {
		/* In 65536ths: the product of two times of some seconds has no room. */
		part = ((lost[cause] << 16) / length * ns) >> 16;
		rest -= part;
		if (part)
			charge(stay, CAUSE(cause), part);
	}
	if (rest && is_numbered(stay))
		charge(stay, stay->process, rest);
	else if (rest)
		charge_name(stay, stay->process, rest);
}

/* The newest first. */
static long blame_one(__u32 i, struct blaming *b)
{
	const __u32 at = (b->of_cpu->n - 1 - i) & (STAYS - 1);
	struct stay *stay = &b->of_cpu->last[at];
	__u64 from = stay->from > b->from ? stay->from : b->from;
	__u64 until = stay->until < b->until ? stay->until : b->until;

	if (i >= b->of_cpu->n || stay->until <= b->from)
		return 1;
	if (from < until)
		charge_parts(stay, b->of_cpu->lost[at], until - from);
	return 0;
}

/* Until the quota is filled up again others run who are not why it waits; what it waited after that is in here, too. */
static __noinline int charge_quota(__u64 ns)
{
	const struct stay none = {};

	charge(&none, QUOTA, ns);
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
