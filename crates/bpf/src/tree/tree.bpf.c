/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Follows a tree of processes: who belongs to it, at which marks it comes by, and what its threads spent.
 * A tree that runs costs nothing but its forks, programs and ends. The programs at system calls and at switches are
 * loaded if they are needed.
 */
#include "../include/kernel.h"
#include "../include/order.h"
#include "../include/task.h"
#include "../include/who.h"
#include "abi.h"
#include "member.h"

#include "../include/holders.h"
#include "marks.h"
#include "record.h"

/* include/uapi/linux/sched.h */
#define CLONE_THREAD 0x00010000

/* 0: the tree that is followed. */
static __always_inline __u32 process_of(const struct task_struct *task)
{
	return member_of((__u64)task) ? 0 : number_of(task, BPF_CORE_READ(task, tgid));
}

/* Whether the running thread is to make the root now. */
static __always_inline bool root_is_awaited(void)
{
	struct bpf_pidns_info current = {};

	if (!shared.tree.awaited_of || !who_runs(&shared.namespace, &current))
		return false;
	return shared.tree.awaited_of == current.pid;
}

/* Not sched_process_fork: it leaves out the threads that the kernel makes for io_uring. */
SEC("raw_tp/task_newtask")
int RAW_PROG(on_new_task)
{
	struct member *parent = member_of(bpf_get_current_task());
	__u64 task = ctx->args[0];

	/* Whichever was here before, also if the new one belongs to none. */
	clear_place(task);
	if (parent) {
		begin(task);
		return 0;
	}
	if (ctx->args[1] & CLONE_THREAD || !root_is_awaited())
		return 0;
	shared.tree.awaited_of = 0;
	shared.tree.root = BPF_CORE_READ((struct task_struct *)task, tgid);
	begin(task);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int RAW_PROG(on_exec)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct member *member = member_of((__u64)task);

	if (!member)
		return 0;
	/* A thread that becomes the program takes the place in time of its process's first one, and its number. */
	if ((__u32)ctx->args[1] != BPF_CORE_READ(task, pid)) {
		member->started_ns = started_ns((__u64)task);
	} else if (member->started_ns != started_ns((__u64)task)) {
		clear_place((__u64)task);
		return 0;
	}
	if (BPF_CORE_READ(task, tgid) == shared.tree.root)
		shared.tree.executed = 1;
	return 0;
}

SEC("raw_tp/sched_process_exit")
int RAW_PROG(on_exit)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct member *member = same_member((__u64)task);

	if (!member)
		return 0;
	__sync_fetch_and_add(&shared.tree.exited, 1);
	read_spent(task, &member->at_exit);
	/* Whoever takes it out on another processor takes what it had spent. */
	publish(member->exited, 1);
	if (member->path) {
		__sync_fetch_and_add(&shared.unread_paths, 1);
		__sync_fetch_and_sub(&shared.pending_paths, 1);
	}
	return 0;
}

/*
 * The thread has no owner any more, so its times are final: at its exit it still ran, and what it had run
 * since the last tick was in none of them. Now and then nothing is heard of a thread here on a busy machine,
 * for which there is what was read at its exit.
 */
SEC("raw_tp/sched_process_free")
int RAW_PROG(on_free)
{
	__u64 task = ctx->args[0];
	struct member *member = same_member(task);
	struct spent now = {};

	if (!member)
		return 0;
	/* User space takes out those that it no longer waits for. */
	if (bpf_map_delete_elem(&members, &task))
		return 0;
	read_spent((struct task_struct *)task, &now);
	add(&now);
	return 0;
}

/* Who had the processor that one of the tree waited for. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct member *member = member_of((__u64)prev);
	__u64 waited;

	note_unseen(prev);
	if (member) {
		waited = prev->sched_info.run_delay - member->run_delay;
		member->run_delay = prev->sched_info.run_delay;
		__sync_fetch_and_add(&shared.tree.waited_ns, waited);
		blame(prev->sched_info.last_arrival, waited, member->throttled);
		member->throttled = is_throttled(prev);
	}
	note_switch(prev, next, member);
	return 0;
}

SEC("raw_tp/sys_enter")
int RAW_PROG(mark_enter)
{
	struct pt_regs *registers = (struct pt_regs *)ctx->args[0];
	__u64 number = ctx->args[1];
	struct call_key call = { .number = number };
	struct member *member;
	struct draft *draft;
	__u64 watched, entered_ns, path;
	__u32 *which;

	/* Most calls of a machine are none of these: they get by without a look-up. */
	if (number >= NUMBERS)
		return 0;
	/*
	 * The verifier of Linux 6.1 knows the bound of the register that was compared, and not of the
	 * copy that clang indexes with. The mask shows it; clang must not see that it changes nothing.
	 */
	barrier_var(number);
	watched = shared.watched[number & (NUMBERS - 1)];
	if (!watched || !shared.tree.executed)
		return 0;
	member = member_of(bpf_get_current_task());
	if (!member)
		return 0;
	if (watched & COUNTED) {
		call.k = __sync_fetch_and_add(&shared.counts[number & (NUMBERS - 1)], 1) + 1;
		which = bpf_map_lookup_elem(&calls, &call);
		draft = which ? draft_at(AT_ENTER, bpf_ktime_get_ns(), CALLED) : 0;
		if (which && draft) {
			draft->event.which = *which;
			send(draft);
		}
	}
	if (!(watched & (OPENS_ARGUMENT_0 | OPENS_ARGUMENT_1)))
		return 0;
	entered_ns = bpf_ktime_get_ns();
	path = watched & OPENS_ARGUMENT_0 ? first_argument(registers) : second_argument(registers);
	draft = draft_at(AT_ENTER, entered_ns, OPENED);
	if (draft && send_if_named(draft, path))
		return 0;
	member->entered_ns = entered_ns;
	member->path = path;
	__sync_fetch_and_add(&shared.pending_paths, 1);
	return 0;
}

/* What was not in memory when the call began is there now, as the call itself has read it. */
SEC("raw_tp/sys_exit")
int RAW_PROG(mark_return)
{
	struct member *member;
	struct draft *draft;
	__u64 path;

	if (!shared.pending_paths)
		return 0;
	member = member_of(bpf_get_current_task());
	if (!member || !member->path)
		return 0;
	path = member->path;
	member->path = 0;
	__sync_fetch_and_sub(&shared.pending_paths, 1);
	draft = draft_at(AT_RETURN, member->entered_ns, OPENED);
	if (draft && send_if_named(draft, path))
		__sync_fetch_and_add(&shared.late_paths, 1);
	else
		__sync_fetch_and_add(&shared.unread_paths, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
