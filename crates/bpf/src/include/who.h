/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who runs, in the numbers that user space has. */
#ifndef NETFATHOM_WHO_H
#define NETFATHOM_WHO_H

/* The PID namespace of these numbers, as the kernel numbers it; 0 for the first one. */
struct pid_namespace {
	__u64 device;
	__u64 inode;
};

struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

/* False of one that has no number in there. */
static __always_inline bool who_runs(const struct pid_namespace *in, struct bpf_pidns_info *current)
{
	__u64 both;

	if (in->inode)
		return !bpf_get_ns_current_pid_tgid(in->device, in->inode, current, sizeof(*current));
	both = bpf_get_current_pid_tgid();
	current->pid = (__u32)both;
	current->tgid = both >> 32;
	return true;
}

/* include/linux/pid_namespace.h */
#define MAX_PID_NS_LEVEL 32

/*
 * The number of a task's process in there; `first` is that in the first PID namespace. A process has one in each namespace
 * that its own lies in. 0: it has none there, as it is outside or has ended.
 */
static __always_inline __u32 process_in(const struct pid_namespace *in, const struct task_struct *task, __u32 first)
{
	struct upid *upid;
	struct pid *pid;
	__u32 level, up;

	if (!in->inode)
		return first;
	pid = BPF_CORE_READ(task, group_leader, thread_pid);
	level = BPF_CORE_READ(pid, level);
	for (up = 0; up <= MAX_PID_NS_LEVEL; up++) {
		if (up > level)
			break;
		upid = &pid->numbers[level - up];
		if (BPF_CORE_READ(upid, ns, ns.inum) == in->inode)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

#endif
