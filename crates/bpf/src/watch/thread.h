/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Threads that read: when they were away from their processor, and why. Nothing joins a message and a thread before it
 * reads: then it looks what it did meanwhile.
 *
 * The terms are those of reader.h, which begins with a time diagram. Here woken() divides the sleep of a time away: it is
 * blocked, on something else than the message, and then wakeup.
 */
#ifndef NETFATHOM_WATCH_THREAD_H
#define NETFATHOM_WATCH_THREAD_H

/* The last times that a thread was away; a power of two. */
#define AWAYS 16
/*
 * A wake-up so soon after a message came was for that message: TCP and the socket take no longer. Later ones were for
 * something else, on which the thread slept.
 */
#define SOON_NS 20000
/* A wake-up takes less, even of a processor that sleeps. */
#define LONG_NS 1000000
/* Processes that make readers, at once: a process that reads, or its parent. */
#define MAKERS 1024

/* Away from the processor: first asleep, if at all, then in a run queue. */
struct away {
	__u64 from : 62;
	__u64 stopped : 1; /* by a signal or a debugger: it did not sleep by itself */
	__u64 throttled : 1; /* by its cgroup's quota: it waited for that */
	__u64 slept;
	__u64 waited;
	__u64 waking; /* the last wake-up until it was back */
};

/* Where a message waited from the moment that it could be read until its copy began. */
struct wait {
	__u64 ready;
	__u64 end;
	__u64 wakeup;
	__u64 runqueue;
	__u64 blocked;
	__u64 stopped; /* of blocked */
	__u64 throttled; /* of runqueue */
};

struct thread {
	struct reader reader;
	__u64 sample; /* all this is of that one */
	__u64 met; /* what was before is unknown; 0: nothing is */
	__u64 waking;
	__u64 copying; /* since then, the message that it reads */
	struct wait wait; /* of the last message that it read, or slow answer that it sent */
	__u64 read_from; /* the cookie of the socket with the last datagram that it read; 0: its call to send has returned since */
	__u64 read_at;
	__u64 answered_at; /* 0: it sent nothing from there since */
	__u64 took_at; /* when it read a datagram, of a Unix socket too */
	__u64 throttled; /* since it left its processor, or was woken: by its cgroup's quota */
	__u64 stopped; /* 1: so it left its processor */
	__u64 reads; /* 1: it has read from a followed socket */
	__u64 aways_n;
	struct away aways[AWAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static __always_inline struct thread *followed(struct task_struct *task)
{
	return task->bpf_storage ? bpf_task_storage_get(&threads, task, 0, 0) : 0;
}

/* As read_account, of a thread that runs or leaves its processor: nothing changes meanwhile, so that loads will do. */
static __always_inline void load_account(const struct task_struct *task, struct account *account)
{
	account->queued = task->sched_info.last_queued;
	account->waited = task->sched_info.run_delay;
	account->arrival = task->sched_info.last_arrival;
	account->arrivals = task->sched_info.pcount;
}

/* In place of a process, while its name is written. */
#define NAMING (~0U)

/* User space takes it away, so that another one can be named: of several processes it so finds those that use sockets most. */
static __always_inline void name_process(struct task_struct *task)
{
	if (shared.process || __sync_val_compare_and_swap(&shared.process, 0, NAMING))
		return;
	BPF_CORE_READ_STR_INTO(&shared.name, task, group_leader, comm);
	/* Last: user space that finds it reads the name. */
	publish(shared.process, number_of(task, task->tgid));
}

/* Processes, by their tgid: the threads and processes that they make are followed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAKERS);
	__type(key, __u32);
	__type(value, __u32);
} makers SEC(".maps");

static __always_inline const void *program_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, exe_file, f_inode);
}

/* It reads, so that what it makes may read too: a thread for a connection. One that its parent forked has siblings. */
static __always_inline void note_makers(struct task_struct *task)
{
	struct task_struct *parent = task->real_parent;
	__u32 tgid = task->tgid, of_parent = BPF_CORE_READ(parent, tgid);

	bpf_map_update_elem(&makers, &tgid, &tgid, 0);
	if (program_of(parent) == program_of(task))
		bpf_map_update_elem(&makers, &of_parent, &of_parent, 0);
}

static __always_inline void begin_thread(struct thread *thread, __u64 now)
{
	thread->sample = this_sample();
	thread->met = now;
	thread->aways_n = thread->read_from = thread->throttled = thread->stopped = 0;
	if (thread->copying < now)
		thread->copying = 0;
}

/*
 * It has run since the sample began, or since a switch to it that no program saw. How far the clocks are apart is known from
 * before, unless it was made meanwhile.
 */
static __always_inline void begin_running(struct thread *thread, const struct account *account, __u64 now)
{
	struct reader *reader = &thread->reader;

	if (thread->sample == this_sample())
		return;
	reader->departures = 0;
	if (!reader->ahead_at) {
		meet(reader, account, now);
		begin_thread(thread, now);
		return;
	}
	reader->arrivals = reader->seen_arrivals = account->arrivals - 1;
	begin_thread(thread, later(this_sample(), account->arrival + reader->ahead));
}

/* It arrives, and was away since the sample began. Whether it slept follows from how long it waited. */
static __always_inline void begin_away(struct thread *thread, const struct task_struct *task)
{
	struct reader *reader = &thread->reader;

	if (thread->sample == this_sample())
		return;
	reader->departed = reader->asleep_at = reader->away_at = this_sample();
	reader->departures = 1;
	reader->looked = 0;
	reader->sleeps = 1;
	reader->arrivals = task->sched_info.pcount;
	reader->run_delay = task->sched_info.run_delay;
	begin_thread(thread, this_sample());
}

static __always_inline void note_reader(struct thread *thread, struct task_struct *task)
{
	if (thread->reads)
		return;
	thread->reads = 1;
	count(threads, 1);
	note_makers(task);
}

/* What the thread that runs does is known from here on. */
static __always_inline struct thread *follow_thread(struct task_struct *task, __u64 now)
{
	struct thread *thread = followed(task);
	struct account account;

	if (thread && thread->sample == this_sample())
		return thread;
	load_account(task, &account);
	if (thread) {
		begin_running(thread, &account, now);
		return thread;
	}
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	meet(&thread->reader, &account, now);
	begin_thread(thread, now);
	return thread;
}

/* The thread that runs, which reads from a followed socket. */
static __always_inline struct thread *reading_thread(__u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = follow_thread(task, now);

	name_process(task);
	if (thread)
		note_reader(thread, task);
	return thread;
}

static __always_inline bool makes_readers(void)
{
	__u32 tgid = bpf_get_current_task_btf()->tgid;
	struct bpf_pidns_info current = {};

	if (bpf_map_lookup_elem(&makers, &tgid))
		return true;
	return shared.maker && who_runs(&shared.namespace, &current) && current.tgid == shared.maker;
}

/*
 * A process that reads makes a thread, or a process, for a connection perhaps: it is followed from the start, as if it
 * had just left its processor.
 */
SEC("tp_btf/task_newtask")
int BPF_PROG(rx_task_newtask, struct task_struct *task)
{
	struct thread *thread;

	if (!makes_readers())
		return 0;
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	thread->reader.departed = bpf_ktime_get_ns();
	thread->reader.departures = 1;
	thread->sample = this_sample();
	return 0;
}

static __always_inline void note(struct thread *thread, const struct away *away)
{
	thread->aways[thread->aways_n & (AWAYS - 1)] = *away;
	thread->aways_n++;
}

/* What came of the last departure, if the thread is back. False where that cannot be known. */
static __always_inline bool last_away(struct thread *thread, const struct account *account, __u64 now,
				      struct away *away)
{
	const struct reader *reader = &thread->reader;
	struct idle idle;

	if (!idle_until(&thread->reader, account, now, &idle))
		return false;
	away->from = reader->departed;
	away->stopped = thread->stopped;
	away->throttled = thread->throttled;
	away->slept = idle.slept - reader->idle.slept;
	away->waited = idle.waited - reader->idle.waited;
	away->waking = thread->waking;
	return true;
}

static __always_inline void leave(struct thread *thread, struct task_struct *task, bool sleeps)
{
	struct reader *reader = &thread->reader;
	struct idle before = reader->idle;
	struct away away = { .stopped = thread->stopped, .throttled = thread->throttled, .waking = thread->waking };
	__u64 departures, unseen = reader->unseen;
	struct account account;

	load_account(task, &account);
	begin_running(thread, &account, bpf_ktime_get_ns());
	away.from = reader->departed;
	departures = reader->departures;
	if (departures && takes_new()) {
		count(waited_ns, account.waited - reader->run_delay);
		blame(account.arrival, account.waited - reader->run_delay, thread->throttled);
	}
	thread->throttled = is_throttled(task);
	thread->stopped = (state_of(task) & STOPPED) != 0;
	if (!reader->ahead_at && reader->seen_arrivals == account.arrivals) {
		reader->ahead = reader->seen - account.arrival;
		reader->ahead_at = reader->seen;
	}
	depart(reader, &account, bpf_ktime_get_ns(), sleeps);
	away.slept = reader->idle.slept - before.slept;
	away.waited = reader->idle.waited - before.waited;
	if (departures)
		note(thread, &away);
	if (reader->unseen != unseen)
		count(unseen, reader->unseen - unseen);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(rx_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *thread;

	if (!is_sampling())
		return 0;
	thread = followed(next);
	if (thread) {
		begin_away(thread, next);
		thread->reader.seen = bpf_ktime_get_ns();
		/* The kernel counts it after this event. */
		thread->reader.seen_arrivals = next->sched_info.pcount + 1;
	}
	note_unseen(prev);
	thread = followed(prev);
	if (thread)
		leave(thread, prev, !preempt && !is_runnable(prev));
	note_switch(prev, next, false);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(rx_sched_waking, struct task_struct *task)
{
	struct thread *thread = followed(task);

	if (!thread)
		return 0;
	thread->waking = bpf_ktime_get_ns();
	thread->throttled = is_throttled(task);
	return 0;
}

SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(rx_skb_copy_datagram_iovec)
{
	struct thread *thread = followed(bpf_get_current_task_btf());

	if (thread)
		thread->copying = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u64 overlap(__u64 from, __u64 until, const struct wait *wait)
{
	__u64 begin = from > wait->ready ? from : wait->ready;
	__u64 end = until < wait->end ? until : wait->end;

	return begin < end ? end - begin : 0;
}

/* When the thread's sleep was no longer for something else, but its wake-up. */
static __always_inline __u64 woken(const struct away *away, __u64 until, const struct wait *wait)
{
	__u64 soon = wait->ready + SOON_NS;
	bool known = away->waking + SOON_NS > away->from && away->waking <= until;

	/* No wake-up was seen, as where the task that had the CPU hides it, and none for the message takes so long. */
	if (away->slept >= LONG_NS && (away->waking < away->from || !known))
		return until;
	if (known)
		return away->waking < soon ? away->from : away->waking;
	return away->from < soon ? away->from : until;
}

static __always_inline void add_away(struct wait *wait, const struct away *away)
{
	__u64 until = away->from + away->slept;
	__u64 waking = woken(away, until, wait);
	__u64 blocked = overlap(away->from, waking, wait);
	__u64 runqueue = overlap(until, until + away->waited, wait);

	wait->blocked += blocked;
	wait->stopped += blocked * away->stopped;
	wait->wakeup += overlap(waking, until, wait);
	wait->runqueue += runqueue;
	wait->throttled += runqueue * away->throttled;
}

/* What is not known to be anything else. */
static __always_inline __u64 sockqueue(const struct wait *wait)
{
	return wait->end - wait->ready - wait->wakeup - wait->runqueue - wait->blocked;
}

struct waiting {
	struct thread *thread;
	bool known; /* all that the thread did since */
};

/* The times before the last one, the newest first. */
static long add_before(__u32 i, struct waiting *w)
{
	struct thread *thread = w->thread;
	const struct away *away = &thread->aways[(thread->aways_n - 1 - i) & (AWAYS - 1)];

	if (i >= thread->aways_n || away->from + away->slept + away->waited <= thread->wait.ready) {
		w->known = true;
		return 1;
	}
	add_away(&thread->wait, away);
	return 0;
}

/* Where it was in between, in its wait. False if it was away more often than its ring holds. */
static __always_inline bool look_back(struct thread *thread, const struct away *last, __u64 ready, __u64 end)
{
	struct waiting waiting = { .thread = thread };
	struct wait *wait = &thread->wait;

	wait->ready = ready;
	wait->end = end < ready ? ready : end;
	wait->wakeup = wait->runqueue = wait->blocked = wait->stopped = wait->throttled = 0;
	add_away(wait, last);
	bpf_loop(AWAYS, add_before, &waiting, 0);
	return waiting.known || thread->aways_n <= AWAYS;
}

#endif
