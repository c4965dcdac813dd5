//! Who had the CPU that the reader waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{Held, Holder, Holders, WatchResult};
use netfathom_model::verdict::Finding;
use netfathom_sys::process;
use netfathom_sys::socket::{local_inodes, tcp_clients};

use super::{FEWEST, MUCH, Words};
use crate::ground::environment::cgroup::raise_quota;
use crate::kind::watch::judge::{MOST_UNTIMED, held_by, held_by_netfathom};

/// From that part of the waits on, a holder that is not known is worth a word.
const MUCH_UNKNOWN: f64 = 0.05;
/// From that part of the time to receive on, what takes a CPU from whoever has it is worth a word.
const MUCH_TAKEN: f64 = 0.05;
/// The name of a holder does not show that it is one. The CPU that sends it the answer wakes it soonest.
const CLIENTS: &str =
    "; leave a client that waits for each answer where it is: on another CPU it may be woken later";

/// Then messages find no room as their reader may not run, whatever room there is.
pub(super) fn is_throttled(result: &WatchResult) -> bool {
    result.total.n >= FEWEST && held_by(result, |by| *by == Holder::Quota) > MUCH
}

/// Without somebody to name it is the wake-ups of an idle CPU.
pub(super) fn runqueue(result: &WatchResult) -> Option<Words> {
    let is_netfathom = |by: &Holders<'_>| *by.first == Holder::Netfathom;
    let first = result.waits.parts().find(|(by, _)| by.first.is_outside() || is_netfathom(by));
    if first.is_some_and(|(by, _)| is_netfathom(&by)) && held_by_netfathom(result) > MOST_UNTIMED {
        // The verdict names it.
        return None;
    }
    let takes = |by: &Holder| TAKERS.iter().find(|(is, ..)| is(by));
    let outside = || result.waits.parts().filter(|(by, _)| by.first.is_outside());
    let (longest, _) = outside().next()?;
    if takes(longest.first).is_some_and(|(is, ..)| held_by(result, is) > MUCH_TAKEN) {
        // It has a finding of its own.
        return None;
    }
    let (by, part) = outside().find(|(by, _)| takes(by.first).is_none())?;
    let part = print::percent(part);
    let holders = &result.waits.holders;
    let most = by.most(holders);
    let moving = most.moving(&most.to_string(), holders, "the application");
    let (of_itself, remedy) = match (by.first, &result.reader) {
        _ if result.plan.target == WatchTarget::All => (
            "",
            "see who else had the CPUs (-v): stop what may wait, or move it to idle CPUs (`taskset -acp CPUS PID`)".into(),
        ),
        (Holder::Process { name, .. }, _) if is_application(name, result) => (
            ", the application itself,",
            "give the application more CPUs, or run fewer of its threads or processes at a time".into(),
        ),
        (by, _) if is_client(by, result) => (
            ", perhaps a client of the watched port,",
            format!(
                "leave {most} where it is if it waits for each answer: on another CPU it may be woken later; otherwise {moving}"
            ),
        ),
        // The first process stays where it is.
        (Holder::Process { name, pid: 0 | 2.., .. }, Some(reader)) if *name == reader.name => (
            ", of the same name,",
            format!(
                "if part of the application, run fewer of its processes at a time; otherwise {moving}{CLIENTS}"
            ),
        ),
        (Holder::Process { pid: 0 | 2.., .. }, _) => {
            ("", format!("{moving}, or give the application a CPU of its own (taskset, cpuset){CLIENTS}"))
        }
        (Holder::Unnumbered { name }, _) => (
            "",
            format!(
                "run netfathom with the PIDs of the host (docker run --pid=host, hostPID: true) to move {name}, or give the application a CPU of its own (taskset, cpuset){CLIENTS}"
            ),
        ),
        (Holder::Quota, reader) => ("", raise_quota(reader.as_ref().map(|of| of.pid))),
        _ => ("", "give the application a CPU of its own (taskset, cpuset)".into()),
    };
    let rest = match result.waits.unknown() {
        rest if rest >= MUCH_UNKNOWN => format!("; who had it for {} is unknown", print::percent(rest)),
        _ => String::new(),
    };
    let (named, had) = (by.named(holders), by.first.had("the CPU"));
    let cause =
        format!("{named}{of_itself} {had} for {part} of the time that its reading threads waited{rest}");
    Some(("messages wait as their reader waits for a CPU", cause, remedy))
}

/// Whether it has a connection to a port of that number, on whichever host, as far as it still runs.
fn is_client(by: &Holder, result: &WatchResult) -> bool {
    matches!(by, Holder::Process { pid, .. } if has_socket(*pid, result, &mut Tables::new(), tcp_clients))
}

/// Sockets of the watched port, by network namespace: hundreds of processes may share a long table.
type Tables = BTreeMap<Option<PathBuf>, BTreeSet<u64>>;

/// Whether it still runs, and has one of these sockets of the watched port.
fn has_socket(
    pid: u32,
    result: &WatchResult,
    tables: &mut Tables,
    of_port: fn(&str, u16) -> BTreeSet<u64>,
) -> bool {
    let WatchTarget::Port(port) = result.plan.target else { return false };
    let own = process::sockets(pid).unwrap_or_default();
    // Most that had a CPU have none.
    if own.is_empty() || !process::proc_is_ours() {
        return false;
    }
    let namespace = fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let meant = tables.entry(namespace).or_insert_with(|| of_port(&pid.to_string(), port));
    own.iter().any(|(inode, _)| meant.contains(inode))
}

/// Whether processes of this name are the application: those that are known to be had most of the time of that name. Programs see
/// few of the processes that a server forks; each has a socket of the watched port.
fn is_application(name: &str, result: &WatchResult) -> bool {
    let of_name = |held: &&Held| matches!(&held.by, Holder::Process { name: of, .. } if of == name);
    // All processes of the name are watched, or the target is refused.
    let all_are = matches!(result.plan.target, WatchTarget::Name(_))
        && result.reader.as_ref().is_some_and(|of| of.name == name);
    let mut tables = Tables::new();
    let mut serves = |pid| result.is_used_by(pid) || has_socket(pid, result, &mut tables, local_inodes);
    let mut is_known = |by: &Holder| matches!(by, Holder::Process { pid, .. } if serves(*pid));
    let held = result.waits.holders.iter().filter(of_name);
    let (known_ns, all_ns) = held.fold((0u64, 0u64), |(known, all), held| {
        let own_ns = if is_known(&held.by) { held.ns } else { 0 };
        (known.saturating_add(own_ns), all.saturating_add(held.ns))
    });
    all_are || known_ns > all_ns / 2
}

/// What takes a CPU from whoever has it: which holders, what is seen, its cause, its remedy.
type Taker = (fn(&Holder) -> bool, &'static str, &'static str, &'static str);

const TAKERS: [Taker; 2] = [
    (
        |by| matches!(by, Holder::Softirqs | Holder::Interrupts),
        "messages wait as softirqs or interrupts take the CPU that their reader waits for",
        "softirqs or interrupts of a device run on the reader's own CPU (counts by kind: /proc/softirqs, /proc/interrupts)",
        "move NET_RX and the device's interrupts to another CPU: RPS (/sys/class/net/DEVICE/queues/rx-N/rps_cpus), or the affinity of interrupts (/proc/irq/N/smp_affinity_list); or move the reader (taskset); TIMER, HRTIMER, SCHED and RCU run on every CPU: nothing to move",
    ),
    (
        |by| matches!(by, Holder::Hypervisor),
        "messages wait as the hypervisor takes the CPU that their reader waits for",
        "this virtual machine shares its CPUs with others",
        "give this virtual machine CPUs of its own, or move it to a host with less work",
    ),
];

/// Each with its mean time of a message.
pub(super) fn taken(result: &WatchResult) -> impl Iterator<Item = (f64, Finding)> {
    TAKERS.iter().filter_map(move |&(is, seen, cause, remedy)| {
        let part = held_by(result, is);
        let took = result.waits.parts().filter(|(by, _)| is(by.first));
        let took: Vec<String> = took.map(|(by, part)| format!("{by} {}", print::percent(part))).collect();
        let evidence = format!(
            "{} of the time that its reading threads waited for a CPU, {} of the time of its messages",
            took.join(" and "),
            print::percent(part)
        );
        let is_much = result.total.n >= FEWEST && part > MUCH_TAKEN;
        let finding = Finding { seen: seen.into(), cause: cause.into(), evidence, remedy: remedy.into() };
        is_much.then_some((part * result.total.mean_ns, finding))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    use netfathom_model::record::{CpuWaits, WatchStage};

    use super::super::tests::result;
    use super::*;

    /// What to do about a process that has this socket alone, where that port is watched.
    fn remedy(port: u16, socket: impl Into<OwnedFd>) -> String {
        let mut holder = Command::new("sleep").arg("60").stdin(Stdio::from(socket.into())).spawn().unwrap();
        let mut result = result(WatchStage::Runqueue, 20_000, 10, 10_000);
        result.plan.target = WatchTarget::Port(port);
        let by = Holder::Process { name: "holder".into(), pid: holder.id(), cgroup: None };
        result.waits = CpuWaits { waited_ns: 100, holders: vec![Held { by, ns: 60 }] };
        let remedy = runqueue(&result).unwrap().2;
        holder.kill().unwrap();
        holder.wait().unwrap();
        remedy
    }

    #[test]
    fn a_process_is_known_by_its_sockets_of_the_watched_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let client = TcpStream::connect(at).unwrap();
        let client = remedy(at.port(), client);
        assert!(client.starts_with("leave holder (pid "), "a client that waits for each answer: {client}");
        // As of a server that forks for each connection.
        let accepted = remedy(at.port(), listener.accept().unwrap().0);
        assert!(accepted.starts_with("give the application more CPUs"), "{accepted}");
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        let datagrams = remedy(port, udp);
        assert!(datagrams.starts_with("give the application more CPUs"), "{datagrams}");
        let other = remedy(at.port(), TcpListener::bind("127.0.0.1:0").unwrap());
        assert!(other.starts_with("move holder "), "{other}");
    }
}
