/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the messages of other programs spend their time: from the link layer to the application's read, and from the
 * call that sends to the device.
 *
 * A message that comes is what TCP gets at once: a segment, or several that GRO joined. It is known by the sequence number of its
 * last byte, so it does not matter how the socket's queue joins or splits packets, or how the application reads them.
 * TCP calls the hooks of a socket under that socket's lock. Tracepoints run with preemption disabled, and what comes in
 * is summed by a thread that reads or sends alone, so that the sums of one processor have one writer at a time. For what
 * is sent, sending.h has the reason.
 */
#include "../include/kernel.h"
#include "../include/histogram.h"
#include "../include/order.h"
#include "../include/who.h"
#include "../include/reader.h"
#include "../include/account.h"
#include "abi.h"

struct shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SPANS);
	__type(key, __u32);
	__type(value, struct sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* A softirq may come in between. */
static __always_inline void count(enum count what, __u64 n)
{
	const __u32 zero = 0;
	struct counts *of_cpu = bpf_map_lookup_elem(&counts, &zero);

	if (of_cpu)
		__sync_fetch_and_add(&of_cpu->n[what], n);
}

/* Not inlined: the verifier looks at a global function once, not once a call. */
__noinline int add(__u32 span, __s64 value)
{
	struct sums *of_cpu = bpf_map_lookup_elem(&sums, &span);
	__u32 bucket;

	if (!of_cpu)
		return 0;
	add_moments(&of_cpu->moments, value);
	if (value < 0) {
		of_cpu->negative++;
		return 0;
	}
	bucket = bucket_index(value);
	if (bucket < BUCKETS)
		of_cpu->buckets[bucket]++;
	return 0;
}

#include "thread.h"
#include "flow.h"
#include "sending.h"

/* The application's own time: from the last byte that it read to the first one that it sends. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_tcp_sendmsg_locked, struct sock *sk)
{
	struct flow *flow;

	if (!sk->sk_bpf_storage)
		return 0;
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!flow || !flow->read_at)
		return 0;
	add(SPAN_APPLICATION, bpf_ktime_get_ns() - flow->read_at);
	flow->read_at = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
