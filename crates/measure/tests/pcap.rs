//! The pcap tap against truths that it did not produce: the offline join of its own files, the
//! bpf tap beside it, and the counts of the trial.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_measure::kind::{join, stack};
use netfathom_measure::tap::probe;
use netfathom_model::accounting::Fate;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{
    ClockChoice, Family, JoinPlan, Numbering, PcapPlan, Place, StackPlan, TapChoice,
};
use netfathom_model::record::{JoinResult, StackResult, Trial, TrialKind};
use netfathom_sys::directory::Directory;
use netfathom_testkit::{needs_root, skip};

/// Keeps files in a directory, and nothing else.
struct Keeper(Directory);

impl<R> Observer<R> for Keeper {
    fn directory(&self) -> Option<&Directory> {
        Some(&self.0)
    }
    fn begins(&mut self, _: Step, _: &Arc<Live>) {}
    fn keep(&mut self, _: &Progressed<R>) -> io::Result<()> {
        Ok(())
    }
}

fn plan(profile: &str, pcap: PcapPlan) -> StackPlan {
    let one = StackPlan::one_trial(profile.parse().unwrap());
    StackPlan { tap: TapChoice::Only(Tap::Pcap), pcap, ..one }.validated().unwrap()
}

fn measure(plan: &StackPlan, directory: &Path) -> StackResult {
    stack::run(plan, &mut Keeper(Directory::open(directory).unwrap()), &AtomicBool::new(false))
        .unwrap()
        .result
}

/// Joins the files that a trial has left.
fn offline(directory: &Path, trial: &str) -> JoinResult {
    let name = |what: &str| directory.join(format!("{trial}-{what}")).display().to_string();
    let plan = JoinPlan {
        captures: vec![name("1-out.pcap"), name("2-in.pcap")],
        logs: vec![name("messages.nflog")],
        numbering: Numbering::Netfathom,
        port: None,
        clock: ClockChoice::Stated,
        window: 65_536,
    };
    join::run(&plan, &mut Keeper(Directory::open(directory).unwrap()), &AtomicBool::new(false))
        .unwrap()
        .result
}

fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect()
}

/// Every message that was sent, and delivered, has its time; the captures hold nothing else.
fn assert_whole(trial: &Trial) {
    let a = &trial.accounting;
    assert_eq!((a.gap(), a.unjoined_tx, a.unjoined_rx), (0, 0, 0), "{a:?}");
    for captured in &trial.captured {
        assert_eq!((captured.dropped, captured.duplicates, captured.others), (0, 0, 0), "{captured:?}");
        assert_eq!(captured.packets, a.sent, "{captured:?}");
    }
    assert_eq!(trial.captured.len(), trial.paths.len());
}

fn live_and_offline_agree(pcap: PcapPlan, family: Family, place: Place) {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = plan("ramp:1k..10k/500ms", PcapPlan { keep: true, ..pcap });
    (plan.family, plan.place) = (family, place);
    let result = measure(&plan, directory.path());
    let trial = &result.trials[0];
    assert_whole(trial);
    // Without its CPU the sender may not get to all before the time is over.
    assert_eq!(trial.accounting.sent + trial.load.unsent, plan.profile.messages());
    assert!(trial.accounting.sent > 1000, "{:?}", trial.load);
    let joined = offline(directory.path(), "trial-01");
    for path in &trial.paths {
        let span = joined.spans.iter().find(|s| s.direction == Some(path.direction)).unwrap();
        let (live, offline) = (&path.total, &span.times);
        assert_eq!((live.n, live.sum_ns, &live.sum_sq_ns2), (offline.n, offline.sum_ns, &offline.sum_sq_ns2));
        assert_eq!(
            (live.min_ns, live.max_ns, live.negative),
            (offline.min_ns, offline.max_ns, offline.negative)
        );
        assert_eq!(live.buckets, offline.buckets);
    }
}

#[test]
fn live_and_offline_agree_exactly() {
    needs_root!();
    live_and_offline_agree(PcapPlan::default(), Family::Ipv4, Place::Lab);
    live_and_offline_agree(PcapPlan::default(), Family::Ipv6, Place::Lab);
    live_and_offline_agree(PcapPlan::default(), Family::Ipv4, Place::Loopback);
}

#[test]
fn live_and_offline_agree_exactly_on_what_tcpdump_captured() {
    needs_root!();
    let pcap = PcapPlan { tcpdump: true, keep: false };
    if let Err(left_out) = probe::pcap(true, false) {
        skip!("{}", left_out.reason);
    }
    live_and_offline_agree(pcap, Family::Ipv4, Place::Lab);
    live_and_offline_agree(pcap, Family::Ipv6, Place::Lab);
}

#[test]
fn lost_messages_have_their_outgoing_time_and_nothing_stays() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let mut plan = plan("constant:20k/500ms", PcapPlan::default());
    // 20 ms a message: the socket's buffer is soon full, and stays so.
    plan.reader_delay_ns = 20_000_000;
    plan.size_bytes = 1400;
    let result = measure(&plan, directory.path());
    let trial = &result.trials[0];
    let a = &trial.accounting;
    assert!(a.count(&Fate::SocketBufferFull) > 0, "{a:?}");
    assert_eq!((a.gap(), a.unjoined_tx, a.unjoined_rx), (0, 0, 0), "{a:?}");
    let n = |d| trial.paths.iter().find(|p| p.direction == d).unwrap().total.n;
    assert_eq!((n(Direction::Tx), n(Direction::Rx)), (a.sent, a.count(&Fate::Delivered)));
    assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
}

#[test]
fn all_taps_stand_beside_each_other() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let mut plan = plan("constant:5k/300ms", PcapPlan::default());
    plan.tap = TapChoice::All;
    (plan.trials, plan.baselines, plan.cross_checks) = (2, 2, 2);
    let result = measure(&plan, directory.path());
    let taps: Vec<Tap> = result.taps.iter().map(|row| row.tap).collect();
    let fentry = probe::fentry(&[Direction::Tx, Direction::Rx]).is_ok();
    let here = Tap::ALL.into_iter().filter(|&tap| tap != Tap::Fentry || fentry);
    assert_eq!(taps, here.collect::<Vec<_>>());
    for row in &result.taps {
        assert_eq!(row.trials, 2);
        assert!(row.tx_ns.is_some() && row.rx_ns.is_some() && row.cost.is_some(), "{row:?}");
        assert_eq!(row.tx_bias_ns.is_some(), row.tap != Tap::Bpf, "{row:?}");
        let cost = row.cost.unwrap();
        assert!(cost.rate_lost.is_some() && cost.send_call_share.is_some(), "{row:?}");
    }
    let of = |kind| result.trials.iter().filter(|t| t.kind == kind).count();
    let others = taps.len() - 1;
    assert_eq!(
        (of(TrialKind::Measured), of(TrialKind::Baseline), of(TrialKind::CrossCheck)),
        (2, 2, 2 * others)
    );
    assert_eq!(result.cross_checks.len(), 2 * others, "two ways each");
}

/// Waits until the kernel stamps what a socket receives, which begins a little after it was asked for.
fn await_stamps(socket: &std::net::UdpSocket) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let is_stamped = || {
        socket.send_to(&[0], socket.local_addr().unwrap()).unwrap();
        netfathom_sys::socket::receive(socket, &mut [0; 8]).unwrap().realtime_ns.is_some()
    };
    while !is_stamped() {
        assert!(Instant::now() < deadline, "no stamps");
    }
}

#[test]
fn times_moved_by_another_program_are_reported() {
    needs_root!();
    let directory = tempfile::tempdir().unwrap();
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    netfathom_sys::socket::enable_rx_stamps(&other).unwrap();
    await_stamps(&other);
    let result = measure(&plan("constant:2k/200ms", PcapPlan::default()), directory.path());
    let early = result.trials[0].captured.iter().filter_map(|c| c.stamped_early).sum::<u64>();
    assert!(early > 0, "the kernel stamps for the other program");
}
