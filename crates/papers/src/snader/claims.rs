//! What the book says, and whether it holds here.

use netfathom_model::record::{CallTimes, Claim, Holds, Origin, SweepTrial};
use netfathom_stats::{Estimate, ratio};

use super::originals::SEGMENT_BYTES;
use super::ours::{Ours, between, rates};
use super::plans::{LAB, LESS_THAN_LOOPBACKS_SEGMENT, LOOPBACK, PATH, RECEIVERS, beside};
use super::tables::buffer_limited;
use crate::beside::named;
use crate::claim::{ALIKE, above, both, percent, within, written};

const SLOWER_THERE: &str = "1.341030 s, 12217.474628 KB/sec with the default buffer; 2457.246699 s, 6.667625 KB/sec with \
                            -b 1448";
const STALLS_THERE: &str = "figure 4.12 and its explanation: a write blocks until what was sent is acknowledged, about 200 ms \
                            a segment, 1.2 s in all";
const NO_DELAY_THERE: &str = "2457.246699 s with -b 1448, 2457.396882 s with -D besides: nothing changes, for full segments \
                              are sent";
/// As long as Linux delays an acknowledgment (TCP_DELACK_MIN).
const DELAYED_S: f64 = 0.04;
/// A transfer that waits for more than this part of its time stalls.
const STALLS: f64 = 0.1;
/// A larger buffer tells where it is significantly this many times as fast.
const GROWS: f64 = 1.5;
const SMALL: u32 = 16 << 10;
const LARGE: u32 = 64 << 10;

pub fn all(ours: &[Ours<'_>]) -> Vec<Claim> {
    // Without a lab loopback has to stand for a path without a delay.
    let near = named(ours, LAB).or(named(ours, LOOPBACK));
    let path = named(ours, PATH);
    let mut claims = Vec::new();
    let asked = |place: &Ours<'_>, which| {
        [slower(place, which), no_delay_changes_nothing(place), stalls(place, SEGMENT_BYTES)]
    };
    if let Some(near) = near {
        claims.extend(asked(near, "where there is no delay"));
    }
    if let Some(loopback) = named(ours, LOOPBACK) {
        claims.push(elsewhere(stalls(loopback, LESS_THAN_LOOPBACKS_SEGMENT)));
    }
    if let Some(path) = path {
        claims.extend(asked(path, "over a path with a delay").map(elsewhere));
        claims.push(elsewhere(by_the_buffer(path)));
        claims.push(grows(path));
    }
    let receivers: Vec<_> =
        RECEIVERS.iter().filter_map(|&(name, bytes)| Some((named(ours, name)?, bytes))).collect();
    if !receivers.is_empty() {
        claims.push(at_least_the_receivers(&receivers));
    }
    claims
}

/// The book's claim, asked where the book did not: that is ours.
fn elsewhere(claim: Claim) -> Claim {
    Claim { origin: Origin::Ours, there: format!("not in the book, which has: {}", claim.there), ..claim }
}

/// How many times as fast the system's buffer is as one of `SEGMENT_BYTES`.
pub fn times_as_slow(ours: &Ours<'_>, no_delay: bool) -> Option<Estimate> {
    let of = |buffer| rates(ours.point(buffer, no_delay));
    ratio(&of(None), &of(Some(SEGMENT_BYTES)))
}

fn slower(ours: &Ours<'_>, which: &str) -> Claim {
    let times = times_as_slow(ours, false);
    Claim {
        origin: Origin::Source,
        says: format!("A send buffer of {SEGMENT_BYTES} bytes makes a transfer slower, {which}"),
        there: SLOWER_THERE.into(),
        here: format!(
            "{}: the system's buffer is {} times as fast; with -D, {} times (95 % intervals between the trials)",
            ours.name,
            written(times, 2),
            written(times_as_slow(ours, true), 2)
        ),
        holds: above(times, 1.0),
    }
}

fn no_delay_changes_nothing(ours: &Ours<'_>) -> Claim {
    let of = |no_delay| rates(ours.point(Some(SEGMENT_BYTES), no_delay));
    let times = ratio(&of(true), &of(false));
    Claim {
        origin: Origin::Source,
        says: format!("With a send buffer of {SEGMENT_BYTES} bytes -D changes nothing ({})", ours.name),
        there: NO_DELAY_THERE.into(),
        here: format!(
            "with -D {} times as fast (95 % interval between the trials); nothing is an interval within {:.2} to {ALIKE:.2}",
            written(times, 2),
            1.0 / ALIKE
        ),
        holds: within(times, 1.0 / ALIKE, ALIKE),
    }
}

/// Part of a trial's time that went by in calls as long as a delayed ACK.
fn in_delayed_calls(trial: &SweepTrial) -> Option<f64> {
    let s = trial.duration_ns as f64 / 1e9;
    (s > 0.0).then_some(trial.calls_took?.delayed_calls as f64 * DELAYED_S / s)
}

/// The book's cause, with a send buffer of `buffer` bytes.
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
        origin: Origin::Source,
        says: format!("Writes wait for delayed ACKs where the buffer is small ({}, -b {buffer})", ours.name),
        there: STALLS_THERE.into(),
        here: format!(
            "{} % of the time went by in writes of 30 to 60 ms, as long as Linux delays an acknowledgment, with -D \
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

fn why(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => {
            "; the buffer holds less than a segment, so that none is ever full: Nagle's algorithm keeps the rest back \
             until what was sent is acknowledged, and the receiver delays that"
        }
        Holds::No => {
            "; the buffer holds more than two segments, as the kernel asks for room only before it begins a packet, and \
             the receiver acknowledges those at once"
        }
        Holds::CannotTell => "",
    }
}

/// Over a path it is the buffer that holds the transfer up: with a larger one, and nothing else
/// changed, it is faster.
fn by_the_buffer(path: &Ours<'_>) -> Claim {
    let point = path.point(Some(SMALL), false);
    let counted = between(point, buffer_limited);
    let cause = point.and_then(|p| p.cause);
    let words = cause.map_or("n/a".into(), |(c, share)| format!("{} ({:.0} %)", c.name(), 100.0 * share));
    let times = ratio(&rates(path.point(None, false)), &rates(point));
    Claim {
        origin: Origin::Source,
        says: "A write waits because the send buffer is full of what is not acknowledged".into(),
        there: "its explanation of the run with -b 1448 (figure 4.12)".into(),
        here: format!(
            "with the system's buffer the same path takes {} times as much (significantly more than {GROWS} is decisive); by the \
             kernel's own count (tcpi_sndbuf_limited) the buffer held it up for {} % of the busy time (95 % intervals \
             between the trials); the cause of most trials: {words}",
            written(times, 2),
            written(counted.map(percent), 1)
        ),
        holds: above(times, GROWS),
    }
}

/// The book's conclusion, which names no place and no size: asked of several receive buffers.
fn at_least_the_receivers(receivers: &[(&Ours<'_>, u32)]) -> Claim {
    let asked = receivers.iter().map(|(ours, bytes)| {
        let [small, like, large] = beside(*bytes).map(|buffer| rates(ours.point(Some(buffer), false)));
        (bytes >> 10, ratio(&like, &small), ratio(&large, &like))
    });
    let asked: Vec<_> = asked.collect();
    let of_each = asked.iter().map(|(kib, up_to_it, beyond)| {
        format!("{kib} KiB: {} times, {} times", written(*up_to_it, 2), written(*beyond, 2))
    });
    // "At least", the book says: nothing of a larger one.
    let each = asked.iter().map(|(_, up_to_it, _)| above(*up_to_it, ALIKE));
    Claim {
        origin: Origin::Source,
        says: "A send buffer has to be at least the receiver's receive buffer".into(),
        there: "its conclusion from the whole example".into(),
        here: format!(
            "by the receive buffer, a send buffer as large beside one of a quarter, and one four times as large beside \
             that: {} as fast (95 % intervals between the trials); required of each: the first significantly more than \
             {ALIKE:.2}",
            of_each.collect::<Vec<_>>().join("; "),
        ),
        holds: each.reduce(both).unwrap_or(Holds::CannotTell),
    }
}

/// Buffer over round trip.
fn grows(path: &Ours<'_>) -> Claim {
    let of = |buffer| rates(path.point(Some(buffer), false));
    let times = ratio(&of(LARGE), &of(SMALL));
    Claim {
        origin: Origin::Ours,
        says: "The rate is that of a buffer a round trip: a larger buffer is as much faster".into(),
        there: "follows from its explanation; the book has no such run".into(),
        here: format!(
            "64 KiB is {} times as fast as 16 KiB (95 % interval between the trials); grown: significantly above {GROWS}",
            written(times, 2)
        ),
        holds: above(times, GROWS),
    }
}
