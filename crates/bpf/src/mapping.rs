//! The global variables of kernel programs, mapped into this process.
//!
//! Order: what is set before programs are attached, or a run of them is asked for, and what is read after they were
//! detached or the run ended, is ordered by those system calls, and single counters need none: `Relaxed`. Everything
//! else says at its place what orders it; the programs' half is `include/order.h`.

use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

use libbpf_rs::{MapCore, Object};

/// A type that may lie in memory which the kernel writes at any time.
///
/// # Safety
/// Every field that safe code reads must be an atomic, every bit pattern a value, and the
/// layout (`repr(C)`) that of the object's only global variable without initial value.
pub(crate) unsafe trait Atomics {}

/// A struct that is copied between user space and a map or a ring.
///
/// # Safety
/// Every bit pattern must be a value, without padding, and the layout (`repr(C)`) that of the object's struct.
pub(crate) unsafe trait Plain: Copy {}

/// A struct as a program wrote it; `None` if it has another size.
pub(crate) fn from_bytes<T: Plain>(bytes: &[u8]) -> Option<T> {
    // SAFETY: the length was checked, the read may be unaligned, and every bit pattern is a value.
    (bytes.len() == size_of::<T>()).then(|| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// As the kernel writes it: it ends at a zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// A struct as a program reads it.
pub(crate) fn as_bytes<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: the bytes of one value, all initialized, as it has no padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// The types that `build/layout.rs` wrote for a set of programs.
macro_rules! abi {
    ($set:literal) => {
        // Fields that only the programs use are there for their place.
        #[allow(dead_code)]
        pub(crate) mod abi {
            include!(concat!(env!("OUT_DIR"), "/", $set, "_abi.rs"));
        }
    };
}
pub(crate) use abi;

/// The map behind an object's global variables (`.bss`), mapped into this process.
pub(crate) struct Mapping<T> {
    shared: NonNull<UnsafeCell<T>>,
}

// SAFETY: all access goes through atomics.
unsafe impl<T: Atomics> Send for Mapping<T> {}
// SAFETY: as above.
unsafe impl<T: Atomics> Sync for Mapping<T> {}

impl<T: Atomics> Mapping<T> {
    /// Maps the global variables of a loaded object.
    ///
    /// # Errors
    /// When they are not as long as a `T`, which then is not their type, or cannot be mapped.
    pub fn of_globals(object: &Object) -> io::Result<Self> {
        let bss = object.maps().find(|m| m.name().to_string_lossy().ends_with(".bss"));
        let bss = bss.filter(|m| m.value_size() as usize == size_of::<T>());
        let bss = bss.ok_or_else(|| io::Error::other("this build was made with another object"))?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory
        // of ours; the result is checked.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                // Faults would fall into the first messages.
                libc::MAP_SHARED | libc::MAP_POPULATE,
                bss.as_fd().as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast())
            .map(|shared| Self { shared })
            .ok_or_else(|| io::Error::other("mapped at 0"))
    }

    pub fn get(&self) -> &T {
        // SAFETY: the mapping lives as long as self, is as long as T (checked when it was
        // made), and T consists of atomics, which may change under a shared reference.
        // The kernel is the other writer.
        unsafe { &*self.shared.as_ref().get() }
    }
}

impl<T> Drop for Mapping<T> {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `of_globals`, and no reference outlives self.
        unsafe { libc::munmap(self.shared.as_ptr().cast(), size_of::<T>()) };
    }
}
