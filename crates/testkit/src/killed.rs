//! Programs that tests start.

use std::io::{self, Read};
use std::ops::{Deref, DerefMut};
use std::process::Child;
use std::thread;

/// A program that ends with this value, if it has not by itself.
#[derive(Debug)]
pub struct Killed(pub Child);

impl Killed {
    /// Waits until it prints one of these to its standard error, which is read on to its end.
    ///
    /// # Errors
    /// All that it printed, where it ends before.
    pub fn await_line(&mut self, begun: &[&str]) -> io::Result<()> {
        let mut stderr = self.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (mut text, mut byte) = (Vec::new(), [0]);
        while !begun.iter().any(|begun| String::from_utf8_lossy(&text).contains(begun)) {
            if stderr.read(&mut byte)? == 0 {
                return Err(io::Error::other(String::from_utf8_lossy(&text).into_owned()));
            }
            text.push(byte[0]);
        }
        // Kept open, so that what it prints at its end does not kill it.
        thread::spawn(move || io::copy(&mut stderr, &mut io::sink()));
        Ok(())
    }
}

impl Deref for Killed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Killed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = self.wait();
    }
}
