/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What stack.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_STACK_ABI_H
#define NETFATHOM_STACK_ABI_H

/* Messages under way at once; a power of two. A receive buffer of 8 MiB holds fewer. */
#define SLOTS 16384
/* Windows of time over a trial. */
#define WINDOWS 128
/* kernel/include/net/dropreason-core.h has about 130 in 6.18. */
#define REASONS 256

/* The hooks that join a message to its slot, for counting what they could not. */
enum join {
	JOIN_QDISC_ENQUEUE,
	JOIN_QDISC_DEQUEUE,
	JOIN_NET_DEV_START_XMIT,
	JOIN_SK_DATA_READY,
	JOIN_SOCK_RECV_LENGTH,
	JOIN_NET_DEV_QUEUE, /* of TCP */
	JOINS
};

/*
 * A message that is sent. `owner` is its sequence + 1, so that 0 is none. One cache
 * line, written by the processor that sends.
 */
struct tx_slot {
	__u64 owner;
	__u64 sent;
	__u64 net_dev_queue;
	__u64 qdisc_enqueue;
	__u64 qdisc_dequeue;
	__u64 net_dev_start_xmit;
	__u64 net_dev_xmit;
	__u64 output; /* entry of ip_send_skb, where functions have hooks; of TCP the end of the call, if that was before net_dev_queue */
};

/* A message that is received, until it is in the socket's receive buffer. */
struct rx_slot {
	__u64 owner;
	__u64 arrival;
	__u64 netif_receive_skb;
	__u64 sk_data_ready;
	struct idle idle; /* of the reader, at sk_data_ready */
	__u64 enqueue; /* entry of __udp_enqueue_schedule_skb, where functions have hooks */
	__u64 unused;
};

/* A moment of the reader's thread. */
struct moment {
	__u64 ns; /* 0: unknown */
	__u64 departures; /* from its processor until then */
};

/* One successful receive of the reader's socket, by its number. */
struct reception {
	__u64 number; /* + 1 */
	__u64 sock_recv_length;
	__u64 sched_switch; /* to the reader, the last before it; 0: unknown */
	__u64 departures; /* of the reader from its processor until then */
	struct idle at_departure; /* of the reader, at the last of these */
	struct idle idle; /* of the reader, at sock_recv_length */
	/* Entry of udp_recvmsg, exit of __skb_recv_udp, where functions have hooks. */
	struct moment entry;
	struct moment dequeue;
	__u64 unseen; /* not 0: its last switch to a processor was not seen */
};

/*
 * The connection of a trial over TCP: message n is the bytes from n * message_bytes on. Set by user space for each trial,
 * but for the last two.
 */
struct stream {
	__u64 sender_cookie;
	__be32 ports; /* as on the wire */
	__be32 from; /* the last word of the sender's address */
	__be32 to;
	__u32 first; /* the sequence number of byte 0 */
	__u64 message_bytes;
	__u64 announced; /* the message of the sender's call, + 1 */
	__u64 top; /* bytes before the highest that was seen; tells one turn of the sequence numbers from the next */
	__u64 ready; /* messages before it are in the reader's socket */
	__u64 unused;
};

/* Shared with user space by mmap. */
struct shared {
	/* Set by user space for each trial. */
	__u64 start_ns;
	__u64 reader_cookie;
	__u32 flow_be; /* as on the wire */
	__u32 window_shift;

	__u64 follows_reader; /* on_sched_switch is attached */
	__u64 unused[4];

	struct stream stream;
	struct reader reader;
	/* Of the receive call that the reader is in. */
	struct moment entry;
	struct moment dequeue;
	__u64 fill[4]; /* slots begin with a cache line */
	struct tx_slot tx[SLOTS];
	struct rx_slot rx[SLOTS];
	struct reception receptions[SLOTS];
};

/* Of one span and one processor. */
struct span_sums {
	__u64 negative;
	__u32 buckets[BUCKETS];
};

struct span_windows {
	struct moments n[WINDOWS];
};

/* The spans of sending. No value of a processor may be longer than 32 KiB. */
struct tx_sums {
	struct span_sums socket;
	struct span_sums qdisc;
	struct span_sums device;
	struct span_sums driver;
	struct span_sums total;
};

struct tx_windows {
	struct span_windows socket;
	struct span_windows qdisc;
	struct span_windows device;
	struct span_windows driver;
	struct span_windows total;
};

/* Those within `socket`, where functions have hooks, and what TCP holds back. */
struct part_sums {
	struct span_sums send;
	struct span_sums output;
	struct span_sums sendq;
};

struct part_windows {
	struct span_windows send;
	struct span_windows output;
	struct span_windows sendq;
};

/* What one processor is at, and what it could not join. */
struct cpu_state {
	__u64 tx_owner; /* between net_dev_start_xmit and net_dev_xmit; of TCP the first of tx_count */
	__u64 tx_count;
	__u64 tx_skb;
	__u64 output_owner; /* between ip_send_skb and net_dev_queue */
	__u64 output;
	__u64 rx_owner; /* between netif_receive_skb and sk_data_ready */
	__u64 lost[JOINS];
	__u64 drops[REASONS];
};

#endif
