//! Who had the CPUs that followed threads waited for: the maps that include/holders.h fills, for `watch` and `tree`, as their
//! threads move between CPUs. Those of the load are bound to theirs: `contention` (docs/decisions/0035-watch-holders.md).

use std::ffi::OsStr;
use std::sync::OnceLock;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var, VarSecInfo};
use libbpf_rs::{MapCore, MapFlags, Object};
use netfathom_model::record::{CpuWaits, Held, Holder};

use crate::libbpf_log;
use crate::mapping::{as_bytes, from_bytes, text};
use crate::set::{Set, SetError};
use crate::watch::abi::copied;

/// As in include/stay.h.
const ITSELF: u32 = 0;
const QUOTA: u32 = u32::MAX;
const HYPERVISOR: u32 = QUOTA - 1;
const SOFTIRQS: u32 = QUOTA - 2;
const INTERRUPTS: u32 = QUOTA - 3;
const SEVERAL: u32 = QUOTA - 4;
pub(crate) const UNNUMBERED: u32 = QUOTA - 5;
/// In place of a process.
const NO_PROCESSES: [u32; 5] = [ITSELF, QUOTA, HYPERVISOR, SOFTIRQS, INTERRUPTS];

/// By number; those that find no room there, by name.
const MAPS: [&str; 2] = ["holders", "named_holders"];

/// Where the kernel's types place the variables that each CPU has.
const SECTION: &str = ".data..percpu";

/// From a CPU's run queue to the kernel's sums of that CPU's time, in bytes, read once; 0 where it is not known.
///
/// Programs cannot name either on kernels without CONFIG_KALLSYMS_ALL, but a task has the address of its run queue.
pub fn sums_from_rq() -> i64 {
    static DISTANCE: OnceLock<i64> = OnceLock::new();
    *DISTANCE.get_or_init(|| distance().unwrap_or(0))
}

fn distance() -> Option<i64> {
    libbpf_log::take_over();
    let btf = Btf::from_vmlinux().ok()?;
    let section: DataSec<'_> = btf.type_by_name(SECTION)?;
    let place = |name: &str| {
        let is_it = |at: &VarSecInfo| {
            let var: Option<Var<'_>> = btf.type_by_id(at.ty);
            var.is_some_and(|var| var.name() == Some(OsStr::new(name)))
        };
        section.iter().find(is_it).map(|at| i64::from(at.offset))
    };
    Some(place("kernel_cpustat")? - place("runqueues")?)
}

/// `pid` is that of the PID namespace of this process, but for threads of the kernel: they have theirs in the first one.
pub fn named(name: &[u8], pid: u32, is_kernel: bool) -> Holder {
    let name = text(name);
    match pid {
        ITSELF => Holder::Itself,
        QUOTA => Holder::Quota,
        HYPERVISOR => Holder::Hypervisor,
        SOFTIRQS => Holder::Softirqs,
        INTERRUPTS => Holder::Interrupts,
        _ if is_kernel => Holder::Kernel { name },
        SEVERAL => Holder::Process { name, pid: 0, cgroup: None },
        UNNUMBERED => Holder::Unnumbered { name },
        _ if pid == std::process::id() => Holder::Netfathom,
        _ => Holder::Process { name, pid, cgroup: None },
    }
}

/// Forgets all. What is no process has its place before processes take them all.
pub fn clear(set: &Set, object: &Object) -> Result<(), SetError> {
    for name in MAPS {
        let map = set.map(object, name)?;
        map.keys().try_for_each(|key| map.delete(&key)).map_err(set.step("clear"))?;
    }
    let map = set.map(object, MAPS[0])?;
    let place = |number: u32| {
        let holder = copied::Holder { ns: 0, number, kernel: 0, name: [0; copied::Holder::NAME] };
        map.update(&number.to_ne_bytes(), as_bytes(&holder), MapFlags::ANY)
    };
    NO_PROCESSES.into_iter().try_for_each(place).map_err(set.step("clear"))
}

/// The longest first; what the switches do not explain of the time waited comes last. A switch counts that time before its
/// holders: it is read after them, so that they are never more.
pub fn read(
    set: &Set,
    object: &Object,
    waited_ns: impl FnOnce() -> Result<u64, SetError>,
) -> Result<CpuWaits, SetError> {
    let mut holders = Vec::new();
    for name in MAPS {
        let map = set.map(object, name)?;
        for key in map.keys() {
            let Some(value) = map.lookup(&key, MapFlags::ANY).map_err(set.step("ask"))? else { continue };
            let holder: copied::Holder = from_bytes(&value).ok_or_else(|| set.abi(name))?;
            let by = named(&holder.name, holder.number, holder.kernel > 0);
            holders.push(Held { by, ns: holder.ns });
        }
    }
    holders.retain(|held| held.ns > 0);
    holders.sort_by_key(|held| std::cmp::Reverse(held.ns));
    let known: u64 = holders.iter().map(|held| held.ns).sum();
    let waited_ns = waited_ns()?;
    let unknown_ns = waited_ns.saturating_sub(known);
    if unknown_ns > 0 {
        holders.push(Held { by: Holder::Unknown, ns: unknown_ns });
    }
    Ok(CpuWaits { waited_ns, holders })
}

#[cfg(test)]
mod tests {
    use netfathom_testkit::skip;

    use super::*;

    #[test]
    fn a_number_of_the_kernels_own_is_no_process_here() {
        let own = std::process::id();
        let name = || "sh".to_owned();
        assert_eq!(named(b"sh", own, false), Holder::Netfathom);
        assert_eq!(named(b"sh", own, true), Holder::Kernel { name: name() });
        assert_eq!(named(b"sh", UNNUMBERED, false), Holder::Unnumbered { name: name() });
        assert_eq!(named(b"sh", SEVERAL, true), Holder::Kernel { name: name() });
    }

    /// Apart by less than a CPU has for all of its variables.
    #[test]
    fn this_kernel_shows_where_it_counts_softirqs() {
        let distance = sums_from_rq();
        let btf = Btf::from_vmlinux().ok();
        if btf.is_none_or(|btf| btf.type_by_name::<DataSec<'_>>(SECTION).is_none()) {
            skip!("needs BTF with the variables that each CPU has");
        }
        assert!(distance != 0 && distance % 8 == 0 && distance.abs() < 1 << 24, "{distance}");
    }
}
