/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's types, trimmed to the fields that the programs here read. CO-RE
 * relocates the offsets at load time, so no generated vmlinux.h is needed.
 */
#ifndef NETFATHOM_KERNEL_H
#define NETFATHOM_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef unsigned long size_t;
typedef _Bool bool;

enum {
	false,
	true,
};

/* Needed before bpf_helpers.h, which declares helpers over them. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_DEVMAP = 14,
	BPF_MAP_TYPE_SOCKMAP = 15,
	BPF_MAP_TYPE_XSKMAP = 17,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

/* Flags of maps, and of a look at a storage. */
enum {
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_NOEXIST = 1,
	BPF_F_CLONE = 1 << 9,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

extern int LINUX_KERNEL_VERSION __kconfig;
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/*
 * Since Linux 7.0 a thread may lose its CPU within a program of a tracepoint, to one that runs a program with the same sums of
 * that CPU. Before 6.15 the verifier allows no global function in such a part.
 */
#define loses_cpu() (LINUX_KERNEL_VERSION >= KERNEL_VERSION(7, 0, 0) && bpf_ksym_exists(bpf_preempt_disable))

#define keep_cpu(call)                                                  \
	({                                                              \
		int result;                                             \
									\
		if (loses_cpu())                                        \
			bpf_preempt_disable();                          \
		result = call;                                          \
		if (loses_cpu())                                        \
			bpf_preempt_enable();                           \
		result;                                                 \
	})

/* As libbpf's, and the thread keeps its CPU. */
#undef BPF_PROG
#define BPF_PROG(name, args...)                                         \
	name(unsigned long long *ctx);                                  \
	static __always_inline int body_of_##name(unsigned long long *ctx, ##args); \
	int name(unsigned long long *ctx)                               \
	{                                                               \
		_Pragma("GCC diagnostic push")                          \
		_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")  \
		return keep_cpu(body_of_##name(___bpf_ctx_cast(args))); \
		_Pragma("GCC diagnostic pop")                           \
	}                                                               \
	static __always_inline int body_of_##name(unsigned long long *ctx, ##args)

/* The same for a raw tracepoint: the arguments are in ctx. */
#define RAW_PROG(name)                                                  \
	name(struct bpf_raw_tracepoint_args *ctx);                      \
	static __always_inline int body_of_##name(struct bpf_raw_tracepoint_args *ctx); \
	int name(struct bpf_raw_tracepoint_args *ctx)                   \
	{                                                               \
		return keep_cpu(body_of_##name(ctx));                   \
	}                                                               \
	static __always_inline int body_of_##name(struct bpf_raw_tracepoint_args *ctx)

#define relocated __attribute__((preserve_access_index))

struct timerqueue_node {
	__s64 expires;
} relocated;

struct hrtimer {
	struct timerqueue_node node;
	void *function;
} relocated;

struct net {
	__u64 net_cookie; /* as SO_NETNS_COOKIE has it; since 5.12 */
} relocated;

typedef struct {
	struct net *net;
} relocated possible_net_t;

struct net_device {
	unsigned int flags;
	possible_net_t nd_net;
	unsigned char lower_level; /* 1: it stands on no other device; since 5.5 */
} relocated;

struct dst_entry {
	struct net_device *dev;
} relocated;

struct skb_shared_info {
	unsigned short gso_size;
} relocated;

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned char *head;
	unsigned char *data;
	unsigned int len;
	unsigned int data_len; /* of that, what is in pages */
	unsigned int end; /* of the head; there skb_shared_info is */
	unsigned long _skb_refdst; /* its route, if it has one */
	int skb_iif; /* the device that it came from; 0: none */
	__u8 encapsulation : 1; /* in a tunnel's packet */
	__u16 network_header;
	__u16 transport_header;
	__be16 protocol;
	__s64 tstamp; /* CLOCK_REALTIME from ip_local_deliver on */
	char cb[48];
} relocated;

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u8 tcp_flags;
	__u32 ack_seq;
} relocated;

typedef struct {
	__s64 counter;
} atomic64_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
} relocated;

struct sock_common {
	atomic64_t skc_cookie;
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num; /* the local port */
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr; /* CONFIG_IPV6 */
	struct in6_addr skc_v6_rcv_saddr;
	unsigned long skc_flags;
	possible_net_t skc_net;
} relocated;

typedef struct {
	int owned; /* by a system call */
} relocated socket_lock_t;

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
	__u32 qlen;
} relocated;

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_type;
	__u16 sk_protocol; /* since 5.6 */
	socket_lock_t sk_lock;
	unsigned long sk_tsq_flags;
	__u32 sk_pacing_status;
	struct socket *sk_socket; /* 0: it is closed */
	void *sk_bpf_storage; /* since 5.2 */
} relocated;

typedef struct {
	struct {
		int counter;
	} refs;
} refcount_t;

struct unix_address {
	refcount_t refcnt; /* sockets that have it */
} relocated;

struct unix_sock {
	struct unix_address *addr; /* that of its listener, of a socket that was accepted */
	struct sock *peer;
	struct sk_buff *oob_skb; /* since 5.15 */
} relocated;

struct udp_sock {
	struct sk_buff_head reader_queue;
} relocated;

struct tcp_sock {
	__u32 copied_seq; /* up to here it was read */
	__u32 rcv_nxt;
	__u64 bytes_acked;
	__u64 bytes_sent; /* since 4.19, with those sent again */
	__u64 bytes_retrans;
	__u32 write_seq; /* up to here it was written */
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_wnd;
	__u32 max_window; /* that the peer ever had */
	__u32 snd_cwnd;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u64 tcp_wstamp_ns; /* the earliest departure of the next packet, CLOCK_MONOTONIC */
	__u8 nonagle : 4;
	bool is_mptcp; /* CONFIG_MPTCP; since 5.6 */
} relocated;

struct inet_connection_sock {
	const void *icsk_ulp_ops; /* since 4.13 */
} relocated;

struct iov_iter {
	size_t iov_offset;
	size_t count;
} relocated;

struct msghdr {
	struct iov_iter msg_iter;
} relocated;

struct socket {
	unsigned long flags;
	struct sock *sk;
} relocated;

enum skb_drop_reason { /* since 5.17 */
	SKB_NOT_DROPPED_YET,
};

struct file {
	const void *f_inode;
} relocated;

struct mm_struct {
	const struct file *exe_file;
} relocated;

struct rq {
	__u64 clock;
	__u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
} relocated;

enum cpu_usage_stat {
	CPUTIME_SOFTIRQ = 3, /* that of interrupts is the next */
	CPUTIME_STEAL = 7,
};

struct kernel_cpustat {
	__u64 cpustat[CPUTIME_STEAL + 1];
} relocated;

struct cfs_rq {
	struct rq *rq;
	int throttle_count; /* CONFIG_CFS_BANDWIDTH */
} relocated;

struct kernfs_node {
	const char *name;
} relocated;

struct cgroup {
	struct kernfs_node *kn;
} relocated;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} relocated;

struct css_set {
	struct cgroup *dfl_cgrp;
} relocated;

struct task_group {
	struct cgroup_subsys_state css;
} relocated;

struct irqaction {
	const char *name;
} relocated;

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* CONFIG_FAIR_GROUP_SCHED */
} relocated;

struct sched_info { /* empty without CONFIG_SCHED_INFO */
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
} relocated;

struct task_io_accounting {
	__u64 read_bytes;
} relocated;

struct task_delay_info {
	__u64 blkio_delay;
} relocated;

struct ns_common {
	unsigned int inum; /* as stat(2) has it */
} relocated;

/* That of who.h has the name. */
struct pid_namespace___of_kernel {
	struct ns_common ns;
} relocated;

struct upid {
	int nr;
	struct pid_namespace___of_kernel *ns;
} relocated;

struct pid {
	unsigned int level; /* 0: in the first PID namespace alone */
	struct upid numbers[1]; /* level + 1 of them */
} relocated;

struct task_struct {
	int pid;
	int tgid;
	struct pid *thread_pid; /* since 5.0 */
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	char comm[16];
	unsigned int flags;
	unsigned int __state; /* since 5.14 */
	int nr_cpus_allowed;
	struct mm_struct *mm;
	struct sched_entity se;
	struct sched_info sched_info;
	__u64 utime;
	__u64 stime;
	__u64 start_boottime; /* since 5.5 */
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct task_io_accounting ioac;
	struct task_delay_info *delays;
	void *bpf_storage; /* since 5.11 */
	struct css_set *cgroups;
	struct task_group *sched_task_group; /* CONFIG_CGROUP_SCHED */
	bool throttled; /* since 6.18 */
} relocated;

struct task_struct___before_5_14 {
	long state;
} relocated;

/* __TASK_STOPPED, __TASK_TRACED, TASK_FROZEN (since 6.1) */
#define STOPPED 0x800c

static __always_inline __u64 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

static __always_inline bool is_runnable(struct task_struct *task)
{
	return !state_of(task);
}

struct netdev_queue;
struct Qdisc;

struct trace_event_raw_tcp_retransmit_skb {
	int err; /* since 6.17, with the third argument of the tracepoint; before, it fires for what was sent alone */
} relocated;

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#endif
