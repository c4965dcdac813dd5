/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's end of a conversation: what comes to a socket goes back where it came from, or
 * goes nowhere, or is answered by more or less of it. Verdicts on a socket in a map; no process has to
 * read or write it. Or, of datagrams, programs in the driver, which no socket hears of.
 */
#include "../include/kernel.h"
#include "../include/histogram.h"
#include "abi.h"
#include "book.h"
#include "post.h"
#include "driver.h"

/* The end of a stream, which whoever has the socket may see. */
static __always_inline bool is_end(const struct __sk_buff *skb)
{
	return !skb->len && !shared.datagrams;
}

static __always_inline int send_back(struct __sk_buff *skb)
{
	/*
	 * A datagram in several pieces of memory would be sent as several datagrams, an empty
	 * one not at all.
	 */
	if (shared.datagrams && (!skb->len || bpf_skb_pull_data(skb, skb->len)))
		return refuse();
	return send_to(skb, &sockets, THIS, skb->len);
}

SEC("sk_skb/verdict")
int message_echo(struct __sk_buff *skb)
{
	if (is_end(skb))
		return SK_PASS;
	if (!is_answered(book(skb->len)))
		return SK_DROP;
	return is_clogged(skb) ? refuse() : send_back(skb);
}

SEC("sk_skb/verdict")
int message_sink(struct __sk_buff *skb)
{
	if (is_end(skb))
		return SK_PASS;
	book(skb->len);
	return SK_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
