//! What the bpf tap costs, as ratios within one run. Prints a table in Markdown.
//!
//! Every comparison is made of short bursts in the order A B B A, so that what drifts on the
//! machine drifts for both; medians over the pairs, with the interval of the sign test.

use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;

use netfathom_bpf::contention::{Contention, Detail};
use netfathom_bpf::stack::{Hooks, StackTap, Target};
use netfathom_measure::ground::lab::Lab;
use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::stack::run;
use netfathom_measure::load::tap::ReceiveTap;
use netfathom_measure::load::window::Windows;
use netfathom_measure::tap::bpf::BpfReader;
use netfathom_measure::tap::sampling::Sampling;
use netfathom_model::accounting::Fate;
use netfathom_model::message::Header;
use netfathom_model::path::Direction;
use netfathom_model::plan::{Family, StackPlan};
use netfathom_model::record::StackResult;
use netfathom_stats::{Median, median};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use netfathom_sys::socket::cookie;

const PAIRS: usize = 40;
const BURST: u64 = 10_000;
const FLOW: u32 = 1;
const BOTH: [Direction; 2] = [Direction::Tx, Direction::Rx];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    println!("| what | measured | target |\n|---|---|---|");
    let bench = Bench::new()?;
    // The first bursts find the caches cold.
    (0..4).try_for_each(|_| bench.burst(Ruler::At(Hooks::Tracepoints)).map(drop))?;
    let rows = [
        (Ruler::None, "control against control, a message out and in", "1 within its interval"),
        (Ruler::Foreign, "the hooks alone, finding no message of theirs", ""),
        (
            Ruler::At(Hooks::LinkLayer),
            "the tap with --stages total, a message out and in",
            "at most 1.05 times",
        ),
        (Ruler::At(Hooks::Path), "the tap with --stages path, a message out and in", "at most 1.12 times"),
        (Ruler::At(Hooks::Tracepoints), "the full tap, a message out and in", "at most 1.18 times"),
        (Ruler::Contention, "finding out who has the CPU, a message out and in", "at most 1.02 times"),
    ];
    for (ruler, what, target) in rows {
        row(what, &bench.compare(ruler)?, target);
    }
    // A run takes two processors where it may.
    cpu::allow(&bench.cpus)?;
    drop(bench);
    joins()?;
    memory()
}

#[derive(Clone, Copy, PartialEq)]
enum Ruler {
    None,
    /// The programs look for another flow: the price of getting into and out of them.
    Foreign,
    At(Hooks),
    /// No tap, but the programs that see who has the processor.
    Contention,
}

fn row(what: &str, c: &Comparison, target: &str) {
    let Comparison { bare_ns, difference: d, ratio: r } = c;
    println!(
        "| {what} | {:.3} times the bare message ({:.3} to {:.3}): {:+.0} ns ({:+.0} to {:+.0}) on {bare_ns:.0} | {target} |",
        r.value, r.low, r.high, d.value, d.low, d.high
    );
}

/// One thread that sends a message through the lab and takes it in again: both ways, and
/// neither a wake-up nor a second processor.
struct Bench {
    sender: UdpSocket,
    reader: UdpSocket,
    _lab: Lab,
    cpus: Vec<usize>,
}

struct Comparison {
    bare_ns: f64,
    difference: Median,
    ratio: Median,
}

impl Bench {
    fn new() -> Result<Self, Failure> {
        let cpus = cpu::allowed()?;
        cpu::pin(*cpus.last().ok_or("no processor")?)?;
        let lab = Lab::create()?;
        let (from, to) = (lab.sender_addr(Family::Ipv4), lab.reader_addr(Family::Ipv4));
        let reader = lab.reader.run(|| UdpSocket::bind(SocketAddr::new(to, 0)))??;
        let sender = lab.sender.run(|| UdpSocket::bind(SocketAddr::new(from, 0)))??;
        sender.connect(reader.local_addr()?)?;
        Ok(Self { sender, reader, _lab: lab, cpus })
    }

    /// Bursts without and with the ruler in turn.
    fn compare(&self, ruler: Ruler) -> Result<Comparison, Failure> {
        let (mut differences, mut ratios, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            let (a, b) = if pair % 2 == 0 {
                let a = self.burst(Ruler::None)?;
                (a, self.burst(ruler)?)
            } else {
                let b = self.burst(ruler)?;
                (self.burst(Ruler::None)?, b)
            };
            bare.push(a);
            differences.push(b - a);
            ratios.push(b / a);
        }
        let of = |v: &[f64]| median(v).ok_or("too few pairs");
        Ok(Comparison { bare_ns: of(&bare)?.value, difference: of(&differences)?, ratio: of(&ratios)? })
    }

    /// Nanoseconds a message.
    fn burst(&self, ruler: Ruler) -> Result<f64, Failure> {
        let windows = Windows { start_ns: monotonic_ns(), shift: Windows::shift_for(1_000_000_000) };
        if ruler == Ruler::None {
            return Ok(self.messages(&mut ())?);
        }
        if ruler == Ruler::Contention {
            let contention = Contention::attach(Detail { interrupts: true, pauses: true })?;
            let _followed = contention.follow().ok_or("not followed")?;
            return Ok(self.messages(&mut ())?);
        }
        let (at, flow) = match ruler {
            Ruler::At(hooks) => (hooks, FLOW),
            _ => (Hooks::Tracepoints, !FLOW),
        };
        let target =
            Target { flow, reader_cookie: cookie(&self.reader)?, window_shift: windows.shift, stream: None };
        let tap = StackTap::load(at, &BOTH, target)?;
        tap.start(windows.start_ns);
        let mut reader = BpfReader::new(tap.view(), windows, true, Sampling::new(0, 0, 0, 0), None);
        let ns = self.messages(&mut reader)?;
        let (sums, incoming) = (tap.tx_sums()?, reader.collected);
        let timed = if flow == FLOW { BURST } else { 0 };
        assert_eq!(sums.total.distribution.moments.n, timed, "every message was timed on its way out");
        assert_eq!(incoming.total.distribution.moments.n, timed, "and on its way in");
        Ok(ns)
    }

    fn messages(&self, tap: &mut impl ReceiveTap) -> io::Result<f64> {
        let (mut payload, mut buffer) = ([0; 64], [0; 2048]);
        let start_ns = monotonic_ns();
        for sequence in 0..BURST {
            let sent_ns = monotonic_ns();
            Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns }.write(&mut payload);
            self.sender.send(&payload)?;
            let bytes = tap.receive(&self.reader, &mut buffer)?;
            let received_ns = monotonic_ns();
            let header = Header::read(&buffer[..bytes]).ok_or(io::ErrorKind::InvalidData)?;
            tap.delivered(&header, received_ns);
        }
        Ok((monotonic_ns() - start_ns) as f64 / BURST as f64)
    }
}

fn measure(profile: &str) -> Result<Progressed<StackResult>, Failure> {
    let plan = StackPlan::one_trial(profile.parse()?);
    Ok(run(&plan.validated()?, &mut (), &AtomicBool::new(false))?)
}

fn joins() -> Result<(), Failure> {
    let p = measure("constant:200k/5s")?;
    let trial = &p.result.trials[0];
    let (a, load) = (&trial.accounting, &trial.load);
    println!(
        "| unjoined at 200,000 a second planned, {:.0} reached | {} of {} out, {} of {} in | 0 |",
        load.sent as f64 * 1e9 / load.span_ns as f64,
        a.unjoined_tx,
        a.sent,
        a.unjoined_rx,
        a.count(&Fate::Delivered)
    );
    io::stdout().flush()?;
    Ok(())
}

/// The highest memory that this process ever had, in KiB.
fn peak_kib() -> Result<f64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}

fn memory() -> Result<(), Failure> {
    measure("constant:50k/500ms")?;
    let before = peak_kib()?;
    measure("constant:50k/10s")?;
    println!(
        "| memory of a trial of 500,000 messages against one of 25,000 | {:.3} times | 1 |",
        peak_kib()? / before
    );
    Ok(())
}
