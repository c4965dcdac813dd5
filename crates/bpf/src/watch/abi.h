/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What watch.bpf.c shares with user space. The build writes the Rust types from it (build/layout.rs). */
#ifndef NETFATHOM_WATCH_ABI_H
#define NETFATHOM_WATCH_ABI_H

#include "../include/stay.h"


/* Most processes that are watched. */
#define PROCESSES 4096

/* The spans of a message, from the link layer to the end of its copy to the application; in the order of WatchStage (read.rs). */
enum span {
	SPAN_PROTOCOL,
	SPAN_LOCK,
	SPAN_HOLE,
	SPAN_WAKEUP,
	SPAN_RUNQUEUE,
	SPAN_BLOCKED,
	SPAN_SOCKQUEUE,
	SPAN_READ,
	SPAN_TOTAL,
	SPAN_APPLICATION, /* from there to the first byte that the application sends */
	SPAN_ANSWER, /* of a client: from the first byte that it sends to the end of the copy of what comes next */
	/* From the call that sends a message to the device that gets its last byte. */
	SPAN_TX_SOCKET,
	SPAN_TX_SNDBUF,
	SPAN_TX_CORK,
	SPAN_TX_NAGLE,
	SPAN_TX_CWND,
	SPAN_TX_RWND,
	SPAN_TX_PACING,
	SPAN_TX_TSQ,
	SPAN_TX_SENDQ,
	SPAN_TX_QDISC,
	SPAN_TX_TOTAL,
	SPAN_TX_ACKED, /* from there to its acknowledgment */
	SPANS
};

/* Places for the sums of single sockets, a power of two; the first has those of all others. */
#define SOCKETS 256
#define OTHERS 0
/* Then some for the sockets without one, by the name of their process. Another power of two bounds all numbers. */
#define NAMES 16
#define SUMS_PLACES (2 * SOCKETS)
/* Slow messages that user space has not taken yet, about 750: a power of two. */
#define SLOW_BYTES (2 * 1024 * 1024)
/* Of the direction with more. */
#define MOST_STAGES 10
/* Pairs of a direction and a reason why packets are dropped; what is beyond is not counted. */
#define DROPS 256
/* Ports of marked sockets of UDP; the latest. */
#define PORTS 4096

/* 2^3 buckets an octave: each at most 12.5 % wide. */
#define SOCKET_GRAIN 3
#define SOCKET_BUCKETS ((40 - SOCKET_GRAIN + 1) << SOCKET_GRAIN)

/* Constants, so that the verifier leaves out what is not asked for: a hook has one program for all. */
struct config {
	__u32 creates; /* sockets are followed from their first message on: those of the port, or all; 0: those of processes */
	__u32 port; /* 0: any */
	/* Of one connection, addresses and port as on the wire; port 0: of all with that port. */
	__u32 peer_port;
	__u32 family;
	__u32 local[4];
	__u32 peer[4];
	__u32 receives; /* what comes in is followed */
	__u32 sends; /* what is sent is */
	__u32 by_socket; /* single sockets have sums of their own */
	__u32 keeps_slow; /* single messages are kept, if they are slow */
	__u32 serves; /* the port is a server's */
	__u32 samples; /* the programs are attached for a while at a time */
	__u32 follows_unix; /* Unix sockets too */
	__u32 names_receivers; /* the hook of drops has the socket that a packet came for: Linux 6.11 */
	__u32 sees_calls; /* hooks show when a call that sends by UDP begins */
};

/* Shared with user space by mmap. */
struct shared {
	/* Set by user space. */
	struct pid_namespace namespace;
	__s64 realtime_ahead; /* of CLOCK_MONOTONIC, ns */
	__s64 sums_from_rq; /* as holders.rs finds it */
	__u32 process; /* the first that read or sent since user space took the one before; 0: none */
	__u32 datagrams; /* 1: some were sent */
	__u64 maker; /* 0, or a process: the threads that it makes are followed from the start */
	char name[NAME];
	/* Total times from which on a message is kept: of what comes in, and of what is sent. */
	__u64 slow_received_ns;
	__u64 slow_sent_ns;
	__u64 slow_application_ns; /* the same of what a server takes from its read to its answer */
	__u64 connected; /* when a client did to a Unix socket that is followed; 0: not lately */
	__u64 slow_lost; /* there was no room to keep them */
	__u64 slow_applications_lost; /* of these, answers: counted after them */
	__u64 port_is_udp; /* 1: sockets of UDP have the port that was asked for */
	__u64 tickets; /* that were given to sockets */
	__u64 full; /* all places are taken; cleared by user space */
	__u64 widest; /* window that a receiver ever had, of those that held messages, bytes */
	__u64 sample; /* when it began, CLOCK_MONOTONIC; 0: none did yet; NO_SAMPLE (sample.h): none goes on */
	__u64 takes_new; /* 0: only messages from before are followed */
	__u64 owners[SUMS_PLACES]; /* by their tickets; 0: none */
};

/* Of one processor. Each message that is seen ends as one of the next six, or waits. */
struct counts {
	__u64 seen;
	__u64 timed;
	__u64 merged; /* into the message before it: the ring of the socket was half full */
	__u64 refused; /* the socket had no room */
	__u64 unstamped; /* without a time of the link layer */
	__u64 unfollowed; /* the reader's thread was not followed yet, or a switch of it was not seen */
	__u64 crowded; /* there was no room for it */
	__u64 long_away; /* timed; the reader was away more often than its ring holds */
	__u64 bytes_read;
	__u64 bytes_timed;
	__u64 bytes_outside; /* read from connections that were half closed as they came */
	__u64 threads; /* that read */
	__u64 unseen; /* switches of followed threads that were not seen */
	__u64 waited_ns; /* what they waited for a processor, by the kernel's account */
	__u64 mptcp; /* connections that are a part of one of MPTCP: they are not followed */
	__u64 tls; /* sockets that the kernel encrypts: messages are records */
	__u64 udp; /* of those seen */
	__u64 stopped_ns; /* of the stage blocked: a signal or a debugger stopped the reader */
	/* What is sent. Each message that is seen ends as one of the next five, or waits. */
	__u64 tx_seen;
	__u64 tx_timed;
	__u64 tx_merged; /* into the message before it: many waited in the socket */
	__u64 tx_crowded; /* there was no room for it */
	__u64 tx_missed; /* acknowledged, or gone; no program saw it go to the device */
	__u64 tx_dropped; /* a datagram, in the device's queue */
	__u64 tx_bytes_timed;
	__u64 tx_retransmitted; /* segments */
	__u64 tx_udp; /* of those seen */
	__u64 tx_unix; /* calls that sent over Unix sockets: they have no times */
	__u64 tx_unix_bytes;
};

/* Of one span and one processor. */
struct sums {
	struct moments moments;
	__u64 negative;
	__u64 buckets[BUCKETS];
};

struct drop_key {
	__u32 sent; /* 0: it came in */
	__u32 reason; /* enum skb_drop_reason of the kernel that runs */
};

/* Of UDP, in one network namespace. */
struct udp_port {
	__u64 net; /* its cookie */
	__u64 port;
};

/* Totals of one socket and one direction. */
struct socket_way {
	__s64 sum;
	__u64 negative;
	__u64 buckets[SOCKET_BUCKETS];
};

struct socket_name {
	__u32 local[4]; /* addresses as on the wire; IPv4 in the first word */
	__u32 peer[4];
	__u32 local_port;
	__u32 peer_port;
	__u32 family;
	__u32 protocol;
	__u32 process; /* that took the place of its sums, or reads */
	__u32 unused;
	char name[NAME];
};

/* A message that took long. Times are CLOCK_MONOTONIC. */
struct slow_message {
	struct socket_name socket;
	__u64 begin;
	__u64 end;
	__u32 bytes;
	__u32 sent; /* 0: it came in */
	__u32 reader; /* of what came in, and of an answer: its thread, as stays have it */
	__u32 application; /* not 0: no message, but from one's read to the answer */
	__u64 stopped; /* of the stage blocked, as in the counts */
	__u64 throttled; /* of the stage runqueue: the CPU quota of its reader's cgroup was used up */
	__u64 stages[MOST_STAGES]; /* from SPAN_PROTOCOL on, or from SPAN_TX_SOCKET */
	__u64 stays_n;
	struct stay stays[STAYS]; /* of its reader's processor, the newest first */
};

/* Of a socket of datagrams: their numbers, as datagrams.h has them. */
struct datagram_queue {
	__u32 came;
	__u32 read;
	__u32 first; /* that came after it was met */
	__u32 unused;
	__u64 since; /* when a thread read, or one came into the empty queue: the later of both, CLOCK_MONOTONIC */
};

/* Of one socket. */
struct socket_sums {
	struct socket_name of;
	__s64 spans[SPANS]; /* sums, of stages alone */
	struct socket_way receive;
	struct socket_way send;
};

#endif
