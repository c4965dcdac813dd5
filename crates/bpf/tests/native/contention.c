/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the programs know of a thread with a CPU quota, compiled for user space: reads the switches of its processor, does
 * to the kernel's account what the kernel does, prints what the thread waited and what of it was for its quota.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int64_t __s64;
#undef __always_inline
#define __always_inline inline

/* These types are here, and without relocation. */
#define NETFATHOM_KERNEL_H
#define NETFATHOM_QUOTA_H
#define NETFATHOM_WHO_H

#define SEC(name)
#define __uint(name, value) int name
#define __type(name, value) __typeof__(value) *name
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define STOPPED 0x800c

struct pid_namespace {
	__u64 inode;
};
struct bpf_pidns_info {
	__u32 pid;
};
struct kernfs_node {
	const char *name;
};
struct cgroup {
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct task_group {
	struct {
		struct cgroup *cgroup;
	} css;
};
struct irqaction {
	const char *name;
};
struct hrtimer {
	struct {
		__s64 expires;
	} node;
	void *function;
};
struct rq {
	__u64 clock;
	__u64 prev_steal_time_rq;
};
struct cfs_rq {
	struct rq *rq;
};
struct task_struct {
	int pid;
	int tgid;
	int nr_cpus_allowed;
	unsigned int flags;
	unsigned int __state;
	bool throttled;
	char comm[16];
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct task_group *sched_task_group;
	struct {
		struct cfs_rq *cfs_rq;
	} se;
	struct {
		__u64 run_delay;
		__u64 last_arrival;
		__u64 last_queued;
	} sched_info;
};

#define READ_1(from, a) ((from)->a)
#define READ_2(from, a, b) ((from)->a->b)
#define READ_4(from, a, b, c, d) ((from)->a->b->c->d)
#define OF_4(a, b, c, d, read, ...) read
#define BPF_CORE_READ(from, ...) OF_4(__VA_ARGS__, READ_4, READ_3, READ_2, READ_1, )(from, __VA_ARGS__)
#define BPF_CORE_READ_STR_INTO(into, task, a, b) memcpy(into, (task)->a->b, sizeof(*(into)))
#define bpf_core_read(into, size, from) memcpy(into, from, size)
#define bpf_core_field_exists(field) false
#define bpf_probe_read_kernel_str(into, size, from) ((void)(from))

static struct rq processor;
static struct task_struct *running;

static void *bpf_map_lookup_elem(void *map, const void *key);
static inline void bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
}

static void bpf_loop(__u32 n, void *each, void *context, __u64 flags)
{
	__u32 i;

	for (i = 0; i < n && !((long (*)(__u32, void *))each)(i, context); i++)
		;
}

static __u64 bpf_ktime_get_ns(void)
{
	return processor.clock;
}

static __u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static __u64 bpf_get_current_task(void)
{
	return (__u64)running;
}

static __u64 bpf_get_current_pid_tgid(void)
{
	return running->pid;
}

static bool who_runs(const struct pid_namespace *in, struct bpf_pidns_info *current)
{
	current->pid = running->pid;
	return true;
}

static __u32 process_in(const struct pid_namespace *in, const struct task_struct *task, __u32 first)
{
	return first;
}

static bool is_throttled(const struct task_struct *task)
{
	return task->throttled;
}

#include "../contention/contention.bpf.c"

/* Holders are not kept. */
static void *bpf_map_lookup_elem(void *map, const void *key)
{
	static struct seen of_cpu;

	return map == &seen ? &of_cpu : 0;
}

#define TASKS 4
#define FOLLOWED 1

static void depart(struct task_struct *task, __u64 now)
{
	if (task->pid)
		task->sched_info.last_queued = now;
}

static void arrive(struct task_struct *task, __u64 now)
{
	if (!task->pid)
		return;
	if (task->sched_info.last_queued)
		task->sched_info.run_delay += now - task->sched_info.last_queued;
	task->sched_info.last_queued = 0;
	task->sched_info.last_arrival = now;
}

/*
 * Of each switch: when, from whom, to whom, whether it is seen, and whether the quota of the followed thread is used up from
 * then on. Task 0 is idle.
 */
int main(void)
{
	static struct task_struct tasks[TASKS];
	struct cfs_rq cfs_rq = { .rq = &processor };
	struct thread *thread = &shared.threads[0];
	int i, prev, next, seen_by_programs, throttled;
	__u64 now;

	for (i = 0; i < TASKS; i++) {
		tasks[i].pid = tasks[i].tgid = i;
		tasks[i].nr_cpus_allowed = 1;
		tasks[i].group_leader = &tasks[i];
		tasks[i].se.cfs_rq = &cfs_rq;
	}
	thread->number = FOLLOWED;
	shared.places = 1;
	while (scanf("%" SCNu64 "%d %d %d %d", &now, &prev, &next, &seen_by_programs, &throttled) == 5) {
		processor.clock = now;
		running = &tasks[prev];
		tasks[FOLLOWED].throttled = throttled;
		if (seen_by_programs)
			on_any_switch(false, &tasks[prev], &tasks[next]);
		depart(&tasks[prev], now);
		arrive(&tasks[next], now);
	}
	printf("%" PRIu64 "\n%" PRIu64 "\n", (uint64_t)thread->waited, (uint64_t)thread->throttled);
	return 0;
}
