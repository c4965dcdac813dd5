/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The time that the network's soft interrupts take on each processor, by whom they run on
 * top of. They do not nest, and stay on their processor from entry to exit.
 */
#include "../include/kernel.h"
#include "../include/who.h"
#include "abi.h"

/* include/linux/interrupt.h */
#define NET_TX_SOFTIRQ 2
#define NET_RX_SOFTIRQ 3

struct control control;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

static const __u32 zero = 0;

static __always_inline bool is_network(unsigned int vector)
{
	return vector == NET_TX_SOFTIRQ || vector == NET_RX_SOFTIRQ;
}

/* Whether what was interrupted, or itself lets softirqs run now, is who was asked for. */
static __always_inline bool is_own(void)
{
	struct bpf_pidns_info current = {};

	if (!who_runs(&control.namespace, &current))
		return false;
	return control.number == (control.one_thread ? current.pid : current.tgid);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	struct cpu *cpu;

	if (!is_network(vector))
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &zero);
	if (!cpu)
		return 0;
	cpu->on_own = is_own();
	cpu->since_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	struct cpu *cpu;
	__u64 ns;

	if (!is_network(vector))
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &zero);
	/* One that began before there was anyone to see it has no beginning. */
	if (!cpu || !cpu->since_ns)
		return 0;
	ns = bpf_ktime_get_ns() - cpu->since_ns;
	cpu->since_ns = 0;
	if (cpu->on_own) {
		cpu->own_ns += ns;
		cpu->own_n++;
	} else {
		cpu->others_ns += ns;
		cpu->others_n++;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
