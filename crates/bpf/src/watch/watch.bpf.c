/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the messages of other programs spend their time: from the link layer to the application's read, and from the
 * call that sends to the device.
 *
 * A message that comes is what TCP gets at once: a segment, or several that GRO joined. It is known by the sequence number of its
 * last byte, so it does not matter how the socket's queue joins or splits packets, or how the application reads them. A
 * datagram of UDP is one by itself.
 *
 *     target.h, sample.h    which sockets are followed, and when
 *     flow.h                TCP: what came into a socket and was not read yet
 *     thread.h, holders.h   the reader meanwhile: when it was away from its CPU, and who had that
 *     reading.h             TCP: what was read, cut into spans that are added to the sums
 *     datagrams.h, unix.h   the same of UDP, and of Unix sockets
 *     sending.h             TCP: what was written, until the device has it and the peer acknowledges it
 *     held.h                what held it before TCP sent it
 *     outgoing.h            the same of UDP; the hooks at the device, which TCP shares
 *     sockets.h, slow.h     beside the sums of all messages: those of single sockets, and single messages that took long
 *     drops.h               packets that the kernel drops
 *
 * TCP calls the hooks of a socket under that socket's lock. Tracepoints run with preemption disabled (kernel.h), and what comes in
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

const volatile struct config config;
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

static __always_inline struct counts *counts_of_cpu(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

/* A softirq may come in between. */
#define count(what, n)                                                                                                 \
	({                                                                                                             \
		struct counts *of_cpu = counts_of_cpu();                                                               \
		if (of_cpu)                                                                                            \
			__sync_fetch_and_add(&of_cpu->what, n);                                                        \
	})

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

#include "target.h"
#include "sample.h"

#include "../include/holders.h"

static __always_inline __u32 process_of(const struct task_struct *task)
{
	return number_of(task, BPF_CORE_READ(task, tgid));
}

#include "sockets.h"
#include "thread.h"
#include "slow.h"
#include "flow.h"
#include "reading.h"
#include "sending.h"
#include "datagrams.h"
#include "outgoing.h"
#include "drops.h"

/* TCP has a segment of an established connection, and did nothing with it yet. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_tcp_probe, struct sock *sk, struct sk_buff *skb)
{
	struct segment segment;
	struct tcp_sock *tcp;
	bool arrives;
	__u64 now;

	if (!is_sampling() || !is_followed(sk) || !read_segment(skb, &segment))
		return 0;
	arrives = config.receives && segment.seq != segment.end;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp || !(config.sends || arrives))
		return 0;
	now = bpf_ktime_get_ns();
	if (config.sends)
		acknowledge(sk, tcp, segment.acked, now);
	if (arrives)
		arrive(sk, tcp, skb, &segment, now);
	return 0;
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_tcp_sendmsg_locked, struct sock *sk, struct msghdr *msg)
{
	struct tcp_sock *tcp;
	__u64 now;

	if (!is_sampling() || !is_followed(sk))
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	if (config.by_socket && is_ours(sk))
		take_place(sk);
	now = bpf_ktime_get_ns();
	if (config.receives)
		answer(sk, tcp, now);
	if (config.sends)
		send(sk, tcp, msg, now);
	return 0;
}

/* TCP has the segment that ends the handshake of a socket that is followed, and has taken no payload from it yet. */
static __always_inline void accept(struct sock *sk)
{
	struct tcp_sock *tcp;
	struct flow *flow;

	if (!config.receives || !is_sampling() || !takes_new() || !is_followed(sk))
		return;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return;
	flow = flow_of(sk, tcp);
	if (!flow || flow->met == LEFT)
		return;
	flow->role = SERVER;
	flow->established = bpf_ktime_get_ns();
}

/*
 * A process that is watched connects a socket, or has it listen: it is followed before the first message. Those that it
 * accepts have what their listener has. One that had a connection before has the messages of that no more: they stay unread,
 * or unsent, as if it was closed.
 */
static __always_inline void begin_connection(struct sock *sk, enum role role)
{
	__u64 flags = follows_new_sockets() ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0;
	struct flow *flow = config.receives ? bpf_sk_storage_get(&flows, sk, 0, flags) : 0;
	struct sending *sending = config.sends ? bpf_sk_storage_get(&sendings, sk, 0, flags) : 0;

	if (flow) {
		flow->role = role;
		flow->met = NOT_MET;
		flow->sample = 0;
	}
	if (sending)
		sending->sample = 0;
	if (config.by_socket)
		leave_place(sk);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_inet_sock_set_state, struct sock *sk, int before, int now)
{
	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (before == TCP_SYN_RECV && now == TCP_ESTABLISHED)
		accept(sk);
	if (now == TCP_SYN_SENT || now == TCP_LISTEN)
		begin_connection(sk, now == TCP_LISTEN || config.serves ? SERVER : CLIENT);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
