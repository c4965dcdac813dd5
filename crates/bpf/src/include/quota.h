/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef NETFATHOM_QUOTA_H
#define NETFATHOM_QUOTA_H

/* By the CPU quota of its cgroup. Linux 6.18 takes single threads off the run queue, versions before it the cgroup. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	if (bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
	return false;
}

#endif
