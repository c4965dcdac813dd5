//! `--engine auto`: the lowest step of the ladder that reaches the wanted rate in time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::engine::Engine;
use netfathom_model::print::{Scale, share_of};
use netfathom_model::profile::Profile;
use netfathom_model::record::{LadderStep, LeftOut};
use netfathom_model::units::format_rate;

use crate::load::error::FlightError;
use crate::load::flight::Departures;
use crate::load::judge::MOST_LAG;
use crate::load::shot::ShotOutcome;

/// Length of a burst without pauses.
const BURST_NS: u64 = 200_000_000;
const TRY_NS: u64 = 300_000_000;
/// A rate is reached when so much of it is.
const REACHED: f64 = 0.999;

/// Tries the engines in order, by `fly`, until one reaches the peak of the profile in time.
/// If none does, the lowest that reaches it at all is taken, or else the fastest. Returns also
/// the engines that do not work here.
///
/// `bursts` says whether each may be tried without pauses first; a network that others use gets
/// no more than the plan has for it.
pub fn climb(
    engines: &[Engine],
    peak_per_s: f64,
    bursts: bool,
    stop: &AtomicBool,
    mut fly: impl FnMut(Engine, u64, Departures<'_>) -> Result<ShotOutcome, FlightError>,
) -> Result<(Engine, Vec<LadderStep>, Vec<LeftOut>), FlightError> {
    let (mut steps, mut left_out): (Vec<LadderStep>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for &engine in engines {
        if stop.load(Relaxed) {
            break;
        }
        match step(engine, peak_per_s, bursts, &mut fly) {
            Ok(step) => {
                let taken = step.taken;
                steps.push(step);
                if taken {
                    break;
                }
            }
            // Not the engine's own.
            Err(e @ (FlightError::PeerLost(_) | FlightError::Control(_))) => return Err(e),
            Err(e) if engine == Engine::Send => return Err(e),
            Err(e) => left_out.push(LeftOut {
                what: format!("engine {}", engine.name()),
                reason: e.to_string(),
                remedy: "see what this machine has with `netfathom host`".into(),
            }),
        }
    }
    let engine = take(&mut steps, peak_per_s);
    Ok((engine, steps, left_out))
}

fn step(
    engine: Engine,
    peak_per_s: f64,
    bursts: bool,
    fly: &mut impl FnMut(Engine, u64, Departures<'_>) -> Result<ShotOutcome, FlightError>,
) -> Result<LadderStep, FlightError> {
    let flat_out = if bursts { Some(fly(engine, BURST_NS, Departures::FlatOut)?.sent.per_s()) } else { None };
    let mut step = LadderStep {
        engine,
        flat_out_per_s: flat_out,
        lag_p99_of_slot: None,
        taken: false,
        why: String::new(),
    };
    if let Some(flat_out) = flat_out.filter(|&rate| rate < peak_per_s) {
        step.why = format!(
            "reaches {} a second without pauses, {} are wanted",
            Scale::Multiple.text(flat_out),
            format_rate(peak_per_s)
        );
        return Ok(step);
    }
    let profile = Profile::Constant { rate_per_s: peak_per_s, duration_ns: TRY_NS };
    let sent = fly(engine, TRY_NS, Departures::Planned(&profile, 0))?.sent;
    let lag = sent.lateness.p99_of_slot();
    step.lag_p99_of_slot = Some(lag);
    if !bursts {
        step.flat_out_per_s = Some(sent.per_s().min(peak_per_s));
        if sent.unsent > 0 || sent.per_s() < REACHED * peak_per_s {
            step.flat_out_per_s = Some(sent.per_s().min(REACHED * peak_per_s));
            step.why = format!("does not sustain {} per second", format_rate(peak_per_s));
            return Ok(step);
        }
    }
    step.taken = lag <= MOST_LAG;
    let lag = share_of(lag, "send slot");
    step.why = if step.taken {
        format!("the lowest step that reaches the rate on schedule: p99 lag is {lag}")
    } else {
        format!("reaches the rate, but late: p99 lag is {lag}, 10 % are allowed")
    };
    Ok(step)
}

/// The step that is taken; where none was in time, the next best, and why.
fn take(steps: &mut [LadderStep], peak_per_s: f64) -> Engine {
    if let Some(step) = steps.iter().find(|s| s.taken) {
        return step.engine;
    }
    let rate = |s: &LadderStep| s.flat_out_per_s.unwrap_or(0.0);
    let reaches = steps.iter().position(|s| rate(s) >= peak_per_s);
    let fastest = (0..steps.len()).max_by(|&a, &b| rate(&steps[a]).total_cmp(&rate(&steps[b])));
    let (index, why) = match (reaches, fastest) {
        (Some(index), _) => {
            (index, "taken all the same: the lowest that reaches the rate, none was on schedule")
        }
        (None, Some(index)) => (index, "taken all the same: the fastest here"),
        (None, None) => return Engine::Send,
    };
    steps[index].taken = true;
    steps[index].why = format!("{}; {why}", steps[index].why);
    steps[index].engine
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(engine: Engine, rate: f64) -> LadderStep {
        LadderStep {
            engine,
            flat_out_per_s: Some(rate),
            lag_p99_of_slot: None,
            taken: false,
            why: "x".into(),
        }
    }

    #[test]
    fn where_none_is_in_time_the_lowest_that_reaches_the_rate_is_taken() {
        let mut steps = [step(Engine::Send, 1e5), step(Engine::Sendmmsg, 3e5), step(Engine::Gso, 9e5)];
        assert_eq!(take(&mut steps, 2e5), Engine::Sendmmsg);
        assert!(steps[1].taken && steps[1].why.contains("none was on schedule"));
    }

    #[test]
    fn where_none_reaches_it_the_fastest_is_taken() {
        let mut steps = [step(Engine::Send, 1e5), step(Engine::Gso, 9e5), step(Engine::Sendmmsg, 3e5)];
        assert_eq!(take(&mut steps, 1e7), Engine::Gso);
    }
}
