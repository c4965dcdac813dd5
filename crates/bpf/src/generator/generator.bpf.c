/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes messages into the frames of a BPF_PROG_RUN with live frames and sends them out of
 * a device, past the stack.
 *
 * The kernel hands the program frame after frame of memory that it uses again and again,
 * as whoever had it last left it: a router may have changed the headers. So the program
 * writes everything but what follows the message.
 *
 * Frames that the device does not take are freed without a word to the caller; the
 * tracepoints of the same moment tell which they were.
 */
#include "../include/kernel.h"
#include "../include/xdp.h"
#include "abi.h"

#define SENT_WORD (MESSAGE_WORDS - 1)
#define PAYLOAD_AT_IPV4 42
#define PAYLOAD_AT_IPV6 62
/* Frames that the kernel offers a device at once, DEV_MAP_BULK_SIZE. */
#define BULK 16
#define ENODEV 19

const volatile struct config config;
struct shared shared;

/* The one device; a map keeps it found whatever namespace the caller is in. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} device SEC(".maps");

static __always_inline struct slot *slot(__u32 number)
{
	return &shared.slots[number & (MOST_BATCH - 1)];
}

/* All headers up to the UDP checksum, which is their last 16 bits. */
static __always_inline void write_headers(void *frame)
{
	__u64 *to = frame;
	__u32 word;

#pragma unroll
	for (word = 0; word < PAYLOAD_AT_IPV4 / 8; word++)
		to[word] = config.headers[word];
	if (config.payload_at == PAYLOAD_AT_IPV4)
		return;
#pragma unroll
	for (; word < PAYLOAD_AT_IPV6 / 8; word++)
		to[word] = config.headers[word];
	*(__u32 *)(to + word) = config.headers[word];
}

/* The message of a slot as sent now, behind the UDP checksum that covers it. */
static __always_inline void write_message(void *payload, struct slot *slot)
{
	__u64 *to = payload;
	__u64 sum = config.constant_sum;
	__u16 checksum;
	__u32 word;

	slot->words[SENT_WORD] = bpf_cpu_to_be64(bpf_ktime_get_ns());
#pragma unroll
	for (word = 0; word < MESSAGE_WORDS; word++) {
		to[word] = slot->words[word];
		sum += (__u32)to[word];
		sum += to[word] >> 32;
	}
	checksum = ~fold(sum);
	/* 0 would say that there is no checksum. */
	*(__u16 *)(payload - 2) = checksum ? checksum : 0xffff;
}

SEC("xdp")
int generate(struct xdp_md *packet)
{
	void *frame = (void *)(long)packet->data;
	void *end = (void *)(long)packet->data_end;
	__u32 number = shared.next;
	int action;

	if (number >= shared.count || shared.refused)
		return XDP_DROP;
	if (frame + config.payload_at + MESSAGE_WORDS * 8 > end)
		return XDP_DROP;
	write_headers(frame);
	write_message(frame + config.payload_at, slot(number));
	/* XDP_DROP is what this returns when the device is gone. */
	action = bpf_redirect_map(&device, 0, XDP_DROP);
	if (action == XDP_DROP) {
		shared.refused = -ENODEV;
		slot(number)->words[SENT_WORD] = 0;
		return action;
	}
	shared.cpu = bpf_get_smp_processor_id();
	shared.next = number + 1;
	return action;
}

/*
 * Whether an event is of ours: while some of our frames wait to be offered, no other
 * redirection runs on this processor, since soft interrupts are off until all are.
 */
static __always_inline bool ours(void)
{
	return shared.next != shared.offered && shared.cpu == bpf_get_smp_processor_id();
}

/* The driver took the first `sent` of the frames that it was offered. */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(on_devmap_xmit, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int error)
{
	__u32 dropped = shared.offered + sent;
	int i;

	if (!ours())
		return 0;
	for (i = 0; i < BULK && i < drops; i++)
		slot(dropped + i)->words[SENT_WORD] = 0;
	shared.offered += sent + drops;
	shared.taken += sent;
	if (error)
		shared.driver_error = error;
	return 0;
}

/* The frame just written cannot go to the device: it is down, or has no way for it. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(on_redirect_err, const struct net_device *from, const void *program, const void *target,
	     int error)
{
	__u32 last = shared.next - 1;

	if (!ours())
		return 0;
	slot(last)->words[SENT_WORD] = 0;
	shared.next = last;
	shared.refused = error;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
