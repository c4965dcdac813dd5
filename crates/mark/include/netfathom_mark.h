/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Marks for netfathom, in C11 and C++11: a program says where it is, another process records when.
 *
 *     #include "netfathom_mark.h"
 *     ...
 *     netfathom_mark("request: parsed");
 *
 * This file is all there is. Nothing has to be linked, initialized or ended. It may be called in any
 * thread and in a signal handler, takes no lock, allocates nothing, never waits and leaves errno alone.
 * Without a listener, a mark is two loads. GCC or Clang, Linux, 64 bits; elsewhere a mark is nothing.
 *
 * Before it is included, NETFATHOM_MARK_USDT may be defined: each mark is then also a USDT probe,
 * netfathom:mark, with the name and its length. That needs <sys/sdt.h> (Debian: systemtap-sdt-dev).
 *
 * The ring's layout and what is guaranteed: docs/marks.md. It is that of the crate netfathom-mark,
 * and a test compares the two.
 */
#ifndef NETFATHOM_MARK_H
#define NETFATHOM_MARK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef NETFATHOM_MARK_USDT
#include <sys/sdt.h>
#endif

/* What the ring of this process has recorded and lost so far. All processes that share it count. */
struct netfathom_mark_counts {
    int listened;      /* whether somebody listens now */
    uint64_t recorded; /* marks in the ring since it was made */
    uint64_t lost;     /* marks for which there was no room, or no ring yet */
};

#if defined(__linux__) && defined(__LP64__) && (defined(__GNUC__) || defined(__clang__))

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The ring in memory, version 1 ---- */

#define NETFATHOM_MARK_MAGIC "nfmarks" /* with its zero, 8 bytes */
#define NETFATHOM_MARK_VERSION 1u
#define NETFATHOM_MARK_NAME_BYTES 38u
#define NETFATHOM_MARK_SLOTS 65536u
#define NETFATHOM_MARK_LEAST_SLOTS 64u
#define NETFATHOM_MARK_MOST_SLOTS (1u << 22)
#define NETFATHOM_MARK_TRIES 10000

/* The lowest bits of a slot's word; above them is the lap. */
enum { netfathom_mark_free, netfathom_mark_writing, netfathom_mark_written, netfathom_mark_abandoned };

struct netfathom_mark_line {
    uint64_t value;
} __attribute__((aligned(64)));

struct netfathom_mark_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t slot_bytes;
    uint32_t slots;
    uint32_t name_bytes;
    uint32_t listener;
    struct netfathom_mark_line head;
    struct netfathom_mark_line tail;
    struct netfathom_mark_line lost;
    uint64_t reserved[480];
} __attribute__((aligned(64)));

struct netfathom_mark_slot {
    uint64_t word;
    uint64_t at_ns;
    uint64_t owner; /* process, thread: 4 bytes each */
    uint64_t name[5]; /* its length, 2 bytes, and its first 38 */
} __attribute__((aligned(64)));

/* ---- This process ---- */

struct netfathom_mark_recorder {
    struct netfathom_mark_header *header;
    struct netfathom_mark_slot *slots;
    uint64_t mask;
    unsigned shift;
    uint32_t *process; /* this process, or 0 in a child that was forked; may be null */
};

/* One of each in a program, however many files include this: weak, so the linker keeps one. */
__attribute__((weak)) struct netfathom_mark_recorder netfathom_mark_recorder_v1;
/* 0, then (process << 1 | 1) while it makes the ring, then 2 if there is none, else 4. */
__attribute__((weak)) uint64_t netfathom_mark_state_v1;
__attribute__((weak)) uint64_t netfathom_mark_early_v1;

#define NETFATHOM_MARK_IMPOSSIBLE 2u
#define NETFATHOM_MARK_READY 4u

/* By names of our own, as what the headers declare depends on -std and on feature macros. */
struct netfathom_mark_timespec {
    long seconds;
    long nanoseconds;
};
extern int netfathom_mark_clock(int, struct netfathom_mark_timespec *) __asm__("clock_gettime");
extern long netfathom_mark_call(long, ...) __asm__("syscall");
extern char *netfathom_mark_getenv(const char *) __asm__("secure_getenv");

/* A copy in each file is as good as one. Read in a signal handler, so it must not be allocated
 * when it is first used: the C library of GNU has room for such. */
#if defined(__GLIBC__)
__attribute__((tls_model("initial-exec")))
#endif
static __thread uint64_t netfathom_mark_thread __attribute__((unused));

/* CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t netfathom_mark_now_ns(void) {
    struct netfathom_mark_timespec time = {0, 0};
    netfathom_mark_clock(1 /* CLOCK_MONOTONIC */, &time);
    return (uint64_t)time.seconds * 1000000000u + (uint64_t)time.nanoseconds;
}

static inline size_t netfathom_mark_ring_bytes(uint32_t slots) {
    return sizeof(struct netfathom_mark_header) + slots * sizeof(struct netfathom_mark_slot);
}

static inline void *netfathom_mark_map(size_t bytes, int flags, int fd) {
    long at = netfathom_mark_call(SYS_mmap, 0L, (long)bytes, 3L /* read, write */, (long)flags, (long)fd, 0L);
    return at == -1 ? NULL : (void *)at;
}

static inline int netfathom_mark_reads(int fd, void *to, size_t bytes, uint64_t from) {
    return netfathom_mark_call(SYS_pread64, (long)fd, to, (long)bytes, (long)from) == (long)bytes;
}

/* The slots of the ring in a file, or 0 if it is none that can be used. */
__attribute__((cold, noinline)) static uint32_t netfathom_mark_examine(int fd) {
    struct {
        uint64_t magic;
        uint32_t version, header_bytes, slot_bytes, slots, name_bytes, listener;
    } start;
    char last;
    long seals = netfathom_mark_call(SYS_fcntl, (long)fd, 1034L /* F_GET_SEALS */);
    if (seals < 0 || !(seals & 2 /* F_SEAL_SHRINK */) || !netfathom_mark_reads(fd, &start, sizeof start, 0))
        return 0;
    if (memcmp(&start.magic, NETFATHOM_MARK_MAGIC, 8) != 0 || start.version != NETFATHOM_MARK_VERSION ||
        start.header_bytes != sizeof(struct netfathom_mark_header) ||
        start.slot_bytes != sizeof(struct netfathom_mark_slot) || start.name_bytes != NETFATHOM_MARK_NAME_BYTES)
        return 0;
    if (start.slots < NETFATHOM_MARK_LEAST_SLOTS || start.slots > NETFATHOM_MARK_MOST_SLOTS ||
        (start.slots & (start.slots - 1)) != 0)
        return 0;
    return netfathom_mark_reads(fd, &last, 1, netfathom_mark_ring_bytes(start.slots) - 1) ? start.slots : 0;
}

/* The ring that whoever started this program listens to. */
__attribute__((cold, noinline)) static struct netfathom_mark_header *netfathom_mark_inherited(uint32_t *slots) {
    const char *text = netfathom_mark_getenv("NETFATHOM_MARK_FD");
    struct netfathom_mark_header *header;
    size_t bytes;
    size_t digits = text ? strspn(text, "0123456789") : 0;
    int fd = 0;
    if (digits == 0 || digits > 9 || text[digits] != 0)
        return NULL;
    for (; digits > 0; digits--)
        fd = fd * 10 + (*text++ - '0');
    *slots = netfathom_mark_examine(fd);
    if (*slots == 0)
        return NULL;
    bytes = netfathom_mark_ring_bytes(*slots);
    header = (struct netfathom_mark_header *)netfathom_mark_map(bytes, MAP_SHARED, fd);
    /* So that no page has to be fetched in the middle of a later mark. */
    if (header)
        netfathom_mark_call(SYS_madvise, header, (long)bytes, 23L /* MADV_POPULATE_WRITE */);
    return header;
}

/* A ring of this process and its children. Its descriptor stays open, for the listener to find. */
__attribute__((cold, noinline)) static struct netfathom_mark_header *netfathom_mark_own(uint32_t *slots) {
    struct netfathom_mark_header *header;
    uint64_t limit[2] = {0, 0};
    uint64_t magic;
    long bytes, fd, moved;
    *slots = NETFATHOM_MARK_SLOTS;
    bytes = (long)netfathom_mark_ring_bytes(*slots);
    /* A file beyond RLIMIT_FSIZE would end the program by SIGXFSZ. */
    netfathom_mark_call(SYS_prlimit64, 0L, 1L, 0L, limit);
    if (limit[0] < (uint64_t)bytes)
        return NULL;
    fd = netfathom_mark_call(SYS_memfd_create, "netfathom-mark", 1L | 2L | 8L /* CLOEXEC, SEALING, NOEXEC_SEAL */);
    if (fd < 0 && errno == EINVAL)
        fd = netfathom_mark_call(SYS_memfd_create, "netfathom-mark", 1L | 2L);
    if (fd < 0)
        return NULL;
    /* Out of the way of 0, 1 and 2, which a program may have closed and then writes to, and of the
     * low numbers that it may expect to get next. */
    moved = netfathom_mark_call(SYS_fcntl, fd, 1030L /* F_DUPFD_CLOEXEC */, 100L);
    if (moved < 0)
        moved = netfathom_mark_call(SYS_fcntl, fd, 1030L, 3L);
    if (moved >= 0) {
        netfathom_mark_call(SYS_close, fd);
        fd = moved;
    }
    if (fd <= 2 || netfathom_mark_call(SYS_ftruncate, fd, bytes) != 0 ||
        netfathom_mark_call(SYS_fcntl, fd, 1033L /* F_ADD_SEALS */, 1L | 2L | 4L /* SEAL, SHRINK, GROW */) != 0 ||
        (header = (struct netfathom_mark_header *)netfathom_mark_map((size_t)bytes, MAP_SHARED, (int)fd)) == NULL) {
        netfathom_mark_call(SYS_close, fd);
        return NULL;
    }
    header->version = NETFATHOM_MARK_VERSION;
    header->header_bytes = sizeof(struct netfathom_mark_header);
    header->slot_bytes = sizeof(struct netfathom_mark_slot);
    header->slots = *slots;
    header->name_bytes = NETFATHOM_MARK_NAME_BYTES;
    memcpy(&magic, NETFATHOM_MARK_MAGIC, 8);
    /* Last: a ring without it is none yet. */
    __atomic_store_n(&header->magic, magic, __ATOMIC_RELEASE);
    return header;
}

/* Memory that is zero again in each child of fork. */
__attribute__((cold, noinline)) static uint32_t *netfathom_mark_wiped(void) {
    void *page = netfathom_mark_map(4096, 0x22 /* MAP_PRIVATE, MAP_ANONYMOUS */, -1);
    if (page && netfathom_mark_call(SYS_madvise, page, 4096L, 18L /* MADV_WIPEONFORK */) != 0) {
        netfathom_mark_call(SYS_munmap, page, 4096L);
        page = NULL;
    }
    return (uint32_t *)page;
}

/* Has the listener know of marks that came before the ring. */
static inline void netfathom_mark_tell_early(void) {
    struct netfathom_mark_header *header = netfathom_mark_recorder_v1.header;
    if (__atomic_load_n(&header->listener, __ATOMIC_RELAXED) != 0)
        __atomic_fetch_add(&header->lost.value, __atomic_exchange_n(&netfathom_mark_early_v1, 0, __ATOMIC_SEQ_CST),
                           __ATOMIC_RELAXED);
}

/* The first mark makes the ring, once in a process. Those that come meanwhile, of other threads or of
 * a signal handler that interrupts it, are lost and counted. */
__attribute__((cold, noinline, unused)) static int netfathom_mark_first(void) {
    struct netfathom_mark_recorder *recorder = &netfathom_mark_recorder_v1;
    uint64_t found = __atomic_load_n(&netfathom_mark_state_v1, __ATOMIC_ACQUIRE);
    uint64_t making, state = NETFATHOM_MARK_READY;
    uint32_t slots;
    int kept = errno;
    if (found == NETFATHOM_MARK_IMPOSSIBLE) {
        __atomic_fetch_add(&netfathom_mark_early_v1, 1, __ATOMIC_RELAXED);
        return 0;
    }
    /* With the process, as a child that was forked meanwhile has to do it anew. */
    making = (uint64_t)netfathom_mark_call(SYS_getpid) << 1 | 1;
    if (!(found == 0 || ((found & 1) && found != making)) ||
        !__atomic_compare_exchange_n(&netfathom_mark_state_v1, &found, making, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&netfathom_mark_early_v1, 1, __ATOMIC_SEQ_CST);
        /* If it is there by now, whoever made it may not have seen this one. */
        if (__atomic_load_n(&netfathom_mark_state_v1, __ATOMIC_SEQ_CST) == NETFATHOM_MARK_READY)
            netfathom_mark_tell_early();
        errno = kept;
        return 0;
    }
    recorder->header = netfathom_mark_inherited(&slots);
    if (!recorder->header)
        recorder->header = netfathom_mark_own(&slots);
    if (recorder->header) {
        recorder->slots = (struct netfathom_mark_slot *)(recorder->header + 1);
        recorder->mask = slots - 1;
        recorder->shift = (unsigned)__builtin_ctz(slots);
        recorder->process = netfathom_mark_wiped();
    } else {
        __atomic_fetch_add(&netfathom_mark_early_v1, 1, __ATOMIC_SEQ_CST);
        state = NETFATHOM_MARK_IMPOSSIBLE;
    }
    __atomic_store_n(&netfathom_mark_state_v1, state, __ATOMIC_SEQ_CST);
    if (recorder->header)
        netfathom_mark_tell_early();
    errno = kept;
    return recorder->header != NULL;
}

__attribute__((cold, noinline, unused)) static uint64_t netfathom_mark_ask(uint32_t *process) {
    uint64_t pid = (uint64_t)netfathom_mark_call(SYS_getpid);
    uint64_t known = pid << 32 | (uint64_t)netfathom_mark_call(SYS_gettid);
    if (process) {
        __atomic_store_n(process, (uint32_t)pid, __ATOMIC_RELAXED);
        __atomic_store_n(&netfathom_mark_thread, known, __ATOMIC_RELAXED);
    }
    return known;
}

/* Process and thread, as they lie in a slot, without a system call but for the first time in each. */
static inline uint64_t netfathom_mark_owner(uint32_t *process) {
    uint32_t pid = process ? __atomic_load_n(process, __ATOMIC_RELAXED) : 0;
    uint64_t known = __atomic_load_n(&netfathom_mark_thread, __ATOMIC_RELAXED);
    uint32_t both[2];
    uint64_t owner;
    /* A child of fork has its parent's thread there, and 0 for the process. */
    if (pid == 0 || known >> 32 != pid)
        known = netfathom_mark_ask(process);
    both[0] = (uint32_t)(known >> 32);
    both[1] = (uint32_t)known;
    memcpy(&owner, both, sizeof owner);
    return owner;
}

/* Moves the head on from a position that is taken or passed, unless another has done so. */
static inline void netfathom_mark_advance(struct netfathom_mark_header *header, uint64_t position) {
    __atomic_compare_exchange_n(&header->head.value, &position, position + 1, 0, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

/* The slot at the head, now being written, and its lap; null if the ring is full. The crate's
 * src/ring.rs says why this is so. */
static inline struct netfathom_mark_slot *netfathom_mark_take(uint64_t *lap) {
    const struct netfathom_mark_recorder *recorder = &netfathom_mark_recorder_v1;
    struct netfathom_mark_header *header = recorder->header;
    int tries;
    for (tries = 0; tries < NETFATHOM_MARK_TRIES; tries++) {
        uint64_t position = __atomic_load_n(&header->head.value, __ATOMIC_ACQUIRE);
        struct netfathom_mark_slot *slot = &recorder->slots[position & recorder->mask];
        uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
        uint64_t unused = position >> recorder->shift << 2 | netfathom_mark_free;
        uint64_t state = word & 3;
        if (word == unused) {
            if (__atomic_compare_exchange_n(&slot->word, &unused, unused | netfathom_mark_writing, 0,
                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                netfathom_mark_advance(header, position);
                __builtin_prefetch(&recorder->slots[(position + 1) & recorder->mask], 1);
                *lap = position >> recorder->shift;
                return slot;
            }
        } else if (word > unused ||
                   ((state == netfathom_mark_free || state == netfathom_mark_abandoned) &&
                    position - __atomic_load_n(&header->tail.value, __ATOMIC_ACQUIRE) <= recorder->mask)) {
            netfathom_mark_advance(header, position);
        } else if (__atomic_load_n(&header->head.value, __ATOMIC_RELAXED) == position) {
            return NULL;
        }
    }
    return NULL;
}

static inline void netfathom_mark_record(const char *name, size_t length, uint64_t at_ns) {
    const struct netfathom_mark_recorder *recorder = &netfathom_mark_recorder_v1;
    struct {
        uint16_t length;
        char bytes[NETFATHOM_MARK_NAME_BYTES];
    } parts;
    uint64_t words[5], lap = 0, writing, abandoned;
    uint64_t owner = netfathom_mark_owner(recorder->process);
    struct netfathom_mark_slot *slot = netfathom_mark_take(&lap);
    size_t i;
    if (!slot) {
        __atomic_fetch_add(&recorder->header->lost.value, 1, __ATOMIC_RELAXED);
        return;
    }
    memset(&parts, 0, sizeof parts);
    parts.length = (uint16_t)(length > 65535 ? 65535 : length);
    memcpy(parts.bytes, name, length > sizeof parts.bytes ? sizeof parts.bytes : length);
    memcpy(words, &parts, sizeof words);
    __atomic_store_n(&slot->at_ns, at_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->owner, owner, __ATOMIC_RELAXED);
    for (i = 0; i < 5; i++)
        __atomic_store_n(&slot->name[i], words[i], __ATOMIC_RELAXED);
    writing = lap << 2 | netfathom_mark_writing;
    abandoned = lap << 2 | netfathom_mark_abandoned;
    /* If the listener waits no longer it has counted the mark as lost, and gets its slot back. */
    if (!__atomic_compare_exchange_n(&slot->word, &writing, lap << 2 | netfathom_mark_written, 0, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
        __atomic_compare_exchange_n(&slot->word, &abandoned, lap << 2 | netfathom_mark_free, 0, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

/* Whether a mark would be recorded: for who makes its name only then. */
static inline int netfathom_mark_is_listened(void) {
    if (__atomic_load_n(&netfathom_mark_state_v1, __ATOMIC_ACQUIRE) != NETFATHOM_MARK_READY &&
        !netfathom_mark_first())
        return 0;
    return __atomic_load_n(&netfathom_mark_recorder_v1.header->listener, __ATOMIC_RELAXED) != 0;
}

#ifdef NETFATHOM_MARK_USDT
#define NETFATHOM_MARK_PROBE(name, length) DTRACE_PROBE2(netfathom, mark, name, length)
#else
#define NETFATHOM_MARK_PROBE(name, length) ((void)0)
#endif

/* ---- What programs call ---- */

/* The same with the name's length in bytes: it need not end with a zero. */
static inline void netfathom_mark_bytes(const char *name, size_t length) {
    NETFATHOM_MARK_PROBE(name, length);
    if (netfathom_mark_is_listened())
        netfathom_mark_record(name, length, netfathom_mark_now_ns());
}

/* Says that the program is here, now. At most the first 38 bytes of the name are kept. */
static inline void netfathom_mark(const char *name) {
    netfathom_mark_bytes(name, strlen(name));
}

/* Says that it was here at a time that it took itself: CLOCK_MONOTONIC, in nanoseconds. */
static inline void netfathom_mark_bytes_at(const char *name, size_t length, uint64_t at_ns) {
    NETFATHOM_MARK_PROBE(name, length);
    if (netfathom_mark_is_listened())
        netfathom_mark_record(name, length, at_ns);
}

/* The same of a name that ends with a zero. */
static inline void netfathom_mark_at(const char *name, uint64_t at_ns) {
    netfathom_mark_bytes_at(name, strlen(name), at_ns);
}

/* What became of the marks so far. */
static inline struct netfathom_mark_counts netfathom_mark_status(void) {
    struct netfathom_mark_counts status = {0, 0, 0};
    status.lost = __atomic_load_n(&netfathom_mark_early_v1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&netfathom_mark_state_v1, __ATOMIC_ACQUIRE) == NETFATHOM_MARK_READY) {
        struct netfathom_mark_header *header = netfathom_mark_recorder_v1.header;
        status.listened = __atomic_load_n(&header->listener, __ATOMIC_RELAXED) != 0;
        status.recorded = __atomic_load_n(&header->head.value, __ATOMIC_RELAXED);
        status.lost += __atomic_load_n(&header->lost.value, __ATOMIC_RELAXED);
    }
    return status;
}

#ifdef __cplusplus
}
#endif

#else /* no Linux of 64 bits */

static inline uint64_t netfathom_mark_now_ns(void) { return 0; }
static inline int netfathom_mark_is_listened(void) { return 0; }
static inline void netfathom_mark_bytes(const char *name, size_t length) { (void)name, (void)length; }
static inline void netfathom_mark(const char *name) { (void)name; }
static inline void netfathom_mark_at(const char *name, uint64_t at_ns) { (void)name, (void)at_ns; }
static inline void netfathom_mark_bytes_at(const char *name, size_t length, uint64_t at_ns) {
    (void)name, (void)length, (void)at_ns;
}
static inline struct netfathom_mark_counts netfathom_mark_status(void) {
    struct netfathom_mark_counts status = {0, 0, 0};
    return status;
}

#endif
#endif
