/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A processor at a switch: who leaves it and who comes, and what happened there since the last switch that was seen. */

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

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
