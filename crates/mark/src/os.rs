//! The few calls of the C library that marks need, declared by hand: this crate depends on nothing.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::ptr::{self, NonNull};

/// Of the descriptor alone, not of what a child inherits (fcntl(2)).
pub const F_SETFD: c_int = 2;
/// The same as another number, at least the one given, closed by execve(2).
pub const F_DUPFD_CLOEXEC: c_int = 1030;
const F_ADD_SEALS: c_int = 1033;
const F_GET_SEALS: c_int = 1034;
/// No more seals.
const F_SEAL_SEAL: c_int = 1;
const F_SEAL_SHRINK: c_int = 2;
const F_SEAL_GROW: c_int = 4;
const MFD_CLOEXEC: c_uint = 1;
const MFD_ALLOW_SEALING: c_uint = 2;
const MFD_NOEXEC_SEAL: c_uint = 8;
const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = 0x20;
const MADV_WIPEONFORK: c_int = 18;
const MADV_POPULATE_WRITE: c_int = 23;
const RLIMIT_FSIZE: c_int = 1;
const CLOCK_MONOTONIC: c_int = 1;
const EINVAL: c_int = 22;
const LOCK_EX_NB: c_int = 2 | 4;
const LOCK_UN: c_int = 8;
/// Bytes of a page that is asked for beside the ring; the kernel rounds up where pages are larger.
const PAGE_BYTES: usize = 4096;

/// What `/proc/PID/fd` and `/proc/PID/maps` show of a ring begins with `/memfd:` and this.
pub const NAME: &CStr = c"netfathom-mark";

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

#[repr(C)]
struct Rlimit {
    soft: u64,
    hard: u64,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn ftruncate(fd: c_int, bytes: i64) -> c_int;
    fn pread(fd: c_int, to: *mut c_void, bytes: usize, offset: i64) -> isize;
    fn mmap(at: *mut c_void, bytes: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut Rlimit) -> c_int;
    fn secure_getenv(name: *const c_char) -> *const c_char;
    fn getpid() -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
    #[link_name = "fcntl"]
    fn fcntl_c(fd: c_int, command: c_int, ...) -> c_int;
    #[link_name = "close"]
    fn close_c(fd: c_int) -> c_int;
    #[link_name = "flock"]
    fn flock_c(fd: c_int, operation: c_int) -> c_int;
}

/// CLOCK_MONOTONIC in nanoseconds; without a system call where the kernel has a usable clock.
#[inline]
pub fn monotonic_ns() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is a timespec of a 64-bit Linux that the call writes; the clock exists on
    // each of them, so the call does not fail.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut time) };
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// This process.
pub fn process() -> u32 {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { getpid() }.cast_unsigned()
}

/// gettid(2), which glibc has a function for since 2.30 only; as numbered by the kernel's asm/unistd.h.
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "loongarch64"))]
const SYS_GETTID: c_long = 178;

/// This thread, by a system call.
pub fn thread() -> u32 {
    // SAFETY: no arguments, and it cannot fail.
    (unsafe { syscall(SYS_GETTID) }) as u32
}

/// Keeps what errno was: a signal handler must not change it.
pub struct Errno(c_int);

impl Errno {
    /// What it is now.
    pub fn keep() -> Self {
        // SAFETY: the call gives the place of this thread's own errno, valid while it lives.
        Self(unsafe { *__errno_location() })
    }

    fn now() -> c_int {
        Self::keep().0
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *__errno_location() = self.0 };
    }
}

/// A new memory file of that many bytes that can be neither grown nor shrunk, closed by execve(2).
/// `None` with the reason in errno.
pub fn memory(bytes: u64) -> Option<c_int> {
    let mut limit = Rlimit { soft: 0, hard: 0 };
    // SAFETY: `limit` is what the call writes.
    unsafe { getrlimit(RLIMIT_FSIZE, &raw mut limit) };
    // A file beyond it would end the program by SIGXFSZ.
    if limit.soft < bytes {
        return None;
    }
    let made = |flags| {
        // SAFETY: the name is a string of C.
        unsafe { memfd_create(NAME.as_ptr(), flags) }
    };
    let mut fd = made(MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if fd < 0 && Errno::now() == EINVAL {
        // Before Linux 6.3 there is no such flag.
        fd = made(MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if fd < 0 {
        return None;
    }
    // Out of the way of 0, 1 and 2, which a program may have closed and then writes to, and of
    // the low numbers that it may expect to get next.
    let fd = [100, 3].into_iter().find_map(|least| elsewhere(fd, least)).map_or(fd, |moved| {
        close(fd);
        moved
    });
    // SAFETY: no pointers.
    let sized = fd > 2
        && unsafe {
            ftruncate(fd, bytes.cast_signed()) == 0
                && fcntl_c(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0
        };
    if !sized {
        close(fd);
    }
    sized.then_some(fd)
}

/// Another number for the same file, at least this one.
fn elsewhere(fd: c_int, least: c_int) -> Option<c_int> {
    // SAFETY: no pointers.
    Some(unsafe { fcntl_c(fd, F_DUPFD_CLOEXEC, least) }).filter(|&moved| moved >= 0)
}

/// Closes a descriptor of ours.
pub fn close(fd: c_int) {
    // SAFETY: no pointers; callers own the descriptor.
    unsafe { close_c(fd) };
}

/// Lets the program that is executed next have a descriptor.
pub fn inherit(fd: c_int) -> bool {
    // SAFETY: no pointers.
    unsafe { fcntl_c(fd, F_SETFD, 0) == 0 }
}

/// Whether it is a memory file that cannot shrink, so that a read of its mapping cannot fail.
pub fn is_steady_memory(fd: c_int) -> bool {
    // SAFETY: no pointers. Of other files there are no seals, and it fails.
    let seals = unsafe { fcntl_c(fd, F_GET_SEALS) };
    seals >= 0 && seals & F_SEAL_SHRINK != 0
}

/// Fills `to` from the file at `offset`, or says that it does not reach that far.
pub fn read_at(fd: c_int, to: &mut [u8], offset: u64) -> bool {
    // SAFETY: the call writes at most the length of `to`.
    let read = unsafe { pread(fd, to.as_mut_ptr().cast(), to.len(), offset.cast_signed()) };
    read.cast_unsigned() == to.len()
}

/// Locks a file for this opening of it, until the last descriptor of it is closed, by whatever
/// end of the process; false if another has it.
pub fn lock(fd: c_int) -> bool {
    // SAFETY: no pointers.
    unsafe { flock_c(fd, LOCK_EX_NB) == 0 }
}

/// Ends a lock, whoever has copies of the descriptor.
pub fn unlock(fd: c_int) {
    // SAFETY: no pointers.
    unsafe { flock_c(fd, LOCK_UN) };
}

/// Maps a file, shared with all who map it. The caller has made sure that it is that long.
pub fn map(fd: c_int, bytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: a new mapping, at a place that the kernel chooses.
    mapped(unsafe { mmap(ptr::null_mut(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) })
}

/// Has all pages of a mapping there, so that none has to be fetched in the middle of a mark. Before
/// Linux 5.14 nothing happens.
pub fn populate(at: NonNull<c_void>, bytes: usize) {
    // SAFETY: it changes no byte, and fails where there is no mapping.
    unsafe { madvise(at.as_ptr(), bytes, MADV_POPULATE_WRITE) };
}

/// Ends a mapping.
///
/// # Safety
/// It is one of [`map`] with the same length, and it is not used afterwards.
pub unsafe fn unmap(at: NonNull<c_void>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { munmap(at.as_ptr(), bytes) };
}

/// Memory that is zero again in each child of fork(2); never freed. `None` before Linux 4.14.
pub fn wiped_on_fork() -> Option<NonNull<c_void>> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS;
    // SAFETY: a new mapping, at a place that the kernel chooses.
    let page = mapped(unsafe { mmap(ptr::null_mut(), PAGE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) })?;
    // SAFETY: the mapping is ours alone.
    if unsafe { madvise(page.as_ptr(), PAGE_BYTES, MADV_WIPEONFORK) } == 0 {
        return Some(page);
    }
    // SAFETY: no reference to it exists.
    unsafe { unmap(page, PAGE_BYTES) };
    None
}

fn mapped(at: *mut c_void) -> Option<NonNull<c_void>> {
    // MAP_FAILED is -1.
    if at.addr() == usize::MAX { None } else { NonNull::new(at) }
}

/// A small whole number from the environment; of a program with privileges that its user has
/// not there is none. Without the lock and the memory of `std::env`.
pub fn number_from_environment(name: &CStr) -> Option<c_int> {
    // SAFETY: the name is a string of C.
    let text = NonNull::new(unsafe { secure_getenv(name.as_ptr()) }.cast_mut())?;
    // SAFETY: what the environment holds are strings of C; like any other reader of it, this one
    // relies on no thread changing the environment at this moment.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_bytes();
    if text.is_empty() || text.len() > 9 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |number, digit| number * 10 + c_int::from(digit - b'0')))
}
