/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What reaches user space through the ring. */
#ifndef NETFATHOM_TREE_MARKS_H
#define NETFATHOM_TREE_MARKS_H

/* include/uapi/linux/bpf.h */
#define BPF_RB_NO_WAKEUP 1
#define WHOLE_PATH_BYTES 4096
/* FNV-1a; fnv() in watching.rs is the same. */
#define FNV_BASIS 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

/* By the hash of a file's name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_MARKS);
	__type(key, __u64);
	__type(value, __u32);
} names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_MARKS);
	__type(key, struct call_key);
	__type(value, __u32);
} calls SEC(".maps");

/* A place of its own for each program that makes events: one may come in between another's lines. */
enum place {
	AT_ENTER,
	AT_RETURN,
	PLACES,
};

struct draft {
	struct event event;
	char whole[WHOLE_PATH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, __u32);
	__type(value, struct draft);
} drafts SEC(".maps");

static __always_inline struct draft *draft_at(enum place place, __u64 at_ns, enum kind kind)
{
	__u32 key = place;
	struct draft *draft = bpf_map_lookup_elem(&drafts, &key);

	if (!draft)
		return 0;
	draft->event.at_ns = at_ns;
	draft->event.kind = kind;
	draft->event.which = 0;
	draft->event.length = 0;
	draft->event.cut = 0;
	return draft;
}

/* No wake-up: user space looks from time to time. */
static __always_inline void send(struct draft *draft)
{
	__u64 length = draft->event.length;

	if (length > PATH_BYTES)
		return;
	length += __builtin_offsetof(struct event, path);
	if (bpf_ringbuf_output(&ring, &draft->event, length, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&shared.lost_events, 1);
}

/*
 * Puts the end of the whole path, with its length, into the event, and returns the hash of what
 * follows its last slash.
 */
static __always_inline __u64 take_end(struct draft *draft, __u64 bytes)
{
	__u64 first = bytes > PATH_BYTES ? bytes - PATH_BYTES : 0;
	__u64 hash = FNV_BASIS;
	__u32 i;

	for (i = 0; i < PATH_BYTES && first + i < bytes; i++) {
		unsigned char byte = draft->whole[(first + i) & (WHOLE_PATH_BYTES - 1)];

		draft->event.path[i] = byte;
		hash = byte == '/' ? FNV_BASIS : (hash ^ byte) * FNV_PRIME;
	}
	draft->event.length = i;
	draft->event.cut = first > 0;
	return hash;
}

/* Sends the event if the path at this address of user space is one that is watched; false if it cannot be read. */
static __always_inline bool send_if_named(struct draft *draft, __u64 path)
{
	long bytes = bpf_probe_read_user_str(draft->whole, sizeof(draft->whole), (const void *)path);
	__u64 hash;
	__u32 *which;

	if (bytes <= 0)
		return false;
	hash = take_end(draft, bytes - 1);
	which = bpf_map_lookup_elem(&names, &hash);
	if (which) {
		draft->event.which = *which;
		send(draft);
	}
	return true;
}

#endif
