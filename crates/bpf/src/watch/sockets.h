/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sums of single sockets, for as many as there are places. A socket takes a place when a thread reads or sends; those
 * that find none share the one of their process's name, or else the first. User space takes places back from sockets that
 * are idle: first it removes the owner, and a second later it takes the sums, so that a program that was about to add has
 * done so. Those of names stay.
 *
 * A socket's sums have several writers: threads of a server of UDP, and the processors that send.
 */
#ifndef NETFATHOM_WATCH_SOCKETS_H
#define NETFATHOM_WATCH_SOCKETS_H

/* include/linux/socket.h */
#define AF_UNIX 1
#define AF_INET 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOCKETS + NAMES);
	__type(key, __u32);
	__type(value, struct socket_sums);
} sockets SEC(".maps");

struct place {
	__u64 ticket; /* of its owner */
	__u64 number;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct place);
} places SEC(".maps");

struct claim {
	__u64 ticket;
	__u32 number;
};

static long claim_one(__u32 i, struct claim *c)
{
	__u32 number = (c->ticket + i) & (SOCKETS - 1);

	if (number == OTHERS || shared.owners[number] ||
	    __sync_val_compare_and_swap(&shared.owners[number], 0, c->ticket))
		return 0;
	c->number = number;
	return 1;
}

static __always_inline void name_ends(struct sock *sk, struct socket_name *of)
{
	of->family = sk->__sk_common.skc_family;
	of->protocol = sk->sk_protocol;
	if (of->family == AF_UNIX)
		return;
	of->local_port = sk->__sk_common.skc_num;
	of->peer_port = bpf_ntohs(sk->__sk_common.skc_dport);
	if (of->family == AF_INET) {
		of->local[0] = sk->__sk_common.skc_rcv_saddr;
		of->peer[0] = sk->__sk_common.skc_daddr;
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&of->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&of->peer, sk, __sk_common.skc_v6_daddr);
	}
}

/* The process that runs. */
static __always_inline void name_user(struct socket_name *of)
{
	struct task_struct *task = bpf_get_current_task_btf();

	BPF_CORE_READ_STR_INTO(&of->name, task, group_leader, comm);
	of->process = process_in(&shared.namespace, task, task->tgid);
}

/* Not inlined: it is rare, and long. */
static __noinline __u32 claim_place(struct sock *sk)
{
	struct claim claim = {};
	struct socket_sums *s;
	struct place *place;

	place = bpf_sk_storage_get(&places, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!place)
		return OTHERS;
	claim.ticket = __sync_fetch_and_add(&shared.tickets, 1) + 1;
	bpf_loop(SOCKETS, claim_one, &claim, 0);
	s = bpf_map_lookup_elem(&sockets, &claim.number);
	if (claim.number == OTHERS || !s) {
		shared.full = 1;
		return OTHERS;
	}
	name_ends(sk, &s->of);
	name_user(&s->of);
	place->ticket = claim.ticket;
	place->number = claim.number;
	return claim.number;
}

static __always_inline bool takes_name(__u32 number, __u64 ticket)
{
	__u64 *owner = &shared.owners[number & (SUMS_PLACES - 1)];
	__u64 before = observe(*owner);
	struct socket_sums *s;

	if (!before)
		before = __sync_val_compare_and_swap(owner, 0, ticket);
	s = before ? 0 : bpf_map_lookup_elem(&sockets, &number);
	if (s)
		name_user(&s->of);
	return !before || before == ticket;
}

/* Of a socket without one of its own, while there are places for names. Not inlined: few sockets come here. */
static __noinline __u32 share_place(struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	union {
		char name[NAME];
		__u64 words[2];
	} of = {};
	struct place *place;
	__u32 i, number;
	__u64 ticket;

	place = bpf_sk_storage_get(&places, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!place)
		return OTHERS;
	BPF_CORE_READ_STR_INTO(&of.name, task, group_leader, comm);
	ticket = (of.words[0] ^ of.words[1] * 31) * 0x9e3779b97f4a7c15;
	for (i = 0; ticket && i < NAMES; i++) {
		number = SOCKETS + ((ticket >> 32) + i & (NAMES - 1));
		if (!takes_name(number, ticket))
			continue;
		place->ticket = ticket;
		place->number = number;
		return number;
	}
	return OTHERS;
}

/* Where a socket's sums are, if it has a place. */
static __always_inline __u32 place_of(struct sock *sk)
{
	struct place *place = bpf_sk_storage_get(&places, sk, 0, 0);

	if (!place || shared.owners[place->number & (SUMS_PLACES - 1)] != place->ticket)
		return OTHERS;
	return place->number & (SUMS_PLACES - 1);
}

static __always_inline bool is_own(__u32 place)
{
	return place != OTHERS && place < SOCKETS;
}

/* The same, in the system call of a thread that reads or sends: it takes a place, if there is one. */
static __always_inline __u32 take_place(struct sock *sk)
{
	__u32 number = place_of(sk), claimed;

	if (is_own(number))
		return number;
	claimed = shared.full ? OTHERS : claim_place(sk);
	if (claimed != OTHERS)
		return claimed;
	return number == OTHERS ? share_place(sk) : number;
}

/* It gets other names: user space takes the place back once it is idle. */
static __always_inline void leave_place(struct sock *sk)
{
	struct place *place = bpf_sk_storage_get(&places, sk, 0, 0);

	if (place)
		place->number = OTHERS;
}

static __always_inline void add_to_stage(struct socket_sums *s, __u32 span, __u64 ns)
{
	if (ns)
		__sync_fetch_and_add(&s->spans[span], ns);
}

static __always_inline void add_to_total(struct socket_way *way, __s64 ns)
{
	__u32 bucket;

	__sync_fetch_and_add(&way->sum, ns);
	if (ns < 0) {
		__sync_fetch_and_add(&way->negative, 1);
		return;
	}
	bucket = bucket_of(ns, SOCKET_GRAIN);
	if (bucket >= SOCKET_BUCKETS)
		bucket = SOCKET_BUCKETS - 1;
	__sync_fetch_and_add(&way->buckets[bucket], 1);
}

#endif
