/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The threads of the tree, by their task: a number can be another's before its sums are taken. */
#ifndef NETFATHOM_TREE_MEMBER_H
#define NETFATHOM_TREE_MEMBER_H

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_MEMBERS);
	__type(key, __u64);
	__type(value, struct member);
} members SEC(".maps");

/* Where a member is made: it is too large for a program's stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct member);
} blank SEC(".maps");

static __always_inline struct member *member_of(__u64 task)
{
	return bpf_map_lookup_elem(&members, &task);
}

static __always_inline void read_spent(struct task_struct *task, struct spent *spent)
{
	struct task_delay_info *delays = 0;

	spent->ran_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (bpf_core_field_exists(task->sched_info.run_delay)) {
		spent->waited_ns = BPF_CORE_READ(task, sched_info.run_delay);
		spent->waited_known = 1;
	}
	spent->user_ns = BPF_CORE_READ(task, utime);
	spent->system_ns = BPF_CORE_READ(task, stime);
	spent->minor_faults = BPF_CORE_READ(task, min_flt);
	spent->major_faults = BPF_CORE_READ(task, maj_flt);
	spent->voluntary_switches = BPF_CORE_READ(task, nvcsw);
	spent->involuntary_switches = BPF_CORE_READ(task, nivcsw);
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		spent->read_bytes = BPF_CORE_READ(task, ioac.read_bytes);
		spent->bytes_known = 1;
	}
	if (bpf_core_field_exists(task->delays))
		delays = BPF_CORE_READ(task, delays);
	if (delays) {
		spent->blocked_ns = BPF_CORE_READ(delays, blkio_delay);
		spent->blocked_known = 1;
	}
}

#define add_to(field) __sync_fetch_and_add(&sum->field, now->field)

static __always_inline void add(const struct spent *now)
{
	struct spent *sum = &shared.tree.spent;

	add_to(ran_ns);
	add_to(waited_ns);
	add_to(user_ns);
	add_to(system_ns);
	add_to(minor_faults);
	add_to(major_faults);
	add_to(voluntary_switches);
	add_to(involuntary_switches);
	add_to(read_bytes);
	add_to(blocked_ns);
	add_to(waited_known);
	add_to(bytes_known);
	add_to(blocked_known);
	/* Last: user space that finds all of them settled reads the sums. */
	add_published(shared.tree.settled, 1);
}

static __always_inline __u64 started_ns(__u64 task)
{
	return BPF_CORE_READ((struct task_struct *)task, start_boottime);
}

/*
 * Takes out one that was at this place before: it is gone without an event. One without an event of
 * its exit is unknown altogether.
 */
static __always_inline void clear_place(__u64 task)
{
	struct member *old = member_of(task);
	struct spent at_exit;
	__u64 exited;

	if (!old)
		return;
	exited = observe(old->exited);
	at_exit = old->at_exit;
	/* Whoever takes it out is the one to sum it. */
	if (bpf_map_delete_elem(&members, &task) || !exited)
		return;
	add(&at_exit);
	__sync_fetch_and_add(&shared.tree.early, 1);
}

/* The member that this task is, which is about to end; another's place is cleared. */
static __always_inline struct member *same_member(__u64 task)
{
	struct member *member = member_of(task);

	if (!member || member->started_ns == started_ns(task))
		return member;
	clear_place(task);
	return 0;
}

static __always_inline void begin(__u64 task)
{
	__u32 key = 0;
	struct member *member = bpf_map_lookup_elem(&blank, &key);

	if (!member)
		return;
	member->started_ns = started_ns(task);
	if (bpf_map_update_elem(&members, &task, member, 0))
		__sync_fetch_and_add(&shared.lost_members, 1);
	else
		__sync_fetch_and_add(&shared.tree.begun, 1);
}

#endif
