/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that do nothing: each shows whether the kernel takes its kind. They stand on
 * hooks that the real ones use too.
 */
#include "../include/kernel.h"

/* Leaves the packet to whoever comes next. */
#define TCX_NEXT (-1)

struct __sk_buff;

SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_tp_btf, struct sk_buff *skb)
{
	return 0;
}

SEC("raw_tp/net_dev_xmit")
int RAW_PROG(on_raw_tp)
{
	return 0;
}

SEC("fentry/udp_sendmsg")
int BPF_PROG(on_fentry, struct sock *sk)
{
	return 0;
}

SEC("tcx/ingress")
int on_tcx(struct __sk_buff *skb)
{
	return TCX_NEXT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
