//! Who had the processors that the threads of a load needed.

use netfathom_model::record::{Contention, CpuWaits, Held, Holder, Holders, LoadThread};

use super::number;
use crate::page::{Page, Table, shortened};

/// Waits below this part of a thread's time are what every wake-up takes.
const LEAST_WAITED: f64 = 0.01;
/// Of a stack time: below that it is no answer to where the time goes.
const LEAST_OF_STACK_TIME: f64 = 0.1;
/// Of what messages waited. The kernel's account of a thread leaves out most of its wake-ups, which messages wait for.
const LEAST_OF_STAGE: f64 = 0.1;
/// A holder with less of a wait is left to the table.
const LEAST_HELD: f64 = 0.05;
/// The same of all threads of another program, which wait for each other too.
const LEAST_HELD_OF_ALL: f64 = 0.2;

/// Holders with less of a wait are a row together.
const LEAST_ROW: f64 = 0.005;
/// What took less of a thread's time is left out.
const LEAST_LOSS: f64 = 1e-4;

/// Letters of a holder: a name is as long as the kernel keeps one, unless a record is forged.
const LONGEST_HOLDER: usize = 32;

/// What interrupts the load, or stops it, below this part of a thread's time is left to the table.
const LEAST_TAKEN: f64 = 0.05;

/// What messages waited for the reader's processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Its part in the time to receive them.
    pub share: f64,
    /// All messages together.
    pub ns: f64,
}

/// Who kept the load waiting, where that is worth a line.
pub(super) fn remarks<'a>(
    threads: impl Iterator<Item = &'a Contention>,
    of_receiving: Option<Waiting>,
) -> Vec<String> {
    let threads = Contention::pooled(threads);
    let remarks = threads.iter().flat_map(|thread| [remark(thread, of_receiving), taken(thread)]);
    remarks.flatten().collect()
}

/// Who had the CPUs of the threads longest while these waited, of others than the load: `perl (pid 3121)`.
pub(super) fn longest<'a>(threads: impl Iterator<Item = &'a Contention>) -> Option<String> {
    let threads = Contention::pooled(threads);
    let foreign = threads.iter().flat_map(|thread| &thread.holders).filter(|held| held.by.is_foreign());
    let foreign: Vec<Held> = foreign.cloned().collect();
    Holders::of(&foreign).first().map(|(who, _)| who.named(&foreign))
}

/// Who had the CPU that threads of another program waited for; `also` ends the note on how long they waited.
pub(super) fn cpu_waits(page: &mut Page, heading: &str, waits: &CpuWaits, also: &str) {
    if waits.holders.is_empty() {
        return;
    }
    page.heading(heading);
    let mut table = Table::of("<|of the wait|time");
    for holder in holder_rows(&waits.holders, waits.waited_ns) {
        table.row(holder);
    }
    page.table(table);
    let waited = number::seconds(waits.waited_ns);
    page.note(&format!("they waited {waited}, by the kernel's account of each thread{also}"));
}

/// Each holder, its part of the wait, and its time, the longest first.
fn holder_rows(holders: &[Held], waited_ns: u64) -> impl Iterator<Item = [String; 3]> {
    let part = move |ns: u64| ns as f64 / waited_ns.max(1) as f64;
    let named = Holders::of(holders).into_iter().map(|(by, ns)| (by.to_string(), ns));
    let mut rows: Vec<(String, u64)> = named.collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let small = rows.split_off(rows.partition_point(|(_, ns)| part(*ns) >= LEAST_ROW));
    match &small[..] {
        [] | [_] => rows.extend(small),
        many => rows.push((format!("{} others", many.len()), many.iter().map(|(_, ns)| ns).sum())),
    }
    rows.into_iter().map(move |(who, ns)| {
        [shortened(&who, LONGEST_HOLDER), number::percent(part(ns)), number::seconds(ns)]
    })
}

/// What had the CPU for most of the wait, and its part of it.
pub(super) fn most_of_wait(waits: &CpuWaits) -> Option<(Holders<'_>, f64)> {
    let most = waits.parts().find(|(by, _)| *by.first != Holder::Unknown);
    most.filter(|(by, part)| by.first.is_outside() && *part > LEAST_HELD_OF_ALL)
}

/// What kept the thread from its work other than by having its processor: `softirq NET_RX took 31 % of the reader's time on CPU 1`.
fn taken(thread: &Contention) -> Option<String> {
    let interrupts = thread.interrupts.iter().filter(|interrupt| !is_own(thread.thread, &interrupt.by));
    let most = interrupts.cloned().chain([stolen(thread)]).max_by_key(|held| held.ns)?;
    let of_time = |ns: u64| ns as f64 / thread.span_ns.max(1) as f64;
    let (name, cpu) = (thread.thread.name(), thread.cpu);
    for (what, ns) in away(thread) {
        if of_time(ns) >= LEAST_TAKEN {
            return Some(format!(
                "the {name} was {what} for {} of the time",
                number::whole_percent(of_time(ns))
            ));
        }
    }
    let share = number::whole_percent(of_time(most.ns));
    (of_time(most.ns) >= LEAST_TAKEN)
        .then(|| format!("{} took {share} of the {name}'s time on CPU {cpu}{}", most.by, remedy(&most.by)))
}

/// Packets can come in on another CPU; each CPU has timers and tasks of its own.
fn remedy(by: &Holder) -> &'static str {
    let Holder::Softirq { vector } = by else { return "" };
    match vector.as_str() {
        "NET_RX" => ": move it (RPS, affinity of interrupts), or the reader",
        "TIMER" | "HRTIMER" | "SCHED" | "RCU" => "; every CPU runs it: nothing to move",
        _ => "",
    }
}

fn stolen(thread: &Contention) -> Held {
    Held { by: Holder::Hypervisor, ns: thread.stolen_ns }
}

/// What it was when it neither ran nor waited for its CPU, and how long.
fn away(thread: &Contention) -> [(&'static str, u64); 2] {
    [
        ("stopped (by a signal or a freezer)", thread.stopped_ns),
        ("blocked in the kernel (page faults, disks, locks)", thread.blocked_ns),
    ]
}

/// The packets of the load may be the cause: on loopback and veth they arrive in softirqs of the sender.
fn is_own(thread: LoadThread, interrupt: &Holder) -> bool {
    let is_packets = matches!(interrupt, Holder::Softirq { vector } if vector.starts_with("NET_"));
    thread != LoadThread::Reader && is_packets
}

/// Such as `86 % of the time to receive (all messages) is waiting for CPU 1: rustc (pid 3121) had it 71 %`.
fn remark(thread: &Contention, of_receiving: Option<Waiting>) -> Option<String> {
    let cpu = thread.cpu;
    let foreign = thread.foreign().map(|(_, share)| share).sum::<f64>();
    let waits = match (thread.thread, of_receiving) {
        (LoadThread::Reader, Some(Waiting { share, ns })) if share >= LEAST_OF_STACK_TIME => {
            if foreign * (thread.waited_ns as f64) < LEAST_OF_STAGE * ns {
                return None;
            }
            let share = number::whole_percent(share);
            format!("{share} of the time to receive (all messages) is waiting for CPU {cpu}")
        }
        (_, None) | (LoadThread::Sender, _) if thread.waited_share() >= LEAST_WAITED => {
            let share = number::whole_percent(thread.waited_share());
            format!("the {} waited {share} of the time for CPU {cpu}", thread.thread.name())
        }
        _ => return None,
    };
    // What is left are the wake-ups of an idle processor, or the load itself.
    if foreign < 0.5 {
        return None;
    }
    let others = Holders::of(thread.holders.iter().filter(|held| held.by.is_outside()));
    let shares = others.iter().map(|(by, ns)| (by, *ns as f64 / thread.waited_ns.max(1) as f64));
    let most = shares.filter(|(_, share)| *share >= LEAST_HELD).take(2);
    let most = most.enumerate().map(|(place, (by, share))| {
        let verb = if place == 0 { "had it " } else { "" };
        let own = if is_own(thread.thread, by.first) { " (possibly for this load's packets)" } else { "" };
        format!("{} {verb}{}{own}", by.named(&thread.holders), number::whole_percent(share))
    });
    let most: Vec<String> = most.collect();
    (!most.is_empty()).then(|| format!("{waits}: {}", most.join(", ")))
}

/// Every wait with all who had the processor.
pub(super) fn draw<'a>(page: &mut Page, threads: impl Iterator<Item = &'a Contention>) {
    let threads = Contention::pooled(threads);
    if threads.is_empty() {
        return;
    }
    page.heading("Who had the CPUs that the load needed");
    let mut table = Table::of("<thread|CPU|waited|of its\ntime|<who had the CPU meanwhile|of the\nwait|time");
    for thread in &threads {
        let first = [
            thread.thread.name().to_owned(),
            thread.cpu.to_string(),
            number::seconds(thread.waited_ns),
            number::percent(thread.waited_share()),
        ];
        if thread.holders.is_empty() {
            table.row([&first[..], &["-", "-", "-"].map(String::from)].concat());
        }
        for (i, holder) in holder_rows(&thread.holders, thread.waited_ns).enumerate() {
            let own = if i == 0 { first.clone() } else { Default::default() };
            table.row([own.to_vec(), holder.to_vec()].concat());
        }
    }
    page.table(table);
    threads.iter().flat_map(|thread| mostly(thread).chain(losses(thread))).for_each(|text| page.text(&text));
    page.note("by the kernel's account of each thread (sched_info); names are those of processes, and threads of one count together");
}

/// The processes that had nearly all of the time of their name, where the table has a row for it.
fn mostly(thread: &Contention) -> impl Iterator<Item = String> {
    let has_row = |of: &(Holders<'_>, u64)| of.1 as f64 / thread.waited_ns.max(1) as f64 >= LEAST_ROW;
    let all = Holders::of(&thread.holders).into_iter().filter(has_row);
    let named = all.map(|(by, _)| (by.to_string(), by.named(&thread.holders)));
    let mostly = named.filter(|(all, named)| all != named);
    mostly.map(|(_, who)| format!("while the {} waited for CPU {}: {who}", thread.thread.name(), thread.cpu))
}

/// What no other task had.
fn losses(thread: &Contention) -> Vec<String> {
    let part = |ns: u64| ns as f64 / thread.span_ns.max(1) as f64;
    let percent = |ns: u64| number::percent(part(ns));
    let (name, cpu) = (thread.thread.name(), thread.cpu);
    let took = [stolen(thread)].into_iter().chain(thread.interrupts.iter().cloned());
    let took = took.filter(|held| part(held.ns) >= LEAST_LOSS);
    let took: Vec<String> = took.map(|held| format!("{} took {}", held.by, percent(held.ns))).collect();
    let ran = format!("while the {name} ran on CPU {cpu}, {} of its time", took.join(", "));
    let away = away(thread).into_iter().filter(|(_, ns)| *ns > 0);
    let away = away.map(|(what, ns)| format!("the {name} was {what} for {} of its time", percent(ns)));
    (!took.is_empty()).then_some(ran).into_iter().chain(away).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(thread: LoadThread, waited_ns: u64, holders: &[(Holder, u64)]) -> Contention {
        let holders = holders.iter().map(|(by, ns)| Held { by: by.clone(), ns: *ns }).collect();
        Contention {
            thread,
            cpu: 1,
            span_ns: 1000,
            waited_ns,
            holders,
            stolen_ns: 0,
            interrupts: Vec::new(),
            stopped_ns: 0,
            blocked_ns: 0,
        }
    }

    fn waiting(share: f64, ns: f64) -> Option<Waiting> {
        Some(Waiting { share, ns })
    }

    #[test]
    fn who_had_the_cpus_longest_is_another_than_the_load() {
        let perl = |pid| Holder::Process { name: "perl".into(), pid, cgroup: None };
        let sender = thread(LoadThread::Sender, 60, &[(Holder::Netfathom, 40), (perl(7), 11), (perl(8), 9)]);
        let reader = thread(LoadThread::Reader, 50, &[(Holder::Netfathom, 40), (perl(8), 10)]);
        assert_eq!(longest([&sender, &reader].into_iter()).as_deref(), Some("perl (2 processes)"));
        let alone = thread(LoadThread::Reader, 40, &[(Holder::Netfathom, 40)]);
        assert_eq!(longest([&alone].into_iter()), None);
    }

    #[test]
    fn processes_of_one_name_are_a_row() {
        let held =
            |name: &str, pid, ns| Held { by: Holder::Process { name: name.into(), pid, cgroup: None }, ns };
        let mut holders = vec![held("sh", 8, 30), held("sh", 9, 20)];
        holders.extend((10..14).map(|pid| held("ls", pid, 10)));
        let rows: Vec<String> = holder_rows(&holders, 90).map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["sh (2 processes) 55.6 % 50 ns", "ls (4 processes) 44.4 % 40 ns"]);
        let sender = Contention { holders, ..thread(LoadThread::Sender, 90, &[]) };
        assert_eq!(
            remark(&sender, None).unwrap(),
            "the sender waited 9 % of the time for CPU 1: sh (2 processes) had it 56 %, ls (4 processes) 44 %"
        );
        let mut page = Page::default();
        draw(&mut page, [&sender].into_iter());
        let table = crate::draw::terminal(&page, 80, false);
        assert!(table.contains("ls (4 processes)") && !table.contains("ls (pid"), "{table}");
    }

    #[test]
    fn the_process_that_had_most_of_the_time_of_a_name_is_named() {
        let sh = |pid| Holder::Process { name: "sh".into(), pid, cgroup: None };
        let sender = thread(LoadThread::Sender, 70, &[(sh(7), 1), (sh(8), 60), (sh(9), 1)]);
        let named = "sh (3 processes, mostly pid 8)";
        assert!(remark(&sender, None).unwrap().contains(&format!(": {named} had it 89 %")));
        assert_eq!(longest([&sender].into_iter()).as_deref(), Some(named));
        let mut page = Page::default();
        draw(&mut page, [&sender].into_iter());
        let text = crate::draw::terminal(&page, 80, false);
        assert!(text.contains(&format!("while the sender waited for CPU 1: {named}")), "{text}");
    }

    #[test]
    fn holders_of_little_are_a_row() {
        let held = |pid, ns| Held { by: Holder::Process { name: format!("p{pid}"), pid, cgroup: None }, ns };
        let rows = |holders: &[Held]| holder_rows(holders, 1000).collect::<Vec<_>>();
        let all = rows(&[held(1, 989), held(2, 5), held(3, 4), held(4, 2)]);
        assert_eq!(all[1..], [["p2 (pid 2)", "0.500 %", "5 ns"], ["2 others", "0.600 %", "6 ns"]]);
        assert_eq!(rows(&[held(1, 996), held(3, 4)])[1][0], "p3 (pid 3)");
    }

    fn rustc() -> Holder {
        Holder::Process { name: "rustc".into(), pid: 3121, cgroup: None }
    }

    #[test]
    fn whoever_kept_the_reader_waiting_is_named() {
        let busy = [(rustc(), 71), (Holder::Idle, 20), (Holder::Hypervisor, 9)];
        let reader = thread(LoadThread::Reader, 100, &busy);
        assert_eq!(
            remark(&reader, waiting(0.86, 100.0)).unwrap(),
            "86 % of the time to receive (all messages) is waiting for CPU 1: rustc (pid 3121) had it 71 %, the hypervisor 9 %"
        );
        assert_eq!(remark(&reader, waiting(0.05, 100.0)), None);
        assert_eq!(remark(&reader, waiting(0.86, 10_000.0)), None, "mostly wake-ups");
        assert_eq!(
            remark(&reader, None).unwrap(),
            "the reader waited 10 % of the time for CPU 1: rustc (pid 3121) had it 71 %, the hypervisor 9 %"
        );
    }

    #[test]
    fn a_softirq_in_a_wait_is_named_by_its_vector_and_as_what_may_be_the_loads_own() {
        let softirq = |vector: &str| Holder::Softirq { vector: vector.into() };
        let busy = [(rustc(), 60), (softirq("NET_RX"), 25), (softirq("BLOCK"), 15)];
        let had = |of| remark(&thread(of, 100, &busy), None).unwrap();
        let [reader, sender] = [LoadThread::Reader, LoadThread::Sender].map(had);
        assert!(reader.ends_with(": rustc (pid 3121) had it 60 %, softirq NET_RX 25 %"), "{reader}");
        let own = ": rustc (pid 3121) had it 60 %, softirq NET_RX 25 % (possibly for this load's packets)";
        assert!(sender.ends_with(own), "{sender}");
    }

    #[test]
    fn softirqs_are_named_where_they_had_most_of_the_wait_of_a_program() {
        let most = |by: Holder| {
            let waits = CpuWaits { waited_ns: 100, holders: vec![Held { by, ns: 60 }] };
            most_of_wait(&waits).map(|(by, part)| (by.to_string(), part))
        };
        assert_eq!(most(Holder::Softirqs), Some(("softirqs".into(), 0.6)));
        assert_eq!(most(Holder::Itself), None);
    }

    #[test]
    fn wake_ups_of_an_idle_processor_are_no_contention() {
        let reader = thread(LoadThread::Reader, 100, &[(Holder::Idle, 95), (rustc(), 5)]);
        assert_eq!(remark(&reader, waiting(0.86, 100.0)), None);
        let sender = thread(LoadThread::Sender, 5, &[(rustc(), 5)]);
        assert_eq!(remark(&sender, None), None);
    }

    #[test]
    fn what_interrupts_or_stops_a_thread_is_named() {
        let with = |of: LoadThread, interrupts: &[(&str, u64)], stopped_ns| {
            let softirq = |vector: &str| Holder::Softirq { vector: vector.into() };
            let interrupts =
                interrupts.iter().map(|(vector, ns)| Held { by: softirq(vector), ns: *ns }).collect();
            taken(&Contention { interrupts, stopped_ns, ..thread(of, 0, &[]) })
        };
        assert_eq!(
            with(LoadThread::Reader, &[("NET_RX", 310), ("RCU", 90)], 0).unwrap(),
            "softirq NET_RX took 31 % of the reader's time on CPU 1: move it (RPS, affinity of interrupts), or the reader"
        );
        assert_eq!(
            with(LoadThread::Sender, &[("NET_RX", 310), ("RCU", 90)], 0).unwrap(),
            "softirq RCU took 9 % of the sender's time on CPU 1; every CPU runs it: nothing to move"
        );
        assert_eq!(with(LoadThread::Sender, &[("NET_RX", 310), ("RCU", 40)], 0), None);
        assert_eq!(
            with(LoadThread::Reader, &[], 200).unwrap(),
            "the reader was stopped (by a signal or a freezer) for 20 % of the time"
        );
    }
}
