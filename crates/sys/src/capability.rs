//! What the calling thread is allowed to do, and giving it up.

use std::collections::BTreeSet;
use std::fmt;

use caps::{CapSet, CapsHashSet, errors::CapsError};

/// A privilege that some part of netfathom needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Devices, addresses, XDP and tc programs.
    NetAdmin,
    /// Raw and packet sockets.
    NetRaw,
    /// Network namespaces.
    SysAdmin,
    /// Kernel programs and their maps (since Linux 5.8; before, [`Self::SysAdmin`]).
    Bpf,
    /// Programs on tracepoints (since Linux 5.8; before, [`Self::SysAdmin`]).
    Perfmon,
}

impl Capability {
    pub const ALL: [Self; 5] = [Self::NetAdmin, Self::NetRaw, Self::SysAdmin, Self::Bpf, Self::Perfmon];

    /// As the kernel's manual writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What could not be done with capabilities, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}")]
pub struct CapabilityError {
    pub action: &'static str,
    #[source]
    pub source: CapsError,
}

impl CapabilityError {
    fn new(action: &'static str) -> impl FnOnce(CapsError) -> Self {
        move |source| Self { action, source }
    }
}

/// The capabilities that are in effect for the calling thread, of those that netfathom uses.
/// Holding one does not promise that the kernel, or what confines us, allows what it is for.
pub fn effective() -> Result<BTreeSet<Capability>, CapabilityError> {
    let held: BTreeSet<String> = held(CapSet::Effective)?.iter().map(ToString::to_string).collect();
    Ok(Capability::ALL.into_iter().filter(|c| held.contains(c.name())).collect())
}

/// Whether programs that trace may be loaded, as far as capabilities decide it: CAP_SYS_ADMIN alone does, too.
pub fn may_trace() -> bool {
    let held = effective().unwrap_or_default();
    held.contains(&Capability::SysAdmin)
        || held.contains(&Capability::Bpf) && held.contains(&Capability::Perfmon)
}

fn held(set: CapSet) -> Result<CapsHashSet, CapabilityError> {
    caps::read(None, set).map_err(CapabilityError::new("read the capabilities"))
}

/// Gives up every capability for good.
///
/// Limits: it holds for the calling thread, the threads it starts later and the programs
/// they run, since capabilities belong to threads; threads that run already keep theirs.
/// Descriptors that are open stay usable. A thread of user 0 still owns the files of root.
pub fn drop_all() -> Result<(), CapabilityError> {
    keep_only(&[])
}

/// Gives up for good, as [`drop_all`] does, every capability but these, by their names in the kernel's manual. Of these,
/// what is not held is not gained.
pub fn keep_only(kept: &[&str]) -> Result<(), CapabilityError> {
    const GIVE_UP: &str = "give up capabilities";
    let kept: Result<CapsHashSet, CapsError> =
        kept.iter().map(|name| name.parse::<caps::Capability>()).collect();
    let kept = kept.map_err(CapabilityError::new(GIVE_UP))?;
    // The bounding set keeps a program of user 0 from getting them back. It comes first, for
    // it can only be changed with CAP_SETPCAP, which the next lines give up.
    if held(CapSet::Effective)?.contains(&caps::Capability::CAP_SETPCAP) {
        for &other in held(CapSet::Bounding)?.difference(&kept) {
            caps::drop(None, CapSet::Bounding, other).map_err(CapabilityError::new(GIVE_UP))?;
        }
    }
    // No effective or ambient capability can stay that is not permitted or inheritable.
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        let rest = &held(set)? & &kept;
        caps::set(None, set, &rest).map_err(CapabilityError::new(GIVE_UP))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_gone_for_later_threads_too() {
        let before = effective().unwrap();
        // A thread of its own: the others of this test program keep theirs.
        let after = std::thread::spawn(|| {
            drop_all().unwrap();
            drop_all().unwrap();
            let heirs = std::thread::spawn(|| effective().unwrap()).join().unwrap();
            (effective().unwrap(), heirs, caps::read(None, CapSet::Permitted).unwrap().len())
        });
        assert_eq!(after.join().unwrap(), (BTreeSet::new(), BTreeSet::new(), 0));
        assert_eq!(effective().unwrap(), before);
    }

    #[test]
    fn what_is_kept_stays_if_it_was_there() {
        let before = effective().unwrap();
        let after = std::thread::spawn(|| {
            keep_only(&["CAP_BPF", "CAP_SYS_ADMIN"]).unwrap();
            (effective().unwrap(), held(CapSet::Permitted).unwrap().len())
        });
        let kept = [Capability::Bpf, Capability::SysAdmin];
        let stays: BTreeSet<Capability> = before.into_iter().filter(|held| kept.contains(held)).collect();
        let (after, permitted) = after.join().unwrap();
        assert_eq!(after, stays);
        assert!(permitted <= kept.len());
        assert!(keep_only(&["CAP_OF_NOTHING"]).is_err());
    }
}
