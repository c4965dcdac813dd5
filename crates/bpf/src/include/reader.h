/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long the reader's thread has waited for a processor, and slept.
 *
 * Not every switch is seen: no program runs while certain tasks of some machines are current, so a switch from
 * one of these to the reader is seen by none. The kernel's own account of the thread has no holes. What it
 * lacks is the sum of its sleep, and its times are of the run queue's clock. So a program notes each switch away
 * from the reader, who is current himself then; what came after follows from the account, at any later
 * moment. Of the switches to the reader those that are seen show how far the two clocks are apart.
 *
 *     runs -------|----------- slept -----------|----- waited -----|------- runs     CLOCK_MONOTONIC
 *             departed                        queued            arrived
 *                 |<-------------------- away -------------------->|
 *
 *     departure   The reader leaves its CPU: depart(). If it can still run, `sleeps` is 0, and departed is queued too.
 *     queued      It is in a run queue: account->queued + ahead while it waits, arrived - waited afterwards.
 *     arrival     It gets a CPU; the kernel counts it. arrived is `seen`, or account->arrival + ahead if no program saw it.
 *     away        No arrival is counted since the last departure.
 *     idle        The sums of slept and waited: reader->idle until the last departure, idle_until() until `now`.
 *     ahead       CLOCK_MONOTONIC minus the run queue's clock: first from meet(), then from arrivals that were seen.
 *     meet        The first look at a reader that runs. Without departures idle does not grow.
 *     looked      The last departure after which idle_until() found it queued after sleep. asleep_at, away_at: when it was last
 *                 found asleep, or away; queued is no earlier than the one, arrived no earlier than the other.
 */
#ifndef NETFATHOM_READER_H
#define NETFATHOM_READER_H

/*
 * What the reader's thread did since the programs were loaded, up to some moment: how long
 * it waited for a processor although it could run, and how long it slept, ns. Differences
 * of two such readings show where a message waited in between.
 */
struct idle {
	__u64 waited;
	__u64 slept;
};

/*
 * The reader's thread. Times are CLOCK_MONOTONIC, counts of arrivals on a processor the kernel's
 * own. Odd versions are being written.
 */
struct reader {
	__u64 version;
	/* Its switches away from its processor, and the last one. */
	__u64 departures;
	__u64 departed;
	__u64 arrivals; /* until then */
	struct idle idle; /* until then */
	/* Its last switch to a processor that a program saw. */
	__u64 seen;
	__u64 seen_arrivals; /* with it */
	/* How far the clock was ahead of the run queue's, and when. */
	__u64 ahead;
	__u64 ahead_at;
	__u64 run_delay; /* by the kernel, at the last departure */
	/* Switches to or from it that no program saw. */
	__u64 unseen;
	__u64 receptions_n;
	__u64 task; /* its task_struct */
	__u32 tid;
	__u32 sleeps; /* departed to sleep: the others could go on running */
	__u64 looked; /* the last departure after which it was seen to wait for a processor */
	/* The last moments at which it was seen to be asleep, and to be away at all. */
	__u64 asleep_at;
	__u64 away_at;
};

/* struct sched_info. Times are of the run queue's clock. */
struct account {
	__u64 queued; /* waits since then; 0: it does not */
	__u64 waited; /* up to its last arrival on a processor */
	__u64 arrival;
	__u64 arrivals;
};

/* Clocks run apart by less than 1/1024: NTP changes the rate of one by 1/2000 at most. */
#define MOST_DRIFT_SHIFT 10

/*
 * How far CLOCK_MONOTONIC is ahead of the run queue's clock. A switch is seen some time after that clock was read, and
 * never before: a difference that grew faster than clocks run apart was taken late.
 */
static __always_inline __u64 clock_ahead(const struct reader *reader, const struct account *account)
{
	__u64 fresh = reader->seen - account->arrival;
	__s64 grown = fresh - reader->ahead;
	__s64 most = (reader->seen - reader->ahead_at) >> MOST_DRIFT_SHIFT;

	return reader->seen_arrivals == account->arrivals && grown < most ? fresh : reader->ahead;
}

static __always_inline __u64 earlier(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0 ? a : b;
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return (__s64)(a - b) > 0 ? a : b;
}

/*
 * Since its last departure the reader came back. Where that was seen, the hook is the border: the kernel may take an
 * older time, that of the wake-up which made it switch (RQCF_ACT_SKIP). Otherwise it came after it was last seen away, and
 * before now: meet() takes `ahead` too large, by what the reader had run.
 */
static __always_inline bool came_back(const struct reader *reader, const struct account *account, __u64 now,
				      struct idle *idle)
{
	__u64 waited = account->waited - reader->run_delay;
	/* What a message saw that came while the reader waited must hold afterwards too. */
	__u64 ahead = reader->looked == reader->departures ? reader->ahead : clock_ahead(reader, account);
	__u64 arrived = account->arrival + ahead;
	__u64 woken = arrived - waited;
	__u64 queued = reader->departed;

	if (!reader->sleeps)
		arrived = earlier(arrived, queued + waited);
	arrived = earlier(later(arrived, reader->away_at), now);
	if (reader->seen_arrivals == account->arrivals)
		arrived = reader->seen;
	if (reader->sleeps)
		queued = earlier(later(woken, reader->asleep_at), arrived);
	idle->slept += queued - reader->departed;
	idle->waited += arrived - queued;
	return !account->queued;
}

/* Since its last departure the reader is away. */
static __always_inline bool is_away(struct reader *reader, const struct account *account, __u64 now,
				    struct idle *idle)
{
	bool arrives = reader->seen_arrivals == account->arrivals + 1;
	__u64 until = arrives ? reader->seen : now;
	__u64 queued = reader->departed;

	if (reader->sleeps && account->queued) {
		reader->looked = reader->departures;
		queued = earlier(later(account->queued + reader->ahead, reader->asleep_at), until);
	} else if (reader->sleeps) {
		queued = until;
		if (!arrives)
			reader->asleep_at = later(reader->asleep_at, now);
	}
	if (!arrives)
		reader->away_at = later(reader->away_at, now);
	idle->slept += queued - reader->departed;
	idle->waited += until - queued;
	return account->waited == reader->run_delay && !(reader->sleeps && !account->queued && arrives);
}

/* False where it cannot be known: a departure was not seen, or the reader arrives at this moment. */
static __always_inline bool idle_until(struct reader *reader, const struct account *account, __u64 now,
				       struct idle *idle)
{
	*idle = reader->idle;
	if (account->arrivals == reader->arrivals)
		return is_away(reader, account, now, idle);
	if (account->arrivals != reader->arrivals + 1)
		return false;
	return !reader->departures || came_back(reader, account, now, idle);
}

/* The reader's first appearance: it runs, and came not long ago, so that the clocks are known for a start. */
static __always_inline void meet(struct reader *reader, const struct account *account, __u64 now)
{
	reader->arrivals = account->arrivals - 1;
	reader->seen_arrivals = account->arrivals - 1;
	reader->ahead = now - account->arrival;
	reader->ahead_at = now;
}

/* The reader leaves its processor. */
static __always_inline void depart(struct reader *reader, const struct account *account, __u64 now, bool sleeps)
{
	__u64 ahead = clock_ahead(reader, account);
	struct idle idle;

	if (!idle_until(reader, account, now, &idle)) {
		/* What it slept between departures that were not seen is lost; what it waited is not. */
		idle = reader->idle;
		idle.waited += account->waited - reader->run_delay;
		reader->unseen++;
	}
	if (reader->seen_arrivals != account->arrivals) {
		reader->unseen += reader->departures != 0;
	} else if (ahead != reader->ahead) {
		reader->ahead = ahead;
		reader->ahead_at = reader->seen;
	}
	reader->idle = idle;
	reader->departed = now;
	reader->arrivals = account->arrivals;
	reader->run_delay = account->waited;
	reader->sleeps = sleeps;
	reader->asleep_at = reader->away_at = now;
	reader->departures++;
}

#endif
