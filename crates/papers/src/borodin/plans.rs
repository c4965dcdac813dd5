//! The plans of the experiments, in the paper's size and in a short form.

use netfathom_model::path::Direction;
use netfathom_model::plan::{ReversePlan, StackPlan, Transport, Variant};
use netfathom_model::profile::Profile;

use crate::ground::Ground;
use crate::part::Part;
use netfathom_measure::ground::error::RunError;

pub const TRIALS: u32 = 10;
/// As few as still give an interval that decides something: t is 2.78 for five, 4.30 for three.
pub const QUICK_TRIALS: u32 = 5;
/// A trial of the paper has at least 0.79 M messages, most have more than a million.
const MESSAGES: f64 = 1.1e6;
/// Shortest duration of a ramp, however fast the machine is.
const RAMP_S: f64 = 10.0;
const QUICK_RAMP_S: f64 = 8.0;
/// A ramp up to the rate of a burst would end in nothing but lag: a burst does not wait for a receiver.
const SHARE_OF_LIMIT: f64 = 0.7;
/// The same where a reader keeps up as well: on a machine of two processors its wake-ups take
/// the sender's time.
const SHARE_WITH_READER: f64 = 0.5;
/// The peak of the paper's triangle.
const PEAK_PER_S: f64 = 9000.0;
/// The paper does not say how long its triangle took.
const TRIANGLE_S: f64 = 60.0;
const QUICK_TRIANGLE_S: f64 = 10.0;
/// The parts of the experiment on answers.
pub const RATES: &str = "rates";
pub const TIMES: &str = "stack times";
const REVERSE_S: f64 = 16.0;
const QUICK_REVERSE_S: f64 = 4.0;

/// A ramp up to the limit of this machine.
pub fn ramp(
    ground: &mut Ground<'_>,
    name: &'static str,
    directions: &[Direction],
) -> Result<Vec<Part>, RunError> {
    let mut plan = stack(ground, directions, Profile::Constant { rate_per_s: 1.0, duration_ns: 0 });
    let share = if directions.contains(&Direction::Rx) { SHARE_WITH_READER } else { SHARE_OF_LIMIT };
    let Some(highest) = ground.highest_rate(&plan, share)? else { return Ok(Vec::new()) };
    plan.profile = ramp_to(highest, ground.length_ns(QUICK_RAMP_S, full_ramp_s(highest)));
    if !ground.plan.quick {
        // The ruler's own cost, and a second opinion.
        (plan.baselines, plan.cross_checks) = (2, 2);
    }
    Ok(vec![Part::new(name, plan)])
}

/// From a hundredth of its highest rate on: a ramp holds half as much as a constant rate.
fn ramp_to(highest_per_s: f64, duration_ns: u64) -> Profile {
    Profile::Ramp { from_per_s: highest_per_s / 100.0, to_per_s: highest_per_s, duration_ns }
}

fn full_ramp_s(highest_per_s: f64) -> f64 {
    (2.0 * MESSAGES / highest_per_s).ceil().max(RAMP_S)
}

/// Up to the paper's peak and down again, the same on every machine.
pub fn triangle(ground: &mut Ground<'_>) -> Result<Vec<Part>, RunError> {
    let profile = up_and_down(ground.length_ns(QUICK_TRIANGLE_S, TRIANGLE_S));
    let mut plan = stack(ground, &[Direction::Rx], profile);
    plan.baselines = if ground.plan.quick { 0 } else { 2 };
    Ok(vec![Part::new("incoming", plan)])
}

fn up_and_down(duration_ns: u64) -> Profile {
    Profile::Triangle { from_per_s: PEAK_PER_S / 100.0, to_per_s: PEAK_PER_S, cap_per_s: None, duration_ns }
}

/// Full load out, and load in in the middle of it: once for the rates, and once more for the stack times,
/// which cost rate.
pub fn reverse(ground: &mut Ground<'_>) -> Result<Vec<Part>, RunError> {
    let rates = ReversePlan {
        family: ground.family(),
        variants: vec![Variant::Ignored, Variant::OtherThread],
        trials: ground.trials(QUICK_TRIALS, TRIALS),
        duration_ns: ground.length_ns(QUICK_REVERSE_S, REVERSE_S),
        inbound_from_per_s: 1e3,
        inbound_peak_per_s: 100e3,
        size_bytes: 64,
        tapped: false,
        cpus: None,
        to: ground.plan.to.clone(),
        allow: ground.plan.allow.clone(),
    };
    let times = ReversePlan { variants: vec![Variant::Ignored], tapped: true, ..rates.clone() };
    Ok(vec![Part::new(RATES, rates), Part::new(TIMES, times)])
}

/// Outgoing messages over one connection, or in datagrams.
pub fn over(ground: &Ground<'_>, transport: Transport, profile: Profile) -> StackPlan {
    StackPlan { transport, workers: 1, ..stack(ground, &[Direction::Tx], profile) }
}

/// What all plans of the stack have in common. Without baselines and cross-checks.
pub fn stack(ground: &Ground<'_>, directions: &[Direction], profile: Profile) -> StackPlan {
    StackPlan {
        directions: directions.to_vec(),
        place: ground.place(),
        family: ground.family(),
        allow: ground.plan.allow.clone().unwrap_or_default(),
        trials: ground.trials(QUICK_TRIALS, TRIALS),
        tap: ground.plan.tap,
        seed: ground.plan.seed,
        workers: ground.workers(),
        ..StackPlan::one_trial(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full_ramp(highest_per_s: f64) -> Profile {
        ramp_to(highest_per_s, (full_ramp_s(highest_per_s) * 1e9) as u64)
    }

    #[test]
    fn a_full_trial_has_the_papers_size() {
        for highest in [50e3, 110e3, 1e6] {
            assert!(full_ramp(highest).messages() >= 1_100_000, "{highest}");
            assert!(full_ramp(highest).duration_ns() >= 10_000_000_000);
        }
    }

    #[test]
    fn the_triangle_falls_as_soon_as_it_is_at_its_peak() {
        let profile = up_and_down(10_000_000_000);
        let ends: Vec<(f64, f64)> = profile.pieces().iter().map(|p| (p.from_per_s, p.to_per_s)).collect();
        assert_eq!(ends, [(90.0, 9000.0), (9000.0, 90.0)]);
    }

    #[test]
    fn profiles_are_written_and_read_again() {
        for profile in [ramp_to(110e3, 8_000_000_000), full_ramp(970e3), up_and_down(60_000_000_000)] {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
    }
}
