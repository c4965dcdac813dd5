/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Single messages that took long, with all their stages, until user space takes them. */
#ifndef NETFATHOM_WATCH_SLOW_H
#define NETFATHOM_WATCH_SLOW_H

/* include/uapi/linux/bpf.h */
#define BPF_RB_NO_WAKEUP 1

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SLOW_BYTES);
} slow SEC(".maps");

/* To be submitted. */
static __always_inline struct slow_message *new_slow(__u64 begin, __u64 end, __u32 bytes)
{
	struct slow_message *s = bpf_ringbuf_reserve(&slow, sizeof(*s), 0);

	if (!s) {
		__sync_fetch_and_add(&shared.slow_lost, 1);
		return 0;
	}
	/* What was there before is still there; user space reads no more stays than are counted. */
	__builtin_memset(s, 0, __builtin_offsetof(struct slow_message, stays));
	s->begin = begin;
	s->end = end;
	s->bytes = bytes;
	return s;
}

/*
 * As the sums of the socket have it: what is sent may leave while another process runs. Not inlined, so that the type of a
 * message is among those that the build reads.
 */
static __noinline int name_slow(struct slow_message *s, struct sock *sk, __u32 place)
{
	struct socket_sums *sums = bpf_map_lookup_elem(&sockets, &place);

	if (sums && is_own(place))
		s->socket = sums->of;
	else
		name_ends(sk, &s->socket);
	return 0;
}

/*
 * Who had this processor since the message came. Their times are of the run queue's clock, and CLOCK_MONOTONIC is ahead of
 * it.
 */
static __always_inline void keep_stays(struct slow_message *s, __u64 ahead)
{
	const __u32 zero = 0;
	struct stays *of_cpu = bpf_map_lookup_elem(&stays, &zero);
	__u32 i;

	note_unseen(bpf_get_current_task_btf());
	if (!of_cpu)
		return;
	for (i = 0; i < STAYS; i++) {
		const struct stay *stay = &of_cpu->last[(of_cpu->n - 1 - i) & (STAYS - 1)];

		if (i >= of_cpu->n || stay->until + ahead <= s->begin)
			return;
		s->stays[i] = *stay;
		s->stays[i].from += ahead;
		s->stays[i].until += ahead;
		s->stays_n = i + 1;
	}
}

/*
 * From a read until the thread that runs answers. Where that was is known only if it was followed since; another may have read.
 */
static __noinline int keep_application(struct sock *sk, __u64 read_at, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct slow_message *s = new_slow(read_at, now, 0);
	struct thread *thread = followed(task);
	struct account account;
	struct away last = {};

	if (!s) {
		__sync_fetch_and_add(&shared.slow_applications_lost, 1);
		return 0;
	}
	s->application = 1;
	s->reader = bpf_get_current_pid_tgid();
	name_ends(sk, &s->socket);
	name_user(&s->socket);
	load_account(task, &account);
	if (thread && thread->sample == this_sample() && thread->met <= read_at &&
	    last_away(thread, &account, now, &last) && look_back(thread, &last, read_at, now)) {
		s->stages[SPAN_RUNQUEUE] = thread->wait.runqueue;
		s->stages[SPAN_BLOCKED] = thread->wait.blocked + thread->wait.wakeup;
		s->stages[SPAN_SOCKQUEUE] = sockqueue(&thread->wait);
		s->stopped = thread->wait.stopped;
		s->throttled = thread->wait.throttled;
		keep_stays(s, clock_ahead(&thread->reader, &account));
	}
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
