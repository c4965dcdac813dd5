/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What delay.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_DELAY_ABI_H
#define NETFATHOM_DELAY_ABI_H

struct control {
	/* How long to idle on each message; 0 lets it pass at once. */
	__u64 delay_ns;
	/* Messages that were delayed. */
	__u64 delayed;
};

#endif
