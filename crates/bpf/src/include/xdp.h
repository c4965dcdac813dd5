/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What programs at a device's driver (XDP) see; the layout is fixed. */
#ifndef NETFATHOM_XDP_H
#define NETFATHOM_XDP_H

enum xdp_action {
	XDP_DROP = 1,
	XDP_PASS = 2,
	XDP_TX = 3,
	XDP_REDIRECT = 4,
};

struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
};

/* One's complement sum of 16-bit words, folded; the order of bytes does not matter to it. */
static __always_inline __u16 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	/* Twice 32 bits make 33, so one more time. */
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

#endif
