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

#endif
