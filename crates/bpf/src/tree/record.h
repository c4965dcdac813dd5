/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* All system calls of the tree: how many, how long, and in which order the first of them came. */
#ifndef NETFATHOM_TREE_RECORD_H
#define NETFATHOM_TREE_RECORD_H

/* By number. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUMBERS);
	__type(key, __u32);
	__type(value, struct call_sum);
} call_sums SEC(".maps");

/* By place; user space makes it this long only if it is to be used. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call);
} order SEC(".maps");

static __always_inline struct call_sum *call_sum(__u64 number)
{
	__u32 key = number < NUMBERS ? number : NUMBERS - 1;

	return bpf_map_lookup_elem(&call_sums, &key);
}

SEC("raw_tp/sys_enter")
int RAW_PROG(record_enter)
{
	struct member *member = member_of(bpf_get_current_task());
	struct call_sum *sum;
	struct call *call;
	__u64 place;
	__u32 key;

	if (!member || !shared.tree.executed)
		return 0;
	member->call_number = ctx->args[1];
	member->call_since_ns = bpf_ktime_get_ns();
	sum = call_sum(member->call_number);
	if (sum)
		sum->count++;
	place = __sync_fetch_and_add(&shared.tree.recorded, 1);
	if (place >= ORDER)
		return 0;
	key = place;
	call = bpf_map_lookup_elem(&order, &key);
	if (call) {
		call->number = member->call_number;
		call->at_ns = member->call_since_ns;
	}
	return 0;
}

/* The number at the return is not that of the call where a signal's handler ends. */
SEC("raw_tp/sys_exit")
int RAW_PROG(record_return)
{
	struct member *member = member_of(bpf_get_current_task());
	struct call_sum *sum;
	__u64 ns;

	if (!member || !member->call_since_ns)
		return 0;
	ns = bpf_ktime_get_ns() - member->call_since_ns;
	member->call_since_ns = 0;
	sum = call_sum(member->call_number);
	if (!sum)
		return 0;
	sum->ns += ns;
	return 0;
}

#endif
