/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The account that the kernel keeps of each thread, for reader.h. */
#ifndef NETFATHOM_ACCOUNT_H
#define NETFATHOM_ACCOUNT_H

#include "reader.h"

/* Whether the kernel keeps it at all: CONFIG_SCHED_INFO. Without it no thread counts as idle. */
static __always_inline bool has_account(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->sched_info.run_delay);
}

/* The count is stored last and read last: with it come the others, or they do not fit (reader.h). */
static __always_inline void read_account(const struct task_struct *task, struct account *account)
{
	account->queued = BPF_CORE_READ(task, sched_info.last_queued);
	account->waited = BPF_CORE_READ(task, sched_info.run_delay);
	account->arrival = BPF_CORE_READ(task, sched_info.last_arrival);
	account->arrivals = BPF_CORE_READ(task, sched_info.pcount);
}

#endif
