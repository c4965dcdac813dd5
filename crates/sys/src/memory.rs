//! Memory: the size of a page; and its end, a sentence and an exit status where the standard library aborts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// Of a command that failed.
static STATUS: AtomicI32 = AtomicI32::new(1);

/// Has this process exit with another status when there is no memory left.
pub fn exit_with(status: i32) {
    STATUS.store(status, Relaxed);
}

/// The system's allocator. Where that has no memory the process says so and exits.
pub struct Allocator;

// SAFETY: all is done by the system's allocator, which upholds the contract; a null pointer is never returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract, which is the same.
        allocated(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        allocated(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        allocated(unsafe { System.realloc(at, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

fn allocated(at: *mut u8, bytes: usize) -> *mut u8 {
    if at.is_null() { exit(bytes) } else { at }
}

/// Allocates nothing, and runs nothing that could.
#[cold]
fn exit(bytes: usize) -> ! {
    /// The digits of the largest number.
    const MOST_DIGITS: usize = 20;
    let (mut digits, mut at, mut left) = ([0; MOST_DIGITS], MOST_DIGITS, bytes);
    while at == MOST_DIGITS || left > 0 {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    say(b"netfathom: out of memory: ");
    say(&digits[at..]);
    say(b" bytes could not be allocated; free some memory, or raise ulimit -v\n");
    // SAFETY: no pointers. Destructors and handlers are left out on purpose: the kernel takes back all that is ours.
    unsafe { libc::_exit(STATUS.load(Relaxed)) }
}

fn say(text: &[u8]) {
    // SAFETY: the pointer and the length are those of `text`, which is only read.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

pub fn page_bytes() -> usize {
    // SAFETY: no pointers; Linux always has it.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}
