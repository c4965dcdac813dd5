/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts the system calls of some threads of a process. */
#include "../include/kernel.h"
#include "../include/who.h"
#include "abi.h"

struct shared shared;

/* Which end a thread works for, by its number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_THREADS);
	__type(key, __u32);
	__type(value, __u32);
} threads SEC(".maps");

SEC("raw_tp/sys_enter")
int RAW_PROG(on_sys_enter)
{
	struct bpf_pidns_info current = {};
	__u64 number = ctx->args[1];
	__u32 *end;

	if (!who_runs(&shared.namespace, &current) || current.tgid != shared.process)
		return 0;
	end = bpf_map_lookup_elem(&threads, &current.pid);
	if (!end || *end >= ENDS)
		return 0;
	if (number >= NUMBERS)
		number = NUMBERS - 1;
	/* An end may have several threads. */
	__sync_fetch_and_add(&shared.counts[*end][number], 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
