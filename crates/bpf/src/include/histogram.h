/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exact moments and a log-linear histogram. The layout of the buckets is that of
 * crates/stats (bucket_index), where its properties are tested.
 */
#ifndef NETFATHOM_HISTOGRAM_H
#define NETFATHOM_HISTOGRAM_H

/* 2^5 buckets an octave: each at most 3.1 % wide. */
#define GRAIN 5
/* Up to 2^40 ns, 18 minutes; the last bucket also takes what is longer. */
#define BUCKETS ((40 - GRAIN + 1) << GRAIN)

struct moments {
	__u64 n;
	__s64 sum;
	__u64 sum_sq_low;
	__u64 sum_sq_high;
	__s64 min;
	__s64 max;
};

static __always_inline __u32 log2_u64(__u64 v)
{
	__u32 log = 0;

	if (v >> 32) {
		log += 32;
		v >>= 32;
	}
	if (v >> 16) {
		log += 16;
		v >>= 16;
	}
	if (v >> 8) {
		log += 8;
		v >>= 8;
	}
	if (v >> 4) {
		log += 4;
		v >>= 4;
	}
	if (v >> 2) {
		log += 2;
		v >>= 2;
	}
	return log + (v >> 1);
}

/* With 2^grain buckets an octave. */
static __always_inline __u32 bucket_of(__u64 value, __u32 grain)
{
	__u32 octave;

	if (value < (1 << grain))
		return value;
	octave = log2_u64(value) - grain;
	return (octave << grain) + (value >> octave);
}

static __always_inline __u32 bucket_index(__u64 value)
{
	__u32 index = bucket_of(value, GRAIN);

	return index < BUCKETS ? index : BUCKETS - 1;
}

/* Adds value^2 to a 128-bit sum, from 32-bit halves: BPF multiplies 64 bits only. */
static __always_inline void add_square(struct moments *m, __s64 value)
{
	__u64 v = value < 0 ? -value : value;
	__u64 low = (__u32)v, high = v >> 32;
	__u64 square = low * low;

	if (high) {
		__u64 cross = 2 * high * low;
		__u64 shifted = cross << 32;

		m->sum_sq_high += high * high + (cross >> 32);
		square += shifted;
		m->sum_sq_high += square < shifted;
	}
	m->sum_sq_low += square;
	m->sum_sq_high += m->sum_sq_low < square;
}

static __always_inline void add_moments(struct moments *m, __s64 value)
{
	if (!m->n || value < m->min)
		m->min = value;
	if (!m->n || value > m->max)
		m->max = value;
	m->n++;
	m->sum += value;
	add_square(m, value);
}

#endif
