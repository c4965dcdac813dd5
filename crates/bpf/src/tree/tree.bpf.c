/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Follows two trees of processes: who belongs to them, at which marks the first of them comes by, and what
 * their threads spent. The scheduler has no hooks here, so a tree that runs costs nothing but its forks,
 * programs and ends; the programs at system calls are loaded if they are needed.
 */
#include "../include/kernel.h"
#include "../include/task.h"
#include "../include/who.h"
#include "abi.h"
#include "member.h"
#include "marks.h"
#include "record.h"

/* include/uapi/linux/sched.h */
#define CLONE_THREAD 0x00010000

/* Whether the thread that runs was told to make the root of this tree now. */
static __always_inline bool is_awaited(struct tree *tree)
{
	struct bpf_pidns_info current = {};

	if (!tree->awaited_of || !who_runs(&shared.namespace, &current))
		return false;
	return tree->awaited_of == current.pid;
}

/* Not sched_process_fork: it leaves out the threads that the kernel makes for io_uring. */
SEC("raw_tp/task_newtask")
int on_new_task(struct bpf_raw_tracepoint_args *args)
{
	struct member *parent = member_of(bpf_get_current_task());
	__u64 task = args->args[0];
	__u32 tree;

	/* Whoever was here before, also if the new one is nobody's. */
	clear_place(task);
	if (parent) {
		begin(task, parent->tree, AT_FORK);
		return 0;
	}
	if (args->args[1] & CLONE_THREAD)
		return 0;
	for (tree = 0; tree < TREES; tree++) {
		if (!is_awaited(&shared.trees[tree]))
			continue;
		shared.trees[tree].awaited_of = 0;
		shared.trees[tree].root = BPF_CORE_READ((struct task_struct *)task, tgid);
		begin(task, tree, AT_FORK);
		return 0;
	}
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *args)
{
	struct task_struct *task = (struct task_struct *)args->args[0];
	struct linux_binprm *program = (struct linux_binprm *)args->args[2];
	struct member *member = member_of((__u64)task);
	struct tree *tree = member ? tree_of(member) : 0;
	struct draft *draft;
	long bytes;

	if (!tree)
		return 0;
	/* A thread that becomes the program takes the place in time of its process's first one, and its number. */
	if ((__u32)args->args[1] != BPF_CORE_READ(task, pid)) {
		member->started_ns = started_ns((__u64)task);
	} else if (member->started_ns != started_ns((__u64)task)) {
		clear_place((__u64)task);
		return 0;
	}
	draft = draft_at(AT_EXEC, bpf_ktime_get_ns(), EXECUTED);
	if (BPF_CORE_READ(task, tgid) == tree->root)
		tree->executed = 1;
	if (member->tree != BENCHMARK || !draft)
		return 0;
	draft->event.which = BPF_CORE_READ(task, tgid) == tree->root;
	bytes = bpf_probe_read_kernel_str(draft->whole, sizeof(draft->whole), BPF_CORE_READ(program, filename));
	if (bytes > 0)
		take_end(draft, bytes - 1);
	send(draft);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *args)
{
	struct task_struct *task = (struct task_struct *)args->args[0];
	struct member *member = same_member((__u64)task);
	struct tree *tree = member ? tree_of(member) : 0;
	struct draft *draft;
	__u64 pages;

	if (!tree)
		return 0;
	__sync_fetch_and_add(&tree->exited, 1);
	read_spent(task, &member->at_exit);
	member->exited = 1;
	if (member->path) {
		__sync_fetch_and_add(&shared.unread_paths, 1);
		__sync_fetch_and_sub(&shared.pending_paths, 1);
	}
	/* Threads that run on will come by here. */
	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	pages = peak_pages(task);
	if (pages > tree->peak_pages)
		tree->peak_pages = pages;
	if (BPF_CORE_READ(task, tgid) != tree->root)
		return 0;
	/* Two threads that end at the same time both are the last one. */
	if (__sync_fetch_and_add(&tree->ended, 1) || member->tree != BENCHMARK)
		return 0;
	draft = draft_at(AT_EXIT, bpf_ktime_get_ns(), ENDED);
	if (draft)
		send(draft);
	return 0;
}

/*
 * Nobody has the thread any more, so its times are final: at its exit it still ran, and what it had run
 * since the last tick was in none of them. Now and then nothing is heard of a thread here on a busy machine,
 * for which there is what was read at its exit.
 */
SEC("raw_tp/sched_process_free")
int on_free(struct bpf_raw_tracepoint_args *args)
{
	__u64 task = args->args[0];
	struct member *member = same_member(task);
	struct tree *tree = member ? tree_of(member) : 0;
	struct spent before, now = {};

	if (!tree)
		return 0;
	before = member->before;
	/* User space takes out those that it no longer waits for. */
	if (bpf_map_delete_elem(&members, &task))
		return 0;
	read_spent((struct task_struct *)task, &now);
	add(tree, &now, &before);
	return 0;
}

SEC("raw_tp/sys_enter")
int mark_enter(struct bpf_raw_tracepoint_args *args)
{
	struct pt_regs *registers = (struct pt_regs *)args->args[0];
	struct call_key call = { .number = args->args[1] };
	struct member *member;
	struct draft *draft;
	__u64 watched, entered_ns, path;
	__u32 *which;

	/* Most calls of a machine are none of these: they get by without a look-up. */
	if (call.number >= NUMBERS)
		return 0;
	watched = shared.watched[call.number];
	if (!watched || !shared.trees[BENCHMARK].executed)
		return 0;
	member = member_of(bpf_get_current_task());
	if (!member || member->tree != BENCHMARK)
		return 0;
	if (watched & COUNTED) {
		call.k = __sync_fetch_and_add(&shared.counts[call.number], 1) + 1;
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
int mark_return(void *args)
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

/* Takes in who runs already: all threads of the process that is sought, and who descends from them. */
SEC("iter/task")
int adopt(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_struct *reader = (struct task_struct *)bpf_get_current_task();
	struct task_struct *leader, *parent;
	struct member *blank;
	__u32 key = AT_ADOPTION;
	__u64 tree = shared.sought_for;
	__u32 level;

	/* The compiler would ask for it again after it was checked. */
	barrier_var(tree);
	if (!task || tree >= TREES || member_of((__u64)task))
		return 0;
	leader = BPF_CORE_READ(task, group_leader);
	parent = BPF_CORE_READ(task, real_parent);
	/* In the PID namespace of the one who reads. */
	level = BPF_CORE_READ(reader, thread_pid, level);
	if (number_at(leader, level) == shared.sought) {
		shared.trees[tree].root = BPF_CORE_READ(leader, tgid);
		shared.trees[tree].executed = 1;
	} else if (!member_of((__u64)leader) && !member_of((__u64)parent)) {
		return 0;
	}
	blank = bpf_map_lookup_elem(&blanks, &key);
	if (!blank)
		return 0;
	read_spent(task, &blank->before);
	begin((__u64)task, tree, AT_ADOPTION);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
