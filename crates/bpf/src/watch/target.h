/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which sockets are followed: those of a port, one connection, all, or those of processes. */
#ifndef NETFATHOM_WATCH_TARGET_H
#define NETFATHOM_WATCH_TARGET_H

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_CLOSE_WAIT 8
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_LISTEN 10
/* include/linux/in.h, include/linux/socket.h */
#define IPPROTO_TCP 6
#define AF_INET 2

/* Those that are watched, by their numbers as user space has them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
} processes SEC(".maps");

static __always_inline bool same_address(const struct in6_addr *address, const volatile __u32 *words)
{
	const __u32 *own = address->in6_u.u6_addr32;

	return own[0] == words[0] && own[1] == words[1] && own[2] == words[2] && own[3] == words[3];
}

/* The port is the right one. A socket of IPv6 that speaks IPv4 has its addresses in both forms. */
static __always_inline bool is_the_flow(const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;

	if (common->skc_dport != config.peer_port)
		return false;
	if (config.family == AF_INET)
		return common->skc_daddr == config.peer[0] && common->skc_rcv_saddr == config.local[0];
	return bpf_core_field_exists(common->skc_v6_daddr) && same_address(&common->skc_v6_daddr, config.peer) &&
	       same_address(&common->skc_v6_rcv_saddr, config.local);
}

static __always_inline bool is_followed(const struct sock *sk)
{
	if (!config.creates)
		return sk->sk_bpf_storage != 0;
	if (!config.port)
		return true;
	return sk->__sk_common.skc_num == config.port && (!config.peer_port || is_the_flow(sk));
}

/*
 * Whether what the current process connects or listens on is followed before its first message. With a port it is from then
 * on.
 */
static __always_inline bool follows_new_sockets(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 number;

	if (config.creates)
		return !config.port;
	number = process_in(&shared.namespace, task, task->tgid);
	return number && bpf_map_lookup_elem(&processes, &number);
}

#endif
