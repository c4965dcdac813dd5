//! `stack` against truths that it did not produce: counters of the interface, a delay that
//! the test inserted, a second tap.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netfathom_bpf::probe::{Tracing, tracing};
use netfathom_measure::ground::observer::{Observer, Progressed};
use netfathom_measure::kind::stack::run;
use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::message::Header;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::{Family, InsertedDelay, Place, StackPlan, StageSet, TapChoice, Transport};
use netfathom_model::record::{
    Agreement, Contention, Held, Holder, LoadThread, PathSummary, StackResult, StageSummary,
    StageSummaryTimes, TrialKind,
};
use netfathom_testkit::{Burner, alone, needs_root_alone, privileged, test_name, unless_disturbed};

/// Sees everything there is before the first trial and after each.
#[derive(Default)]
struct Watcher {
    kept: usize,
}

impl Observer<StackResult> for Watcher {
    fn keep(&mut self, so_far: &Progressed<StackResult>) -> io::Result<()> {
        assert_eq!(so_far.result.trials.len(), self.kept);
        self.kept += 1;
        Ok(())
    }
}

fn plan(profile: &str) -> StackPlan {
    StackPlan::one_trial(profile.parse().unwrap()).validated().unwrap()
}

fn measure(plan: &StackPlan) -> Progressed<StackResult> {
    run(plan, &mut Watcher::default(), &AtomicBool::new(false)).unwrap()
}

/// Everything that must hold of any run, whatever the machine did meanwhile.
fn assert_accounted(p: &Progressed<StackResult>) {
    for trial in &p.result.trials {
        let a = &trial.accounting;
        assert_eq!((a.gap(), a.count(&Fate::Unexplained)), (0, 0), "{a:?}");
        assert!(a.counters.iter().all(|c| c.agrees()), "{:?}", a.counters);
        for path in &trial.paths {
            let inside: i64 = path
                .stages
                .iter()
                .filter(|s| s.stage.is_inside())
                .filter_map(|s| s.times.distribution())
                .map(|d| d.sum_ns)
                .sum();
            let staged = path.stages.iter().filter_map(|s| s.times.distribution()).map(|d| d.n).max();
            if staged == Some(path.total.n) {
                assert_eq!(inside, path.total.sum_ns, "the stages add up to the whole");
            }
        }
    }
}

fn row(summary: &PathSummary, stage: Stage) -> Option<&StageSummary> {
    summary.stages.iter().find(|row| row.stage == stage)
}

/// What half of all messages spend at most in a stage: nothing, if fewer than half of them pass it.
fn median_ns(p: &Progressed<StackResult>, stage: Stage) -> Option<i64> {
    let summary = p.result.summaries.iter().find(|s| s.direction == stage.direction())?;
    let d = row(summary, stage)?.times.distribution()?;
    Some(if 2 * d.n < summary.total.n { 0 } else { d.p50_ns })
}

#[test]
fn every_message_is_accounted_for_and_the_interfaces_counters_agree() {
    needs_root_alone!();
    let families = [Family::Ipv4, Family::Ipv6].into_iter();
    for (family, transport) in families.flat_map(|family| Transport::ALL.map(|transport| (family, transport)))
    {
        let mut plan = plan("ramp:1k..20k/500ms");
        (plan.family, plan.transport) = (family, transport);
        plan.baselines = 1;
        plan.samples = 100;
        let p = measure(&plan);
        assert_accounted(&p);
        let measured = p.result.trials.iter().find(|t| t.kind == TrialKind::Measured).unwrap();
        assert_eq!(measured.accounting.sent, plan.profile.messages());
        // On the way in messages overlap: no rate follows from the time of one.
        for summary in &p.result.summaries {
            let inferred = summary.peak.map(|peak| 1e9 / peak.mean_ns);
            let wanted = inferred.filter(|_| summary.direction == Direction::Tx);
            assert_eq!(summary.theoretical_per_s, wanted, "{:?}", summary.direction);
        }
        for path in &measured.paths {
            assert_eq!(path.total.n, measured.accounting.count(&Fate::Delivered), "nothing is unjoined");
            assert_eq!(path.series.n.iter().sum::<u64>(), path.total.n, "windows add up");
        }
        assert!((50..=100).contains(&p.samples.len()), "{}", p.samples.len());
        for s in &p.samples {
            let way = [
                Some(s.intended_ns),
                Some(s.sent_ns),
                s.net_dev_queue_ns,
                s.net_dev_start_xmit_ns,
                s.arrival_ns,
                s.netif_receive_skb_ns,
                s.sock_recv_length_ns,
                s.received_ns,
            ];
            let times: Vec<u64> = way.into_iter().map(|t| t.expect("every hook saw it")).collect();
            assert!(times.is_sorted(), "{s:?}");
        }
    }
}

#[test]
fn bpf_and_timestamping_are_compared_by_the_whole_interval_on_the_way_out() {
    needs_root_alone!();
    let mut plan = plan("constant:5k/800ms");
    (plan.trials, plan.baselines, plan.cross_checks) = (4, 2, 4);
    let p = measure(&plan);
    assert_accounted(&p);
    let tx = p.result.cross_checks.iter().find(|w| w.direction == Direction::Tx).unwrap();
    assert_eq!(tx.tap, Tap::Timestamping);
    // How far trials differ depends on the machine; how the difference is judged does not.
    let (difference, half) = (tx.difference_ns.abs(), tx.half_width_ns.unwrap());
    let margin = (0.15 * tx.mean_ns).max(300.0);
    let within = difference + half <= margin;
    assert_eq!(tx.agreement == Agreement::Agree, within, "{tx:?}");
    assert_eq!(tx.agreement == Agreement::Disagree, difference - half > margin, "{tx:?}");
    let alternating = p.result.trials.iter().filter(|t| t.kind == TrialKind::Alternating);
    let [added] = alternating.map(|t| &t.added).collect::<Vec<_>>()[..] else {
        panic!("one alternating trial")
    };
    assert_eq!(added.iter().map(|a| a.direction).collect::<Vec<_>>(), [Direction::Tx, Direction::Rx]);
    assert!(added.iter().all(|a| a.differences_ns.len() >= 2), "{added:?}");
    // The kernel stamps a message after the hook has seen it, for it copies it first.
    assert!(added[0].behind_ns.unwrap() > 0.0 && added[1].behind_ns.is_none(), "{added:?}");
    let cost = p.result.self_cost.unwrap();
    assert!(cost.within_tx_ns.is_some() && cost.within_rx_ns.is_some(), "{cost:?}");
}

/// The delay shows in one stage and in no other: by the medians, which a machine that
/// others use too does not move by half of it.
fn found(
    without: &Progressed<StackResult>,
    with: &Progressed<StackResult>,
    where_: Stage,
    delay_ns: i64,
) -> Result<(), String> {
    for direction in [Direction::Tx, Direction::Rx] {
        for &stage in direction.stages() {
            let (Some(a), Some(b)) = (median_ns(without, stage), median_ns(with, stage)) else { continue };
            let grown = b - a;
            if stage == where_ {
                // The clock guarantees the delay; a histogram's bucket is 3 % wide.
                assert!(grown >= delay_ns * 9 / 10, "{stage:?} grew by {grown} ns only");
            }
            let wrong = if stage == where_ { grown > delay_ns * 3 / 2 } else { grown > delay_ns / 2 };
            if wrong {
                return Err(format!("{stage:?} grew by {grown} ns, from {a} to {b}"));
            }
        }
    }
    Ok(())
}

fn find_inserted(direction: Direction, where_: Stage) {
    needs_root_alone!();
    const DELAY_NS: u32 = 60_000;
    for transport in Transport::ALL {
        let plain = StackPlan { transport, ..plan("constant:1k/400ms") };
        let mut delayed = plain.clone();
        delayed.inserted_delay = Some(InsertedDelay { direction, delay_ns: DELAY_NS });
        unless_disturbed(|| {
            let (without, with) = (measure(&plain), measure(&delayed));
            assert_accounted(&with);
            found(&without, &with, where_, DELAY_NS.into())
        });
    }
}

#[test]
fn a_delay_on_the_way_out_is_found_before_the_device_queue() {
    find_inserted(Direction::Tx, Stage::Socket);
}

#[test]
fn a_delay_on_the_way_in_is_found_between_link_layer_and_socket() {
    find_inserted(Direction::Rx, Stage::Protocol);
}

/// Where the kernel allows it; elsewhere it is refused with what the kernel says to a program that does nothing.
#[test]
fn functions_part_the_stages_or_the_kernel_is_named() {
    needs_root_alone!();
    let mut plan = plan("constant:1k/300ms");
    (plan.tap, plan.cross_checks) = (TapChoice::Only(Tap::Fentry), 1);
    let ran = run(&plan, &mut Watcher::default(), &AtomicBool::new(false));
    let p = match (tracing(Tracing::Fentry), ran) {
        (Err(why), ran) => {
            let Err(refusal) = ran else { panic!("it ran: {why}") };
            let refusal = refusal.to_string();
            let lacks = "the fentry tap does not work here: this kernel attaches no program to its functions (fentry)";
            return assert!(refusal.starts_with(&format!("{lacks}: {why}; ")), "{refusal}");
        }
        (Ok(()), ran) => ran.unwrap(),
    };
    assert_accounted(&p);
    assert_eq!(p.result.cross_checks.iter().map(|w| w.tap).collect::<Vec<_>>(), [Tap::Bpf; 2]);
    let whole = |p: &Progressed<StackResult>, stage| {
        p.result.trials[0].paths.iter().any(|path| path.stages.iter().any(|row| row.stage == stage))
    };
    // A message that comes to a sleeping reader waits for no call.
    let parts = Stage::ALL.into_iter().filter(|&stage| stage.whole().is_some() && stage != Stage::Entry);
    for part in parts {
        assert!(median_ns(&p, part).is_some_and(|ns| ns > 0), "{part:?}: {:?}", p.result.summaries);
        assert!(!part.whole().is_some_and(|stage| whole(&p, stage)), "{part:?}");
    }
}

/// The borders of the kernel's own sums lie up to half a microsecond beside those of the hooks.
fn assert_no_stage_is_negative(p: &Progressed<StackResult>) {
    for path in p.result.trials.iter().flat_map(|t| &t.paths) {
        for stage in &path.stages {
            let Some(d) = stage.times.distribution() else { continue };
            let (stage, min, below) = (stage.stage, d.min_ns, d.negative);
            assert!(min > -2_000, "{stage:?}: {min} ns, {below} of {} below zero", d.n);
        }
    }
}

#[test]
fn fewer_hooks_time_the_same_messages_and_name_the_stages_that_they_lack() {
    needs_root_alone!();
    for (stages, rx_has) in [(StageSet::Total, [false, false]), (StageSet::Path, [true, false])] {
        let p = measure(&StackPlan { stages, ..plan("constant:2k/300ms") });
        assert_accounted(&p);
        let accounting = &p.result.trials[0].accounting;
        assert_eq!((accounting.unjoined_tx, accounting.unjoined_rx), (0, 0), "{stages:?}");
        let rx = p.result.summaries.iter().find(|s| s.direction == Direction::Rx).unwrap();
        let is_measured = |stage| match &row(rx, stage).unwrap().times {
            StageSummaryTimes::Measured(d) => d.n > 0,
            StageSummaryTimes::Unavailable(why) => {
                assert!(why.contains("--stages"), "{why}");
                false
            }
        };
        assert_eq!([Stage::Protocol, Stage::Wakeup].map(is_measured), rx_has, "{stages:?}");
        assert_eq!(rx.total.n, accounting.count(&Fate::Delivered));
    }
}

#[test]
fn a_reader_that_polls_is_never_woken() {
    needs_root_alone!();
    let mut plan = plan("constant:5k/300ms");
    plan.reader_polls = true;
    let p = measure(&plan);
    assert_accounted(&p);
    assert_no_stage_is_negative(&p);
    assert_eq!(median_ns(&p, Stage::Wakeup), None, "no reader slept");
    // Only what others took of its processor.
    let rx = p.result.summaries.iter().find(|s| s.direction == Direction::Rx).unwrap();
    let waited = row(rx, Stage::Runqueue).unwrap().times.distribution().map_or(0, |d| d.n);
    assert!(waited < rx.total.n, "{waited} of {}", rx.total.n);
}

#[test]
fn a_plan_that_may_fit_takes_the_rates_that_leave_on_schedule() {
    needs_root_alone!();
    let cpus = netfathom_sys::cpu::allowed().unwrap();
    let sender = cpus[0];
    let ramp = StackPlan { cpus: Some((sender, cpus[cpus.len() - 1])), ..plan("ramp:1k..200k/100ms") };
    let burner = Burner::on(sender);
    let fitted = measure(&StackPlan { fits: true, ..ramp.clone() });
    assert!(burner.ran_ns() > 0);
    assert_eq!(fitted.result.plan.profile, "ramp:1k..5k/100ms".parse().unwrap());
    let left_out = |p: &Progressed<StackResult>| {
        p.result.left_out.iter().any(|l| l.what.starts_with("rates from 5.00k"))
    };
    assert!(left_out(&fitted), "{:?}", fitted.result.left_out);
    assert_accounted(&fitted);
    let named = measure(&ramp);
    assert_eq!(named.result.plan, ramp);
    assert!(!left_out(&named));
}

#[test]
fn whoever_takes_the_processors_of_the_load_is_named() {
    needs_root_alone!();
    let mut plan = plan("constant:1k/500ms");
    let both = netfathom_sys::cpu::allowed().unwrap();
    let (sender, reader) = (both[0], both[both.len() - 1]);
    plan.cpus = Some((sender, reader));
    // Others of the same priority may be preempted whenever the load wants to run.
    // In step they would have the reader idle whenever the sender is: messages would wait for neither.
    let burners = [Burner::alternating(sender, 15), Burner::alternating(reader, 9)];
    let p = measure(&plan);
    assert_accounted(&p);
    let trial = &p.result.trials[0];
    let threads = Contention::pooled(&trial.load.contention);
    for (thread, burner) in [LoadThread::Sender, LoadThread::Reader].into_iter().zip(&burners) {
        let of = threads.iter().find(|c| c.thread == thread).expect("observed");
        let is_the_burner =
            |held: &&Held| matches!(held.by, Holder::Process { pid, .. } if pid == burner.pid());
        let had = of.holders.iter().find(is_the_burner).unwrap_or_else(|| panic!("not named: {of:?}"));
        assert!(had.ns <= burner.ran_ns(), "{had:?}");
        let foreign: f64 = of.foreign().map(|(_, share)| share).sum();
        assert!(foreign > 0.5, "{of:?}");
    }
    // Beside busy neighbors on both sides there may be no undisturbed message; tests/undisturbed.rs has some.
    for path in &trial.paths {
        let (all, undisturbed) = (&path.total, path.undisturbed.as_ref().expect("observed"));
        assert!(undisturbed.times.n < all.n, "{} of {}", undisturbed.times.n, all.n);
        let windows = undisturbed.series.n.iter().zip(&path.series.n);
        assert!(windows.clone().all(|(alone, all)| alone <= all), "{:?}", windows.collect::<Vec<_>>());
        assert_eq!(undisturbed.series.n.iter().sum::<u64>(), undisturbed.times.n);
        assert!(undisturbed.peak.map_or(0, |peak| peak.count) <= path.peak.map_or(0, |peak| peak.count));
        let undisturbed = &undisturbed.times;
        assert!(undisturbed.n == 0 || undisturbed.max_ns <= all.max_ns);
        // A message that waited for the burner is disturbed: milliseconds at a time.
        let shorter = undisturbed.n == 0 || undisturbed.mean_ns < all.mean_ns;
        assert!(path.direction == Direction::Tx || shorter, "{undisturbed:?} {all:?}");
    }
}

#[test]
fn a_slow_reader_is_found_in_the_socket() {
    needs_root_alone!();
    // 200 us a message is 5,000 a second; the load is twice that, for a moment.
    let plain = plan("constant:10k/200ms");
    let mut slow = plain.clone();
    slow.reader_delay_ns = 200_000;
    unless_disturbed(|| {
        let (without, with) = (measure(&plain), measure(&slow));
        assert_accounted(&with);
        assert_no_stage_is_negative(&with);
        let Accounting { sent, unstaged_rx, hooks, .. } = &with.result.trials[0].accounting;
        assert!(unstaged_rx * 100 <= *sent, "{unstaged_rx} of {sent} without stages: {hooks:?}");
        for stage in [Stage::Protocol, Stage::Read, Stage::Return] {
            let grown = median_ns(&with, stage).unwrap() - median_ns(&without, stage).unwrap();
            assert!(grown < 100_000, "{stage:?} grew by {grown} ns");
        }
        let rx = with.result.summaries.iter().find(|s| s.direction == Direction::Rx).unwrap();
        let share = |stage: Stage| row(rx, stage).and_then(|row| row.share).unwrap_or(0.0);
        let shares: Vec<_> = rx.stages.iter().map(|s| (s.stage, s.share)).collect();
        assert!(share(Stage::Sockqueue) + share(Stage::Runqueue) > 0.9, "{shares:?}");
        // A reader that others keep from its processor waits there instead.
        if share(Stage::Sockqueue) > 0.3 { Ok(()) } else { Err(format!("{shares:?}")) }
    });
}

#[test]
fn a_slow_reader_does_not_slow_what_is_sent_beside_the_trials() {
    needs_root_alone!();
    let plain = plan("constant:100/100ms");
    let mut slow = plain.clone();
    slow.reader_delay_ns = 100_000_000;
    let begins_after = |plan| measure(plan).result.trials[0].started_after_ns;
    let (without, with) = (begins_after(&plain), begins_after(&slow));
    // The burst fills the reader's buffer with hundreds of messages.
    assert!(with < without + 20 * slow.reader_delay_ns, "{with} ns, {without} ns without the delay");
}

/// A reader that takes 200 large messages a second fills its buffer and closes the window: what the sender's calls leave
/// behind waits in TCP, and nothing is lost.
#[test]
fn a_closed_window_is_found_in_the_send_queue() {
    needs_root_alone!();
    let mut plan = StackPlan { transport: Transport::Tcp, ..plan("constant:1k/300ms") };
    (plan.size_bytes, plan.reader_delay_ns) = (16_000, 5_000_000);
    let p = measure(&plan);
    assert_accounted(&p);
    let a = &p.result.trials[0].accounting;
    assert_eq!((a.sent, a.unjoined_tx, a.unjoined_rx), (a.count(&Fate::Delivered), 0, 0), "{a:?}");
    let tx = p.result.summaries.iter().find(|s| s.direction == Direction::Tx).unwrap();
    let share = row(tx, Stage::Sendq).and_then(|row| row.share).unwrap_or(0.0);
    // Each of those that wait does so for longer than the reader takes for one.
    assert!(share > 0.5 && median_ns(&p, Stage::Sendq).unwrap() > 5_000_000, "{:?}", tx.stages);
}

/// Messages larger than a segment leave in GSO packets and arrive in parts; those of a connection beside ours are not ours.
#[test]
fn messages_are_known_by_their_bytes_in_the_stream() {
    needs_root_alone!();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut theirs, _) = listener.accept().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Messages of another trial, as if it were ours.
        let chatter = scope.spawn(|| {
            let mut message = [0; 4000];
            Header { flow: 1, sequence: 0, intended_ns: 1, sent_ns: 2 }.write(&mut message);
            while !over.load(Ordering::Relaxed) {
                ours.write_all(&message).and_then(|()| theirs.read_exact(&mut message)).unwrap();
            }
        });
        let runs =
            [(Place::Loopback, 4000), (Place::Lab, 4000), (Place::Lab, 1000)].map(|(place, size_bytes)| {
                let transport = Transport::Tcp;
                measure(&StackPlan { place, transport, size_bytes, ..plan("constant:20k/200ms") })
            });
        over.store(true, Ordering::Relaxed);
        chatter.join().unwrap();
        for p in runs {
            assert_accounted(&p);
            let a = &p.result.trials[0].accounting;
            assert_eq!((a.count(&Fate::Delivered), a.unjoined_tx, a.unjoined_rx), (a.sent, 0, 0), "{a:?}");
            assert!(a.sent > 100, "{a:?}");
            assert!(a.unstaged_rx * 100 <= a.sent, "{a:?}");
        }
    });
}

#[test]
fn a_full_receive_buffer_is_a_fate_of_its_own() {
    needs_root_alone!();
    for tap in [Tap::Bpf, Tap::Timestamping] {
        let mut plan = plan("constant:100k/500ms");
        plan.tap = TapChoice::Only(tap);
        // Large messages and a reader that takes 300 a second fill the buffer, also where others keep the sender from its
        // processor most of the time.
        plan.size_bytes = 1400;
        plan.reader_delay_ns = 3_000_000;
        plan.samples = 1000;
        let p = measure(&plan);
        assert_accounted(&p);
        let a = &p.result.trials[0].accounting;
        assert!(a.count(&Fate::SocketBufferFull) > 1000, "the reader's buffer is filled: {a:?}");
        assert_eq!(a.sent, a.count(&Fate::Delivered) + a.count(&Fate::SocketBufferFull));
        assert!(p.findings.iter().any(|f| f.seen.contains("dropped at the reader's socket")));
        if tap == Tap::Bpf {
            let lost = p.samples.iter().filter(|s| s.received_ns.is_none()).count();
            assert!(lost > 0, "lost messages are sampled too");
        }
    }
}

#[test]
fn loopback_needs_no_lab_for_either_tap_and_timestamping_no_privilege() {
    let _alone = alone();
    for (tap, family) in
        [(Tap::Timestamping, Family::Ipv4), (Tap::Timestamping, Family::Ipv6), (Tap::Bpf, Family::Ipv4)]
    {
        if tap == Tap::Bpf && !privileged(test_name!()) {
            continue;
        }
        let tap = TapChoice::Only(tap);
        let p = measure(&StackPlan { place: Place::Loopback, family, tap, ..plan("steps:1k,5k/300ms") });
        assert_accounted(&p);
        let trial = &p.result.trials[0];
        assert_eq!(trial.accounting.unjoined_tx, 0, "no stamp is lost");
        assert!(trial.accounting.unjoined_rx == 0 || trial.tap == Some(Tap::Bpf));
        assert_eq!(p.result.summaries.len(), 2);
    }
}

#[test]
fn two_runs_of_one_seed_and_port_at_once_do_not_meet() {
    needs_root_alone!();
    let mut plan = plan("constant:2k/400ms");
    (plan.seed, plan.port, plan.samples) = (7, 7007, 400);
    let both = thread::scope(|scope| {
        let started = [(); 2].map(|()| scope.spawn(|| measure(&plan)));
        started.map(|run| run.join().unwrap())
    });
    for p in both {
        assert_accounted(&p);
        assert!(p.result.trials.iter().all(|trial| trial.accounting.foreign == 0));
        assert!(p.samples.len() >= 200, "{}", p.samples.len());
        for s in &p.samples {
            let way = [
                Some(s.sent_ns),
                s.net_dev_queue_ns,
                s.net_dev_start_xmit_ns,
                s.netif_receive_skb_ns,
                s.received_ns,
            ];
            assert!(way.iter().all(Option::is_some) && way.is_sorted(), "{s:?}");
        }
    }
}
