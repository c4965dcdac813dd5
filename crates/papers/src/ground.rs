//! What an experiment's plans are made for: this machine, its limit, and what this user may.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netfathom_model::plan::{Family, Place, ReproducePlan, StackPlan};
use netfathom_model::print::Scale;
use netfathom_model::profile::Profile;
use netfathom_model::record::{ReproduceResult, StackResult};
use netfathom_model::units::format_rate;
use netfathom_model::verdict::Finding;
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::cpu;
use netfathom_sys::directory::Directory;

use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::Live;
use netfathom_measure::ground::observer::{Observer, Step};
use netfathom_measure::kind::stack;

/// Bursts without pauses; the middle one counts.
const BURSTS: u32 = 3;
/// What must go before each burst: nearly nothing.
const BEFORE_BURST: Profile = Profile::Constant { rate_per_s: 1000.0, duration_ns: 50_000_000 };
/// More senders than this no experiment needs.
const MOST_WORKERS: usize = 4;

/// How much of an experiment is made.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Trials, where the experiment has more.
    pub most_trials: u32,
    pub of_time: f64,
}

impl Size {
    pub const WHOLE: Self = Self { most_trials: u32::MAX, of_time: 1.0 };
}

pub struct Ground<'a> {
    pub plan: &'a ReproducePlan,
    size: Size,
    observer: &'a mut dyn Observer<ReproduceResult>,
    stop: &'a AtomicBool,
    findings: Vec<Finding>,
}

impl<'a> Ground<'a> {
    /// For this plan, in that size.
    pub fn new(
        plan: &'a ReproducePlan,
        size: Size,
        observer: &'a mut dyn Observer<ReproduceResult>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self { plan, size, observer, stop, findings: Vec::new() }
    }

    /// Number of trials: `quick` in the short form, `full` in the paper's.
    pub fn trials(&self, quick: u32, full: u32) -> u32 {
        let usual = if self.plan.quick { quick } else { full };
        usual.min(self.size.most_trials)
    }

    /// Length of a trial in nanoseconds: `quick_s` seconds in the short form, `full_s` in the
    /// paper's.
    pub fn length_ns(&self, quick_s: f64, full_s: f64) -> u64 {
        let usual = if self.plan.quick { quick_s } else { full_s };
        (usual * self.size.of_time * 1e9) as u64
    }

    pub fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// The other host if there is one; otherwise on this.
    pub fn place(&self) -> Place {
        self.plan.to.iter().flatten().next().map_or_else(|| self.here(), |&to| Place::To(to))
    }

    /// The lab where it can be made, loopback otherwise.
    fn here(&self) -> Place {
        let needed = [Capability::NetAdmin, Capability::SysAdmin];
        let may = effective().is_ok_and(|have| needed.iter().all(|c| have.contains(c)));
        if may { Place::Lab } else { Place::Loopback }
    }

    /// That of the other host's address.
    pub fn family(&self) -> Family {
        match self.place() {
            Place::To(to) if to.is_ipv6() => Family::Ipv6,
            _ => Family::Ipv4,
        }
    }

    /// Senders at the same time: as many as have a processor of their own beside the reader.
    /// Those that share one are late by a scheduler's slice each time, and nothing is left
    /// of the profile.
    pub fn workers(&self) -> u32 {
        let readers = usize::from(!matches!(self.place(), Place::To(_)));
        let beside_reader = cpu::allowed().map_or(1, |all| all.len().saturating_sub(readers));
        beside_reader.clamp(1, MOST_WORKERS) as u32
    }

    /// The highest rate to ask of a plan: a share of what a burst without pauses reaches here
    /// with the plan's tap and senders, two digits of it. `None` once the user wants an end.
    pub fn highest_rate(&mut self, plan: &StackPlan, share: f64) -> Result<Option<f64>, RunError> {
        let burst = StackPlan {
            // A network may take less than this machine sends: it is not flooded to find out.
            place: self.here(),
            profile: BEFORE_BURST,
            trials: BURSTS,
            baselines: 0,
            cross_checks: 0,
            ..plan.clone()
        };
        let mut watched = Bursts { observer: &mut *self.observer };
        let progressed = stack::run(&burst, &mut watched, self.stop)?;
        let mut reached: Vec<f64> =
            progressed.result.trials.iter().filter_map(|trial| trial.flat_out_per_s).collect();
        reached.sort_by(f64::total_cmp);
        let Some(&limit) = reached.get(reached.len() / 2) else { return Ok(None) };
        let highest = two_digits(share * limit);
        self.findings.push(limit_found(&reached, limit, highest));
        Ok(Some(highest))
    }
}

/// One processor for what is to share it.
pub fn last_processor() -> usize {
    cpu::allowed().ok().and_then(|all| all.last().copied()).unwrap_or(0)
}

/// A number that people can read and type again.
fn two_digits(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).floor() * unit
}

fn limit_found(reached: &[f64], limit: f64, highest: f64) -> Finding {
    let bursts: Vec<String> = reached.iter().map(|&r| Scale::Multiple.text(r)).collect();
    Finding {
        seen: format!("the rate of each trial goes up to {} messages a second", format_rate(highest)),
        cause: format!(
            "a burst without pauses reached {} here with the tap on; a profile that goes as high leaves no \
             time between messages, and the sender falls behind",
            Scale::Multiple.text(limit)
        ),
        evidence: format!("bursts: {} messages a second", bursts.join(", ")),
        remedy: "for a higher rate use a machine with more or faster CPUs, or keep others off this one"
            .into(),
    }
}

/// Tells of the bursts, but keeps nothing: there is no result yet.
struct Bursts<'a> {
    observer: &'a mut dyn Observer<ReproduceResult>,
}

impl Observer<StackResult> for Bursts<'_> {
    fn directory(&self) -> Option<&Directory> {
        self.observer.directory()
    }

    fn begins(&mut self, step: Step, live: &Arc<Live>) {
        let name = format!("limit of this machine: burst {} of {}", step.number, step.of);
        self.observer.begins(Step { name, ..step }, live);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_cut_to_two_digits() {
        for (value, cut) in [(123_456.0, 120_000.0), (999.9, 990.0), (87_654.3, 87_000.0)] {
            assert!((two_digits(value) - cut).abs() < 1e-6, "{value}");
        }
    }
}
