//! The process that is watched, and its sockets.

use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{fs, io};

use netfathom_bpf::watch::Watch;
use netfathom_model::record::WatchedProcess;
use netfathom_sys::process::{Process, Waited, lives, sockets, wait_for_one};
use netfathom_sys::socket::{is_tcp, is_udp};

use super::WatchRunError;

pub(super) struct Watched {
    pid: u32,
    process: Process,
    /// Sockets that were looked at, by their inodes.
    known: BTreeSet<u64>,
    pub unmarked: u64,
}

impl Watched {
    pub fn open(pid: u32) -> Result<Self, WatchRunError> {
        let failed = |source| WatchRunError::Process { pid, source };
        if !lives(pid) {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "there is none of that number")));
        }
        let process = Process::open(pid).map_err(failed)?;
        sockets(pid).map_err(failed)?;
        Ok(Self { pid, process, known: BTreeSet::new(), unmarked: 0 })
    }

    pub fn name(&self) -> WatchedProcess {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default();
        WatchedProcess { pid: self.pid, name: name.trim_end().to_owned() }
    }

    /// Has the sockets watched that it made since the last time. Those that its listeners accept are watched already.
    pub fn mark(&mut self, watch: &mut Watch) -> Result<(), WatchRunError> {
        // Of a process that has ended there are none.
        let now = sockets(self.pid).unwrap_or_default();
        self.known.retain(|inode| now.iter().any(|socket| socket.0 == *inode));
        for (inode, number) in now {
            if self.known.insert(inode) && !self.mark_one(watch, number)? {
                self.unmarked += 1;
            }
        }
        Ok(())
    }

    /// False of a socket that could not be watched.
    fn mark_one(&self, watch: &mut Watch, number: RawFd) -> Result<bool, WatchRunError> {
        match self.process.descriptor(number) {
            Ok(socket) if is_tcp(&socket) => Ok(watch.mark(&socket).is_ok()),
            Ok(socket) if is_udp(&socket) => Ok(watch.mark_datagrams(&socket).is_ok()),
            Ok(_) => Ok(true),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Err(WatchRunError::Process { pid: self.pid, source })
            }
            // Closed in the meantime.
            Err(_) => Ok(true),
        }
    }
}

/// Waits until the process has ended, which is true, the time is up or `stop` is set; without a process for the latter.
pub(super) fn wait(watched: Option<&Watched>, limit: Duration, stop: &AtomicBool) -> Result<bool, io::Error> {
    let one = watched.map(|watched| std::slice::from_ref(&watched.process)).unwrap_or_default();
    Ok(wait_for_one(one, limit, stop)? == Waited::Ended)
}
