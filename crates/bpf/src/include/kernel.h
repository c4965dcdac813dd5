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
typedef _Bool bool;

enum {
	false,
	true,
};

/* Needed before bpf_helpers.h, which declares helpers over them. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_DEVMAP = 14,
	BPF_MAP_TYPE_SOCKMAP = 15,
	BPF_MAP_TYPE_XSKMAP = 17,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#define relocated __attribute__((preserve_access_index))

struct sk_buff {
	unsigned char *head;
	unsigned char *data;
	__u16 network_header;
	__be16 protocol;
} relocated;

typedef struct {
	__s64 counter;
} atomic64_t;

struct sock_common {
	atomic64_t skc_cookie;
} relocated;

struct sock {
	struct sock_common __sk_common;
} relocated;

struct task_struct {
	int pid;
	unsigned int __state; /* since 5.14 */
} relocated;

struct net_device;
struct netdev_queue;
struct Qdisc;

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#endif
