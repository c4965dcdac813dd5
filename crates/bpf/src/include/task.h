/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The arguments of system calls, and a task's number in a PID namespace. */
#ifndef NETFATHOM_TASK_H
#define NETFATHOM_TASK_H

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di;
	unsigned long si;
} relocated;
#define ARGUMENT_0 di
#define ARGUMENT_1 si
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
} relocated;
#define ARGUMENT_0 regs[0]
#define ARGUMENT_1 regs[1]
#else
#error "add the registers that this architecture passes the arguments of system calls in"
#endif

/* As a call begins; some architectures put the result over the first one. */
static __always_inline __u64 first_argument(struct pt_regs *registers)
{
	return BPF_CORE_READ(registers, ARGUMENT_0);
}

static __always_inline __u64 second_argument(struct pt_regs *registers)
{
	return BPF_CORE_READ(registers, ARGUMENT_1);
}

#endif
