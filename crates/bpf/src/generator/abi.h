/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What generator.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_GENERATOR_ABI_H
#define NETFATHOM_GENERATOR_ABI_H

/* Messages of one call; a power of two. */
#define MOST_BATCH 4096
/* 64-bit words that a message takes, and the headers before it at most. */
#define MESSAGE_WORDS 4
#define HEADER_WORDS 8

/* Written before the program is loaded. */
struct config {
	/* Ethernet, IP and UDP header as they lie in the frame, without the UDP checksum. */
	__u64 headers[HEADER_WORDS];
	/* Where the message lies in the frame: behind IPv4 or IPv6. */
	__u32 payload_at;
	/* Sum of what the UDP checksum covers and does not change, 16 bits. */
	__u32 constant_sum;
};

/* A message as on the wire. The program fills in the last word, when it was sent. */
struct slot {
	__u64 words[MESSAGE_WORDS];
};

struct shared {
	/* Messages of this call. */
	__u32 count;
	/* The number within this call of the next message to be written into a frame. */
	__u32 next;
	/* Messages that the device has been offered, taken or not. */
	__u32 offered;
	/* Messages that the device took. */
	__u32 taken;
	/* Why the kernel would not offer a frame to the device; negative, ends the call. */
	__s32 refused;
	/* Why the driver took none of what it was offered; negative. */
	__s32 driver_error;
	/* The processor that the call runs on. */
	__u32 cpu;
	__u32 unused;
	struct slot slots[MOST_BATCH];
};

#endif
