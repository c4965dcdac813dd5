//! `reverse` against truths that it did not produce: what the plan wanted, when it wanted it,
//! and what a load that is hardly one takes.

use std::io;
use std::sync::atomic::AtomicBool;

use netfathom_measure::ground::observer::{Observer, Progressed};
use netfathom_measure::kind::reverse::run;
use netfathom_model::path::{Stage, Tap};
use netfathom_model::plan::{Family, ReversePlan, Variant};
use netfathom_model::record::{Phase, ReverseResult, ReverseTrial};
use netfathom_model::verdict::Level;
use netfathom_testkit::{needs_root_alone, unless_disturbed};

/// Sees everything there is before the first trial and after each.
#[derive(Default)]
struct Watcher {
    kept: usize,
}

impl Observer<ReverseResult> for Watcher {
    fn keep(&mut self, so_far: &Progressed<ReverseResult>) -> io::Result<()> {
        let trials: usize = so_far.result.variants.iter().map(|v| v.trials.len()).sum();
        assert_eq!(trials, self.kept);
        self.kept += 1;
        Ok(())
    }
}

fn plan(from: f64, peak: f64) -> ReversePlan {
    ReversePlan {
        family: Family::Ipv4,
        variants: Variant::ALL.into(),
        trials: 1,
        duration_ns: 1_200_000_000,
        inbound_from_per_s: from,
        inbound_peak_per_s: peak,
        size_bytes: 64,
        tapped: false,
        cpus: None,
        to: None,
        allow: None,
    }
}

fn measure(plan: ReversePlan) -> Progressed<ReverseResult> {
    run(&plan.validated().unwrap(), &mut Watcher::default(), &AtomicBool::new(false)).unwrap()
}

/// Everything that must hold of any trial, whatever the machine did meanwhile.
fn assert_sound(variant: Variant, trial: &ReverseTrial) {
    let name = variant.name();
    assert_ne!(trial.verdict.level, Level::Void, "{name}: {:?}", trial.verdict);
    assert!(trial.phases.iter().all(|p| p.outgoing_per_s > 0.0), "{name}: {:?}", trial.phases);
    assert!(Phase::ALL.into_iter().eq(trial.phases.iter().map(|p| p.phase)), "{name}");
    assert!(trial.sent > 0 && trial.arrived > 0 && trial.arrived <= trial.sent, "{name}");
    let in_windows: u64 = trial.outgoing.iter().sum();
    assert!(in_windows.abs_diff(trial.sent) * 100 <= trial.sent, "{name}: {in_windows} of {}", trial.sent);
    let shares = trial.phases.iter().map(|p| {
        let s = p.processor;
        s.user + s.system + s.irq + s.softirq + s.idle + s.steal
    });
    // An edge that was read too late to tell leaves nothing between it and the next.
    assert!(shares.into_iter().all(|sum| sum == 0.0 || (sum - 1.0).abs() < 1e-6), "{name}");
    assert!(trial.phases.iter().all(|p| (0.0..=1.0).contains(&p.sender_waited)), "{name}");
}

/// Whether messages came in while they were to, and at no other time.
fn in_time(trial: &ReverseTrial) -> bool {
    let on = trial.phases[Phase::Rise as usize].start_ns..trial.phases[Phase::Peak as usize].end_ns;
    let windows = (0..).map(|i: u64| i * trial.window_ns..(i + 1) * trial.window_ns);
    let expected = windows.zip(&trial.inbound).all(|(window, &count)| {
        // A window of grace at the end: what was queued is read a little later.
        count == 0 || window.end > on.start && window.start < on.end + trial.window_ns
    });
    let [before, rise, peak, after] = [0, 1, 2, 3].map(|i: usize| trial.phases[i].inbound_per_s);
    // 1k to 20k over 0.3 s, and 20k for another 0.3 s.
    let all = (3150 + 6000) * 9 / 10..=3150 + 6000;
    // Counters are read a little after the edge.
    let rates = before < 0.1 * peak && after < 0.1 * peak && rise > 0.0 && rise < peak;
    expected && rates && all.contains(&trial.inbound_sent)
}

fn assert_ways_apart(p: &Progressed<ReverseResult>, tapped: bool) {
    let left_out = &p.result.left_out;
    assert_eq!((p.result.tap, left_out.len()), (tapped.then_some(Tap::Bpf), 0), "{left_out:?}");
    assert!(p.result.steered);
    assert_eq!(p.findings.len(), 4);
    for variant in &p.result.variants {
        let name = variant.variant.name();
        let [trial] = &variant.trials[..] else { panic!("one trial: {name}") };
        assert_sound(variant.variant, trial);
        assert_eq!(trial.inbound_read > 0, variant.variant != Variant::Ignored, "{name}");
        assert!(trial.inbound_read <= trial.inbound_sent, "{name}");
        assert_eq!(trial.stack.is_some(), tapped, "{name}");
        for phase in &trial.phases {
            assert_eq!(phase.stack_mean_ns.is_some(), tapped, "{name}");
            assert_eq!(phase.stages.iter().any(|s| s.stage == Stage::Socket), tapped, "{name}");
        }
        if let Some(stack) = &trial.stack {
            // Answers pass the same hooks, and are not to be taken for messages.
            let timed: u64 = stack.n.iter().sum();
            assert!(timed.abs_diff(trial.sent) * 100 <= trial.sent, "{name}: {timed} of {}", trial.sent);
        }
    }
}

#[test]
fn outgoing_and_incoming_are_counted_separately() {
    needs_root_alone!();
    for tapped in [false, true] {
        unless_disturbed(|| {
            let p = measure(ReversePlan { tapped, ..plan(1000.0, 20_000.0) });
            assert_ways_apart(&p, tapped);
            // Nothing plans the answers of an echo: there are as many as messages arrive.
            let planned = p.result.variants.iter().filter(|v| v.variant != Variant::Echo);
            let late: Vec<_> = planned.filter(|v| !in_time(&v.trials[0])).collect();
            if late.is_empty() { Ok(()) } else { Err(format!("messages came in at other times: {late:?}")) }
        });
    }
}

#[test]
fn what_comes_in_takes_from_what_goes_out() {
    needs_root_alone!();
    let drops = |peak: f64| {
        let variants = vec![Variant::Ignored, Variant::SameThread];
        let p = measure(ReversePlan { variants, trials: 5, duration_ns: 400_000_000, ..plan(1.0, peak) });
        [0, 1].map(|i: usize| median_drop(&p.result.variants[i].trials))
    };
    unless_disturbed(|| {
        let (hardly, strong) = (drops(10.0), drops(5e6));
        let takes = (0..2).all(|i| hardly[i] < 0.3 && strong[i] > 0.1 && strong[i] > hardly[i] + 0.2);
        takes
            .then_some(())
            .ok_or_else(|| format!("of ten messages a second and of many: {hardly:?}, {strong:?}"))
    });
}

/// Half of the trials may be disturbed without it.
fn median_drop(trials: &[ReverseTrial]) -> f64 {
    let rate = |t: &ReverseTrial, phase: Phase| t.phases[phase as usize].outgoing_per_s;
    let mut drops: Vec<f64> =
        trials.iter().map(|t| 1.0 - rate(t, Phase::Peak) / rate(t, Phase::Before)).collect();
    drops.sort_by(f64::total_cmp);
    drops[drops.len() / 2]
}
