//! Numbers that cannot be guessed.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Random bytes of the kernel; up to 256 at once, which it never divides.
///
/// # Errors
/// That of getrandom(2), which a filter of system calls may refuse.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256) };
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
