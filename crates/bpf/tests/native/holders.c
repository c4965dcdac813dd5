/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who had a processor that a thread waited for, compiled for user space: reads its switches and what each did to the
 * kernel's account of both tasks, prints how long each process is charged with, then each cause.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int64_t __s64;
#define __noinline
/* Only the kernel knows whether a task is throttled. */
#define NETFATHOM_QUOTA_H
#undef __always_inline
#define __always_inline inline

#define SEC(name)
#define __uint(name, value) int name
#define __type(name, value) __typeof__(value) *name
enum { BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_HASH };
enum { BPF_NOEXIST = 1 };

struct rq {
	__u64 clock;
	__u64 prev_steal_time_rq;
};
enum { CPUTIME_SOFTIRQ = 3, CPUTIME_STEAL = 7 };
struct kernel_cpustat {
	__u64 cpustat[CPUTIME_STEAL + 1];
};
struct cfs_rq {
	struct rq *rq;
};
struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	void *bpf_storage;
	char comm[16];
	struct task_struct *group_leader;
	struct {
		__u64 sum_exec_runtime;
		struct cfs_rq *cfs_rq;
	} se;
	struct {
		__u64 last_arrival;
	} sched_info;
};

static void *bpf_map_lookup_elem(void *map, const void *key);
static void bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
static void bpf_loop(__u32 n, void *each, void *context, __u64 flags);
#define BPF_CORE_READ(task, ...) ((task)->__VA_ARGS__)
#define BPF_CORE_READ_INTO(into, task, a, b) memcpy(into, (task)->a->b, sizeof(*(into)))
#define bpf_core_read(into, size, from) memcpy(into, from, size)
#define bpf_core_field_exists(field) true

#define TASKS 10
/* Of the tree that is followed. */
#define MEMBER 5
/* Two threads of one process. */
#define FIRST_THREAD 6
#define SECOND_THREAD 7
/* A process without a number, and a thread of the kernel of the same name. */
#define OUTSIDE 8
#define KERNEL 9

static struct {
	struct rq rq;
	struct kernel_cpustat times;
} processor;
static struct {
	struct {
		__u64 inode;
	} namespace;
	__s64 sums_from_rq;
} shared = { .namespace.inode = 1, .sums_from_rq = sizeof(struct rq) };

static __u32 process_in(const void *namespace, const struct task_struct *task, __u32 first)
{
	return first == OUTSIDE ? 0 : first;
}

#include "holders.h"

static __u32 process_of(const struct task_struct *task)
{
	return task->pid == MEMBER ? 0 : number_of(task, task->tgid);
}

#define HELD (TASKS + CAUSES)

static struct stays of_cpu;
static struct holder held[HELD];
static bool is_held[HELD];

/* The causes stand behind the tasks. */
static __u32 place_of(const void *map, const void *key)
{
	__u32 number = *(const __u32 *)key;

	if (map == &named_holders)
		return ((const struct holder_name *)key)->kernel ? KERNEL : OUTSIDE;
	return number < TASKS ? number : TASKS + CAUSE(0) - number;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	__u32 place = place_of(map, key);

	if (map == &stays)
		return &of_cpu;
	return is_held[place] ? &held[place] : 0;
}

static void bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	__u32 place = place_of(map, key);

	held[place] = *(const struct holder *)value;
	is_held[place] = true;
}

static void bpf_loop(__u32 n, void *each, void *context, __u64 flags)
{
	__u32 i;

	for (i = 0; i < n && !((long (*)(__u32, struct blaming *))each)(i, context); i++)
		;
}

/*
 * Of each switch: when, from whom, to whom, whether it is seen, and how long the second had waited. From a task to
 * itself: so long it had another processor until then; from the idle one to itself: the kernel counts that of a cause.
 * Task 1 is followed, task 0 idle: it has no run queue, nor an arrival.
 */
int main(void)
{
	static struct task_struct tasks[TASKS];
	static __u64 waited[TASKS];
	struct rq *rq = &processor.rq, none = {};
	struct cfs_rq cfs_rq = { .rq = rq }, no_cfs_rq = { .rq = &none };
	__u64 now, waits;
	int i, prev, next, seen;

	for (i = 0; i < TASKS; i++) {
		tasks[i].pid = tasks[i].tgid = i;
		tasks[i].group_leader = &tasks[i];
		tasks[i].se.cfs_rq = i ? &cfs_rq : &no_cfs_rq;
	}
	tasks[SECOND_THREAD].tgid = FIRST_THREAD;
	tasks[SECOND_THREAD].group_leader = &tasks[FIRST_THREAD];
	tasks[KERNEL].flags = PF_KTHREAD;
	while (scanf("%" SCNu64 "%d %d %d %" SCNu64, &now, &prev, &next, &seen, &waits) == 5) {
		if (prev == next && !prev) {
			*(seen == HYPERVISOR ? &rq->prev_steal_time_rq :
					       &processor.times.cpustat[CPUTIME_SOFTIRQ + seen - SOFTIRQS]) += waits;
			continue;
		}
		if (prev == next) {
			tasks[prev].se.sum_exec_runtime += waits;
			tasks[prev].sched_info.last_arrival = now - waits;
			continue;
		}
		tasks[prev].se.sum_exec_runtime += now - rq->clock;
		rq->clock = now;
		if (seen) {
			note_unseen(&tasks[prev]);
			if (prev == 1)
				blame(tasks[prev].sched_info.last_arrival, waited[prev], false);
			note_switch(&tasks[prev], &tasks[next], prev == MEMBER);
		}
		tasks[next].sched_info.last_arrival = next ? now : 0;
		waited[next] = waits;
	}
	for (i = 0; i < HELD; i++)
		printf("%" PRIu64 "\n", (uint64_t)held[i].ns);
	return 0;
}
