/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What message.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_MESSAGE_ABI_H
#define NETFATHOM_MESSAGE_ABI_H

/* The only socket of the map. */
#define THIS 0
/* Bytes that a packet can be made to have: four pages less what the kernel needs of them. */
#define MOST_GROWN 16000

/* Bytes that may be sent back and not be acknowledged. */
#define MOST_UNREAD (64 << 20)

/* One end's, shared with user space by mmap. */
struct shared {
	/* Set by user space before the socket is given. */
	__u64 message_bytes;
	/* Whether every packet is a message of its own. */
	__u64 datagrams;
	/* The message from which on nothing goes back; 0 of none. */
	__u64 until;
	/* Of a post: what each message is answered by, and the pieces that it is made of. */
	__u64 answer_bytes;
	__u64 pieces;
	/* Of an end in the driver: the peer of its datagrams, as it lies in a packet (IPv4). */
	__u64 here;
	__u64 there;
	__u64 port_here;
	__u64 port_there;
	/* Set by user space at any time: nothing goes back from here on. */
	__u64 stopped;

	/* Of a post over a stream: how much of a message has come, and of its answer has gone. */
	__u64 position;
	__u64 grown;
	__u64 grown_bytes;
	/* What a stream's other end had acknowledged before the first answer. */
	__u64 acked_before;

	/* Verdicts, but for those on the end of a stream. */
	__u64 calls;
	__u64 bytes;
	__u64 messages;
	__u64 returned_bytes;
	/* Verdicts that should have sent back and could not. */
	__u64 refused;
	/* Messages that were complete at the same moment as another. */
	__u64 together;
	/* Of the first and the last verdict. */
	__u64 first_ns;
	__u64 last_ns;
	/* When the first and the last message were complete. */
	__u64 first_message_ns;
	__u64 last_message_ns;
	/* Time between two successive messages' ends. */
	__u64 negative;
	__u64 buckets[BUCKETS];
};

#endif
