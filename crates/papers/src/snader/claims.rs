//! What the book says, and whether it holds here.

use netfathom_model::record::{CallTimes, Claim, Holds, SweepTrial};
use netfathom_stats::{Estimate, ratio};

use super::derived::SEGMENT_BYTES;
use super::ours::{Ours, between, named, rates};
use super::plans::{LAB, LESS_THAN_LOOPBACKS_SEGMENT, LOOPBACK, PATH};
use super::tables::buffer_limited;
use crate::claim::{above, written};

const THERE: &str = "12217 KB/s with the default buffer, and its account of the run with -b 1448; the figure of that run \
                     is not at hand";
/// As long as Linux puts an acknowledgement off (TCP_DELACK_MIN).
const DELAYED_S: f64 = 0.04;
/// A transfer that waits for more than this part of its time stalls.
const STALLS: f64 = 0.1;
/// A larger buffer tells where it is surely this many times as fast.
const GROWS: f64 = 1.5;
const SMALL: u32 = 16 << 10;
const LARGE: u32 = 64 << 10;

pub fn all(ours: &[Ours<'_>]) -> Vec<Claim> {
    // Without a lab loopback has to stand for a path without a delay.
    let near = named(ours, LAB).or(named(ours, LOOPBACK));
    let path = named(ours, PATH);
    let mut claims = Vec::new();
    if let Some(near) = near {
        claims.push(slower(&near, "where there is no delay"));
        claims.push(stalls(&near, SEGMENT_BYTES));
    }
    if let Some(loopback) = named(ours, LOOPBACK) {
        claims.push(stalls(&loopback, LESS_THAN_LOOPBACKS_SEGMENT));
    }
    if let Some(path) = path {
        claims.push(slower(&path, "over a path with a delay"));
        claims.push(stalls(&path, SEGMENT_BYTES));
        claims.push(by_the_buffer(&path));
        claims.push(grows(&path));
    }
    claims
}

/// How many times as fast the system's buffer is as that of one segment.
pub fn times_as_slow(ours: &Ours<'_>, no_delay: bool) -> Option<Estimate> {
    let of = |buffer| rates(ours.point(buffer, no_delay));
    ratio(&of(None), &of(Some(SEGMENT_BYTES)))
}

fn slower(ours: &Ours<'_>, which: &str) -> Claim {
    let times = times_as_slow(ours, false);
    Claim {
        says: format!("A send buffer of one segment makes a transfer slower, {which}"),
        there: THERE.into(),
        here: format!(
            "{}: the system's buffer is {} times as fast; with -D, {} times (95 % intervals between the trials)",
            ours.name,
            written(times, 2),
            written(times_as_slow(ours, true), 2)
        ),
        holds: above(times, 1.0),
    }
}

/// Part of a trial's time that went by in calls as long as a delayed acknowledgement.
fn in_delayed_calls(trial: &SweepTrial) -> Option<f64> {
    let s = trial.duration_ns as f64 / 1e9;
    (s > 0.0).then_some(trial.calls_took?.delayed_calls as f64 * DELAYED_S / s)
}

/// The book's cause, with a buffer of so many bytes.
fn stalls(ours: &Ours<'_>, buffer: u32) -> Claim {
    let point = ours.point(Some(buffer), false);
    let share = between(point, in_delayed_calls);
    let at_once = between(ours.point(Some(buffer), true), in_delayed_calls);
    let ms = |of: fn(&CallTimes) -> u64| {
        let e = between(point, |t| t.calls_took.as_ref().map(|took| of(took) as f64 / 1e6));
        written(e, 3)
    };
    let holds = above(share, STALLS);
    Claim {
        says: format!(
            "Writes wait for delayed acknowledgements where the buffer is small ({}, -b {buffer})",
            ours.name
        ),
        there:
            "its explanation: a write blocks until what was sent is acknowledged, which takes up to 200 ms"
                .into(),
        here: format!(
            "{} % of the time went by in writes of 30 to 60 ms, as long as Linux puts an acknowledgement off, with -D \
             {} %; the median write took {} ms, the longest {} ms (95 % intervals between the trials){}",
            written(share.map(percent), 1),
            written(at_once.map(percent), 1),
            ms(|took| took.p50_ns),
            ms(|took| took.longest_ns),
            why(holds)
        ),
        holds,
    }
}

/// What the kernel does there.
fn why(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => {
            "; the buffer holds less than a segment, so that none is ever full: Nagle's algorithm keeps the rest back \
             until what was sent is acknowledged, and the receiver puts that off"
        }
        Holds::No => {
            "; the buffer holds more than two segments, as the kernel asks for room only before it begins a packet, and \
             the receiver acknowledges those at once"
        }
        Holds::CannotTell => "",
    }
}

fn percent(e: Estimate) -> Estimate {
    Estimate { value: 100.0 * e.value, half_width: 100.0 * e.half_width }
}

/// Over a path it is the buffer that holds the transfer up: with a larger one, and nothing else
/// changed, it is faster.
fn by_the_buffer(path: &Ours<'_>) -> Claim {
    let point = path.point(Some(SMALL), false);
    let counted = between(point, buffer_limited);
    let told = point.and_then(|p| p.cause);
    let words = told.map_or("n/a".into(), |(c, share)| format!("{} ({:.0} %)", c.name(), 100.0 * share));
    let times = ratio(&rates(path.point(None, false)), &rates(point));
    Claim {
        says: "A write waits because the send buffer is full of what is not acknowledged".into(),
        there: "its explanation of the run with -b 1448; here over a path with a delay, with 16 KiB".into(),
        here: format!(
            "with the system's buffer the same path takes {} times as much (surely more than {GROWS} is decisive); by the \
             kernel's own count (tcpi_sndbuf_limited) the buffer held it up for {} % of the busy time (95 % intervals \
             between the trials); told of most trials: {words}",
            written(times, 2),
            written(counted.map(percent), 1)
        ),
        holds: above(times, GROWS),
    }
}

/// Buffer over round trip.
fn grows(path: &Ours<'_>) -> Claim {
    let of = |buffer| rates(path.point(Some(buffer), false));
    let times = ratio(&of(LARGE), &of(SMALL));
    Claim {
        says: "The rate is that of a buffer a round trip: a larger buffer is as much faster".into(),
        there: "what follows from its explanation; it has no such run".into(),
        here: format!(
            "64 KiB is {} times as fast as 16 KiB (95 % interval between the trials); grown is what is surely above {GROWS}",
            written(times, 2)
        ),
        holds: above(times, GROWS),
    }
}
