//! The record of a trial, made of what the trial did, and the findings of a run.

use netfathom_model::accounting::Fate;
use netfathom_model::environment::{Device, ThreadPlace};
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::{Place, StackPlan, Transport};
use netfathom_model::profile::Profile;
use netfathom_model::record::{
    PathTimes, PeakTimes, StackResult, StageOutcome, StageTimes, Trial, TrialKind, UndisturbedTimes,
};
use netfathom_model::sample::Sample;
use netfathom_model::verdict::{Finding, Verdict};
use netfathom_stats::{Moments, Windowed};

use super::bench::Turn;
use super::judge;
use super::summary::measured;
use super::trial::StackOutcome;
use crate::load::report::{load, series};
use crate::tap::{Collected, unavailable};

pub struct Facts<'a> {
    pub turn: &'a Turn,
    /// Start, from the start of the run.
    pub started_after_ns: u64,
    /// The rate of the burst, where one was made.
    pub flat_out_per_s: Option<f64>,
    pub outcome: &'a StackOutcome,
}

impl Facts<'_> {
    /// The record's view of the trial, with its verdict.
    pub fn trial(&self, plan: &StackPlan, devices: &[Device]) -> Trial {
        let outcome = self.outcome;
        let qdisc = devices.first().map_or("noqueue", |d| d.qdisc.as_str());
        let path =
            |(direction, collected): &(Direction, Collected)| self.path(*direction, collected, plan, qdisc);
        // What a reader on another host takes is none of this tap's doing.
        let delivered = if matches!(plan.place, Place::To(_)) { 0 } else { outcome.read.delivered };
        let mut trial = Trial {
            index: self.turn.index as u32,
            kind: self.turn.kind,
            tap: self.turn.tap,
            started_after_ns: self.started_after_ns,
            load: load(&outcome.sent, &outcome.read, plan.profile.messages()),
            paths: outcome.tapped.paths.iter().map(path).collect(),
            accounting: outcome.accounting.clone(),
            reader_cpu_ns_per_message: (delivered > 0).then(|| outcome.read.cpu_ns as f64 / delivered as f64),
            flat_out_per_s: self.flat_out_per_s,
            captured: outcome.tapped.captured.clone(),
            flow: outcome.flow,
            from: outcome.from.clone(),
            to: outcome.to,
            clock_moved_ns: outcome.tapped.clock_moved_ns,
            added: outcome.tapped.added.clone(),
            verdict: Verdict::default(),
        };
        trial.verdict = judge::trial(&trial);
        trial
    }

    fn path(&self, direction: Direction, c: &Collected, plan: &StackPlan, qdisc: &str) -> PathTimes {
        let window_ns = self.outcome.windows.length_ns();
        let tap = self.turn.tap.unwrap_or(Tap::Bpf);
        let stage = |&stage| {
            let found = c.stages.iter().find(|(s, w)| *s == stage && w.distribution.moments.n > 0);
            let times = match found {
                Some((_, windowed)) => StageOutcome::Measured {
                    distribution: Box::new((&windowed.distribution).into()),
                    series: series(windowed, window_ns),
                },
                None => {
                    let missing = c.missing.iter().find(|(s, _)| *s == stage).map(|(_, why)| why.clone());
                    StageOutcome::Unavailable(missing.unwrap_or_else(|| unavailable(tap, stage, qdisc)))
                }
            };
            StageTimes { stage, times }
        };
        PathTimes {
            direction,
            total: (&c.total.distribution).into(),
            peak: self.peak(&c.total, &plan.profile),
            undisturbed: c.undisturbed.as_ref().map(|u| UndisturbedTimes {
                judged: u.judged,
                times: (&u.times.distribution).into(),
                stages: (u.stages.iter())
                    .filter(|(_, times)| times.moments.n > 0)
                    .map(|(stage, times)| measured(*stage, times, &u.times.distribution))
                    .collect(),
                peak: self.peak(&u.times, &plan.profile),
                series: series(&u.times, window_ns),
                missed_slots: u.lateness.missed_slots,
                lag_p99_of_interval: u.lateness.p99_of_slot(),
            }),
            stages: direction
                .stages()
                .iter()
                .filter(|&&stage| stage != Stage::Sendq || plan.transport == Transport::Tcp)
                .map(stage)
                .filter(|row| tap.has(row.stage) || row.times.distribution().is_some())
                .collect(),
            series: series(&c.total, window_ns),
        }
    }

    fn peak(&self, total: &Windowed, profile: &Profile) -> Option<PeakTimes> {
        let windows = self.outcome.windows;
        let peak = windows.peak(profile);
        let mut moments = Moments::default();
        peak.iter().filter_map(|&i| total.windows.get(i)).for_each(|m| moments.merge(m));
        let departures: u64 =
            peak.iter().filter_map(|&i| self.outcome.sent.lag.windows.get(i)).map(|m| m.n).sum();
        // A sender that fell behind goes on after the plan's end.
        let end_ns = profile.duration_ns().max(self.outcome.sent.end_ns());
        let time_s: f64 = peak.iter().map(|&i| windows.within_s(i, end_ns)).sum();
        Some(PeakTimes {
            count: moments.n,
            mean_ns: moments.mean()?,
            min_ns: moments.min,
            max_ns: moments.max,
            mean_error_ns: moments.mean_error(),
            reached_per_s: departures as f64 / time_s.max(1e-9),
        })
    }
}

/// Fills in the intended departure of samples that never arrived, from the plan.
pub fn completed(mut samples: Vec<Sample>, plan: &StackPlan, start_ns: u64) -> Vec<Sample> {
    let mut lost: Vec<&mut Sample> = samples.iter_mut().filter(|s| s.received_ns.is_none()).collect();
    lost.sort_by_key(|s| s.sequence);
    let numbers: Vec<u64> = lost.iter().map(|s| s.sequence).collect();
    for (sample, due) in lost.into_iter().zip(plan.profile.due_of(plan.seed, numbers)) {
        sample.intended_ns = due.map_or(0, |due| start_ns + due);
    }
    samples
}

/// Times of ends that take turns on one CPU are short for another reason than those of two.
pub fn shared_cpu(threads: &[ThreadPlace]) -> Option<Finding> {
    let of = |role: &'static str| threads.iter().filter(move |t| t.role == role).map(|t| t.cpu);
    let cpu = of("reader").find(|&cpu| of("sender").any(|sender| sender == cpu))?;
    Some(Finding {
        seen: format!(
            "sender and reader share CPU {cpu}: no wake-up crosses CPUs, and the reader waits until the sender sleeps"
        ),
        cause: "--cpu, taskset or the machine leaves them one CPU".into(),
        evidence: format!("both threads were bound to CPU {cpu}"),
        remedy: "give them a CPU each (--cpu), or compare only with runs on one CPU".into(),
    })
}

pub fn findings(result: &StackResult) -> Vec<Finding> {
    let measured = || result.trials.iter().filter(|t| t.kind == TrialKind::Measured);
    let mut findings = Vec::new();
    let full: u64 = measured().map(|t| t.accounting.count(&Fate::SocketBufferFull)).sum();
    let sent: u64 = measured().map(|t| t.load.sent).sum();
    if full > 0 {
        findings.push(Finding {
            seen: "messages were dropped at the reader's socket".into(),
            cause: "the reader did not run, or was slower than the load, for longer than the receive buffer lasts"
                .into(),
            evidence: format!("{full} of {sent} messages found the receive buffer full"),
            remedy: "lower the rate, or give the reader a CPU of its own with --cpu".into(),
        });
    }
    let negative: u64 = measured().flat_map(|t| &t.paths).map(|p| p.total.negative).sum();
    if negative > 0 {
        findings.push(Finding {
            seen: "some stack times are below zero".into(),
            cause: "the stamps of two clocks were compared, and one of them moved".into(),
            evidence: format!("{negative} negative times; they are kept and counted in every mean"),
            remedy: "use the bpf tap, which reads the application's own clock".into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_on_one_cpu_are_named() {
        let places = |cpus: &[(&str, usize)]| {
            let place = |&(role, cpu): &(&str, usize)| ThreadPlace { role: role.to_owned(), cpu };
            shared_cpu(&cpus.iter().map(place).collect::<Vec<_>>()).map(|finding| finding.seen)
        };
        let shared = places(&[("sender", 0), ("sender", 1), ("reader", 1)]).unwrap();
        assert!(shared.starts_with("sender and reader share CPU 1: "), "{shared}");
        assert_eq!(places(&[("sender", 0), ("reader", 1)]), None);
        assert_eq!(places(&[("sender", 0)]), None);
    }
}
