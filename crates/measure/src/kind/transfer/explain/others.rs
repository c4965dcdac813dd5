//! Who had the CPU that this end waited for: by the kernel's switches where they were seen, else as far as /proc shows it.

use netfathom_model::record::{CpuWaits, Held, Holder, Holders, TransferStream};

use super::text::percent;
use super::{Busiest, Host, LEAST_SHARE};

/// Holders that are named, at most.
const MOST_NAMED: usize = 2;

/// What was seen, and what to do first; nothing of a wait that took little of the time. Over loopback (`is_here`) a process may
/// be the other end.
pub(super) fn of(stream: &TransferStream, host: &Host, is_here: bool) -> (Option<String>, String) {
    let waited_ns = stream.calls_took.unwrap_or_default().runqueue_ns;
    if (waited_ns as f64) < LEAST_SHARE * stream.duration_ns as f64 {
        return (None, String::new());
    }
    let Some(waits) = &stream.waits else {
        let busiest = host.busiest.as_ref().filter(|of| of.cpus >= LEAST_SHARE);
        return (busiest.map(ran_most), remedy(busiest.map(|of| Holders::from(&of.by)), &[], host, is_here));
    };
    let most = waits.parts().find(|(by, part)| by.first.is_foreign() && *part >= LEAST_SHARE);
    // Its own threads, or wake-ups of an idle CPU: no other work is in the way.
    let first = most.map_or_else(String::new, |(by, _)| remedy(Some(by), &waits.holders, host, is_here));
    (held(waits), first)
}

/// Such as `rustc (pid 3121) had the CPU for 71.0 % of that wait, the hypervisor for 12.0 %`.
fn held(waits: &CpuWaits) -> Option<String> {
    let much = || waits.parts().filter(|(_, part)| *part >= LEAST_SHARE);
    let is_rest = |by: &Holders<'_>| *by.first == Holder::Others;
    let is_other = |by: &Holders<'_>| by.first.is_foreign() || *by.first == Holder::Netfathom;
    let named = much().filter(|(by, _)| is_other(by) && !is_rest(by));
    let mut named = named.chain(much().filter(|(by, _)| is_rest(by))).take(MOST_NAMED);
    let (by, part) = named.next()?;
    let first = format!("{by} {} for {} of that wait", by.first.had("the CPU"), percent(part));
    let others: String = named.map(|(by, part)| format!(", {by} for {}", percent(part))).collect();
    let rest = match waits.unknown() {
        rest if rest >= LEAST_SHARE => format!("; who had it for {} is unknown", percent(rest)),
        _ => String::new(),
    };
    Some(format!("by the kernel's switches, {first}{others}{rest}"))
}

fn ran_most(busiest: &Busiest) -> String {
    let (by, cpus) = (&busiest.by, percent(busiest.cpus));
    format!(
        "by /proc, of other processes {by} ran most, {cpus} of a CPU; ttcp --explain as root shows who had the CPU of this end"
    )
}

fn remedy(by: Option<Holders<'_>>, held: &[Held], host: &Host, is_here: bool) -> String {
    if let Some(end) = by.and_then(|by| other_end(by.first, host)) {
        let moving = Holders::from(end).moving(&end.to_string(), &[], "this end");
        return format!("both ends share the CPUs of this host: {moving}, or to another host; ");
    }
    match by.map(|by| by.most(held)).map(|by| (by, by.first)) {
        // No machine goes on without the first process.
        Some((by, Holder::Process { pid: 2.., .. })) => {
            let (one, them) = if by.count > 1 { ("one", "them") } else { ("it", "it") };
            let may_be_it = is_here && host.other_end.is_empty();
            let unless = if may_be_it { format!(" unless {one} is the other end") } else { String::new() };
            format!("stop {by}{unless}, or {}; ", by.moving(them, held, "this end"))
        }
        Some((_, Holder::Quota)) => format!("{}; ", host.raise_quota),
        Some((_, Holder::Hypervisor)) => "give this virtual machine CPUs of its own; ".into(),
        _ => "stop other work on the CPUs of this end; ".into(),
    }
}

/// The process at the other end that a holder is: by its number, or by its name, which what it forks has too.
fn other_end<'a>(by: &Holder, host: &'a Host) -> Option<&'a Holder> {
    let Holder::Process { name, pid: pid @ (0 | 2..), .. } = by else { return None };
    let is_it = |end: &&Holder| match end {
        Holder::Process { name: its, pid: of, .. } => of == pid || its == name,
        _ => false,
    };
    host.other_end.iter().find(is_it)
}
