//! One capture joined with one log.

use std::sync::atomic::AtomicBool;

use netfathom_capture::join::{ClockFit, Fit, Fitted, Joined, Jump, Options, Sighting, join as join_both};
use netfathom_capture::log::{Columns, Messages};
use netfathom_capture::packet::PacketDirection;
use netfathom_model::plan::{ClockChoice, JoinPlan};
use netfathom_model::record::{ClockOffset, PacketKind};

use super::files::{self, JoinError, Watched};
use super::times::Times;
use crate::ground::observer::Live;

/// A capture and a log, and what came of them.
#[derive(Debug)]
pub struct Pair {
    /// The capture, by its place among them.
    pub capture: usize,
    /// The log, by its place among them.
    pub log: usize,
    pub capture_format: String,
    pub log_format: String,
    pub columns: Columns,
    pub joined: Joined,
    /// From the application to the capture.
    pub out: Times,
    /// From the capture to the application.
    pub inward: Times,
    /// How many were seen on both their ways through one host.
    pub both_ways: u64,
    /// Joined messages that have no send time in the log.
    pub unsent: u64,
    fit: Option<Fit>,
}

impl Pair {
    pub fn joined_count(&self) -> u64 {
        self.joined.kinds.of(PacketKind::Joined)
    }

    pub fn jump(&self) -> Option<Jump> {
        self.fit?.jump
    }

    pub fn offset(&self, choice: ClockChoice) -> ClockOffset {
        let clock = self.joined.clock;
        let of = |offset_ns, moved_ns, drift_ppm, how: &str| ClockOffset {
            capture: self.capture as u32,
            log: self.log as u32,
            offset_ns,
            moved_ns,
            drift_ppm,
            how: how.into(),
        };
        match (choice, self.fit, clock.statements) {
            (ClockChoice::Fitted, Some(fit), _) => {
                let drift = (fit.fitted.drift != 0.0).then_some(1e6 * fit.fitted.drift);
                let at_begin = fit.fitted.ahead_ns(self.joined.first_ns);
                of(at_begin, fit.moved_ns, drift, "fitted, so that the shortest way takes no time")
            }
            (ClockChoice::Fitted, None, _) => {
                of(0, None, None, "nothing was joined that it could be fitted to")
            }
            (ClockChoice::Stated, _, 0) => {
                of(0, None, None, "the log states none, so it is that of the capture")
            }
            (ClockChoice::Stated, _, statements) => {
                let moved = clock.ahead_ns.wrapping_sub(clock.first_ahead_ns);
                let moved = (statements > 1).then_some(moved);
                of(clock.first_ahead_ns, moved, None, "stated by the log")
            }
        }
    }
}

/// Joins a capture with a log, both given by their places in the plan.
pub fn join(
    plan: &JoinPlan,
    (capture, log): (usize, usize),
    live: &Live,
    stop: &AtomicBool,
) -> Result<Pair, JoinError> {
    let fit = match plan.clock {
        ClockChoice::Stated => None,
        ClockChoice::Fitted => fit(plan, (capture, log), live, stop)?,
    };
    let (packets, capture_format) = files::capture(&plan.captures[capture], stop)?;
    let (messages, log_format) = files::log(&plan.logs[log], stop)?;
    let columns = messages.columns();
    let mut messages = Watched::new(messages, live, stop);
    let options = Options { fitted: fit.map(|fit| fit.fitted), ..options(plan) };
    let mut ways = Ways::default();
    let joined = join_both(&mut Watched::new(packets, live, stop), &mut messages, &options, |sighting| {
        ways.add(sighting);
    });
    let Ways { out, inward, both_ways, unsent } = ways;
    let [out, inward] = [out, inward].map(|[chosen, other]| {
        let none = chosen.count() + chosen.apart == 0;
        if none { other } else { chosen }
    });
    let pair = Pair {
        capture,
        log,
        capture_format,
        log_format,
        columns,
        joined,
        out,
        inward,
        both_ways,
        unsent,
        fit,
    };
    Ok(pair)
}

pub fn options(plan: &JoinPlan) -> Options {
    Options { numbering: plan.numbering, port: plan.port, way: None, window: plan.window, fitted: None }
}

/// How the clock of a capture is ahead of a log's, by what lies between the two.
fn fit(
    plan: &JoinPlan,
    (capture, log): (usize, usize),
    live: &Live,
    stop: &AtomicBool,
) -> Result<Option<Fit>, JoinError> {
    let (packets, _) = files::capture(&plan.captures[capture], stop)?;
    let (messages, _) = files::log(&plan.logs[log], stop)?;
    // Whatever the log states: as they stand in the two files.
    let options = Options { fitted: Some(Fitted::default()), ..options(plan) };
    let sent = messages.columns().sent;
    let mut fit = ClockFit::default();
    let mut messages = Watched::new(messages, live, stop);
    join_both(&mut Watched::new(packets, live, stop), &mut messages, &options, |sighting| {
        let difference_ns = if sent { sighting.out_ns() } else { sighting.in_ns() };
        let times = sighting.captured_ns.zip(difference_ns);
        if let Some((captured_ns, difference_ns)) = times.filter(|_| sighting.in_log) {
            fit.add(captured_ns, difference_ns);
        }
    });
    Ok(fit.fit().map(|fit| if sent { fit } else { turned(fit) }))
}

/// From what the log is ahead of the capture to what the capture is ahead of the log.
fn turned(fit: Fit) -> Fit {
    let Fitted { offset_ns, at_ns, drift } = fit.fitted;
    let fitted = Fitted { offset_ns: offset_ns.wrapping_neg(), at_ns, drift: -drift };
    Fit { fitted, moved_ns: fit.moved_ns.map(|moved| -moved), ..fit }
}

/// Times of both ways, each at the place where they are to be taken, and beside it where they
/// are taken if there is no such place: a capture may show a message on one way only.
#[derive(Debug, Default)]
struct Ways {
    out: [Times; 2],
    inward: [Times; 2],
    both_ways: u64,
    unsent: u64,
}

impl Ways {
    #[inline]
    fn add(&mut self, sighting: &Sighting) {
        self.both_ways += u64::from(!sighting.first);
        self.unsent += u64::from(sighting.first && sighting.in_log && sighting.sent_ns.is_none());
        let inward_bound = sighting.way == Some(PacketDirection::In);
        if let Some((sent_ns, time_ns)) = sighting.sent_ns.zip(sighting.out_ns())
            && (sighting.first || !inward_bound)
        {
            self.out[usize::from(inward_bound)].add(sent_ns as i64, time_ns, sighting.uncertainty_ns);
        }
        if let Some((captured_ns, time_ns)) = sighting.captured_ns.zip(sighting.in_ns())
            && (sighting.first || inward_bound)
        {
            self.inward[usize::from(!inward_bound)].add(captured_ns, time_ns, sighting.uncertainty_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_message_without_a_send_time_is_unsent_and_no_other() {
        let sighting = Sighting {
            flow: 1,
            sequence: 1,
            sent_ns: Some(5),
            stamped_ns: None,
            received_ns: None,
            captured_ns: Some(9),
            uncertainty_ns: 0,
            way: Some(PacketDirection::Out),
            first: true,
            in_log: true,
        };
        let mut ways = Ways::default();
        // One that the capture saw on its way in alone, one again on its way in, and one that the log has not.
        let way = Some(PacketDirection::In);
        for others in [
            sighting,
            Sighting { way, ..sighting },
            Sighting { way, first: false, sent_ns: None, ..sighting },
            Sighting { in_log: false, sent_ns: None, ..sighting },
        ] {
            ways.add(&others);
            assert_eq!(ways.unsent, 0, "{others:?}");
        }
        ways.add(&Sighting { sent_ns: None, ..sighting });
        assert_eq!(ways.unsent, 1);
    }
}
