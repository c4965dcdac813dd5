//! Who has the processors that the threads of a load need.

use netfathom_bpf::contention::{Account, Detail, Followed, Interrupt};
use netfathom_model::record::{self, CpuWaits, Held, Holder, LoadThread};
use netfathom_sys::clock::monotonic_ns;

use crate::ground::environment::is_virtual;

/// Processes with a name in a record, for each thread; the others are summed.
const MOST_NAMED: usize = 64;

/// Observes threads until it is dropped.
pub struct Contention(netfathom_bpf::contention::Contention);

impl Contention {
    /// `None` where this kernel or the privileges do not allow it: nothing else depends on it, and `netfathom host` shows
    /// why.
    pub fn begin() -> Option<Self> {
        Self::of(true)
    }

    /// The same without interrupts, which takes nothing from a thread while it has its processor.
    pub fn of_switches() -> Option<Self> {
        Self::of(false)
    }

    fn of(interrupts: bool) -> Option<Self> {
        let detail = Detail { interrupts, pauses: is_virtual() };
        netfathom_bpf::contention::Contention::attach(detail).ok().map(Self)
    }

    /// Takes the program away from its hook until [`Self::again`].
    pub fn rested(mut self) -> Self {
        self.0.detach();
        self
    }

    /// Begins anew, of no thread: much faster than loading. `None` as of [`Self::begin`].
    pub fn again(mut self) -> Option<Self> {
        self.0.again().ok().map(|()| self)
    }

    /// Whether something foreign had the processor of a thread of the load within that time, CLOCK_MONOTONIC.
    pub fn is_disturbed(&self, cpu: usize, from_ns: u64, until_ns: u64) -> bool {
        self.0.is_disturbed(cpu, from_ns, until_ns)
    }

    /// The calling thread, wherever it runs.
    pub fn follow(&self) -> Option<Followed<'_>> {
        self.0.follow()
    }

    /// The calling thread, which is bound to this processor.
    pub fn observe(&self, cpu: usize) -> Option<Observed<'_>> {
        let followed = self.follow()?;
        Some(Observed { followed, cpu, since_ns: monotonic_ns() })
    }
}

/// A thread that is observed until the value is dropped.
pub struct Observed<'a> {
    followed: Followed<'a>,
    cpu: usize,
    since_ns: u64,
}

impl Observed<'_> {
    /// Asked by the thread itself: it has the processor now.
    pub fn account(&self, thread: LoadThread) -> Option<record::Contention> {
        let account = self.followed.account().ok()?;
        let holders = holders(&account);
        Some(record::Contention {
            thread,
            cpu: self.cpu,
            span_ns: monotonic_ns() - self.since_ns,
            waited_ns: holders.iter().map(|held| held.ns).sum(),
            holders,
            stolen_ns: account.stolen_running_ns,
            interrupts: interrupts(&account, |interrupt| interrupt.running_ns),
            stopped_ns: account.stopped_ns,
            blocked_ns: account.blocked_ns,
        })
    }
}

/// What the calling thread, which is followed, waited for processors, and who had them.
pub fn waits(followed: &Followed<'_>) -> Option<CpuWaits> {
    let holders = holders(&followed.account().ok()?);
    Some(CpuWaits { waited_ns: holders.iter().map(|held| held.ns).sum(), holders })
}

/// All parts of the wait, the longest first.
fn holders(account: &Account) -> Vec<Held> {
    let (mut held, mut others_ns, mut named) = (Vec::new(), 0, 0);
    for holder in &account.holders {
        let is_named = !matches!(holder.by, Holder::Idle | Holder::Netfathom);
        if is_named && named == MOST_NAMED {
            others_ns += holder.ns;
            continue;
        }
        named += usize::from(is_named);
        held.push(holder.clone());
    }
    let without_name = [
        (Holder::Others, others_ns),
        (Holder::Hypervisor, account.stolen_waiting_ns),
        (Holder::Quota, account.throttled_ns),
    ];
    held.extend(without_name.map(|(by, ns)| Held { by, ns }));
    held.extend(interrupts(account, |interrupt| interrupt.waiting_ns));
    let seen_ns: u64 = held.iter().map(|h| h.ns).sum();
    held.push(Held { by: Holder::Unknown, ns: account.waited_ns.saturating_sub(seen_ns) });
    held.retain(|h| h.ns > 0);
    held.sort_by_key(|h| std::cmp::Reverse(h.ns));
    held
}

/// By what interrupted, the longest first.
fn interrupts(account: &Account, ns: impl Fn(&Interrupt) -> u64) -> Vec<Held> {
    let mut named: Vec<(Holder, u64)> =
        account.interrupts.iter().map(|i| (i.source.clone(), ns(i))).collect();
    named.retain(|(_, ns)| *ns > 0);
    named.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let rest = named.split_off(named.len().min(MOST_NAMED));
    let rest_ns: u64 = rest.iter().map(|(_, ns)| ns).sum();
    let rest = (rest_ns > 0).then_some((Holder::Interrupts, rest_ns));
    named.into_iter().chain(rest).map(|(by, ns)| Held { by, ns }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_wait_add_up_and_the_shortest_have_no_names() {
        let by = |pid| match pid {
            0 => Holder::Idle,
            7 => Holder::Netfathom,
            8 => Holder::Kernel { name: "p8".into() },
            1001 => Holder::Unnumbered { name: "p1001".into() },
            pid => Holder::Process { name: format!("p{pid}"), pid, cgroup: None },
        };
        let process = |pid| Held { by: by(pid), ns: if pid == 0 { 7 } else { 100 } };
        let softirq = Holder::Softirq { vector: "NET_RX".into() };
        let device = Holder::Interrupt { name: "eth0".into() };
        let account = Account {
            waited_ns: 7100,
            holders: [7, 8].into_iter().chain(1000..1066).chain([0]).map(process).collect(),
            stolen_waiting_ns: 50,
            throttled_ns: 40,
            interrupts: vec![
                Interrupt { source: softirq.clone(), waiting_ns: 2, running_ns: 5 },
                Interrupt { source: device.clone(), waiting_ns: 1, running_ns: 9 },
            ],
            ..Account::default()
        };
        let held = holders(&account);
        assert_eq!(held.iter().map(|h| h.ns).sum::<u64>(), account.waited_ns);
        let of = |by: &Holder| held.iter().find(|h| h.by == *by).map(|h| h.ns);
        assert_eq!((of(&Holder::Others), of(&Holder::Idle)), (Some(300), Some(7)));
        assert_eq!((of(&Holder::Hypervisor), of(&Holder::Quota)), (Some(50), Some(40)));
        assert_eq!((of(&softirq), of(&device)), (Some(2), Some(1)));
        assert_eq!((of(&Holder::Unknown), of(&Holder::Netfathom)), (Some(200), Some(100)));
        let ran = interrupts(&account, |interrupt| interrupt.running_ns);
        assert_eq!(ran, [Held { by: device, ns: 9 }, Held { by: softirq, ns: 5 }]);
        assert_eq!([8, 1000, 1001].map(|pid| of(&by(pid))), [Some(100); 3]);
    }
}
