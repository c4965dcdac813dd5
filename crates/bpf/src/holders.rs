//! Who had the processors that followed threads waited for: the map that include/holders.h fills.

use libbpf_rs::{Map, MapCore, MapFlags};
use netfathom_model::record::{CpuWaits, Held, Holder};

use crate::mapping::{from_bytes, text};
use crate::watch::abi::copied;

/// As in include/stay.h.
const QUOTA: u32 = u32::MAX;

/// `netfathom` is the number of this process, where that is known.
pub fn named(name: &[u8], pid: u32, is_kernel: bool, netfathom: Option<u32>) -> Holder {
    let name = text(name);
    match pid {
        0 => return Holder::Itself,
        QUOTA => return Holder::Quota,
        _ => {}
    }
    if Some(pid) == netfathom {
        return Holder::Netfathom;
    }
    if is_kernel { Holder::Kernel { name } } else { Holder::Process { name, pid, cgroup: None } }
}

/// The longest first; what the switches do not explain of `waited_ns` comes last. `None` of a map of another layout.
pub fn read(map: &Map<'_>, waited_ns: u64, netfathom: Option<u32>) -> libbpf_rs::Result<Option<CpuWaits>> {
    let mut holders = Vec::new();
    for key in map.keys() {
        let Some(value) = map.lookup(&key, MapFlags::ANY)? else { continue };
        let (Ok(pid), Some(holder)) = (key.as_slice().try_into(), from_bytes::<copied::Holder>(&value))
        else {
            return Ok(None);
        };
        let by = named(&holder.name, u32::from_ne_bytes(pid), holder.kernel > 0, netfathom);
        holders.push(Held { by, ns: holder.ns });
    }
    holders.sort_by_key(|held| std::cmp::Reverse(held.ns));
    let known: u64 = holders.iter().map(|held| held.ns).sum();
    let unknown_ns = waited_ns.saturating_sub(known);
    if unknown_ns > 0 {
        holders.push(Held { by: Holder::Unknown, ns: unknown_ns });
    }
    Ok(Some(CpuWaits { waited_ns, holders }))
}
