/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Samples: within a budget of CPU time the programs are attached for a while at a time. In a sample they follow the
 * messages that come or are sent, then for a while only what becomes of these, so that the slow ones have times too. What
 * sockets and threads kept before a sample counts as nothing, since no program saw what happened in between.
 *
 * Without a budget the whole run is one sample. It begins once all programs are attached, and ends before the first of them is
 * detached: otherwise a message could be read that no program saw come.
 */
#ifndef NETFATHOM_WATCH_SAMPLE_H
#define NETFATHOM_WATCH_SAMPLE_H

/* In place of a sample: none goes on. 0 would be that of sockets and threads which none has met. */
#define NO_SAMPLE 1

/* When it began is its name: one word, so that no order of stores matters. */
static __always_inline __u64 this_sample(void)
{
	return shared.sample;
}

/* Otherwise some programs are attached, and others not yet, or no longer. */
static __always_inline bool is_sampling(void)
{
	return this_sample() > NO_SAMPLE;
}

/* Messages that begin now are followed. */
static __always_inline bool takes_new(void)
{
	return !config.samples || shared.takes_new;
}

#endif
