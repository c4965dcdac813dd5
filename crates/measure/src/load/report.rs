//! The part of a record that is about the load, made of what senders did.

use netfathom_model::record::{Distribution, LagWindows, Load, Refused, Series};
use netfathom_stats::{self as stats, Windowed};

use super::sent::Sent;
use super::tally::Read;

pub fn load(sent: &Sent, read: &Read, planned: u64) -> Load {
    Load {
        planned,
        sent: sent.accepted,
        refused: sent.refused.iter().map(|(&errno, &count)| refused(errno, count)).collect(),
        unsent: sent.unsent,
        missed_slots: sent.lateness.missed_slots,
        span_ns: sent.span_ns(),
        lag: (&sent.lag.distribution).into(),
        lag_p99_of_interval: sent.lateness.p99_of_slot(),
        send_call: (&sent.send_call.distribution).into(),
        series: series(&sent.lag, sent.windows.length_ns()),
        contention: sent.contention.iter().chain(&read.contention).cloned().collect(),
    }
}

/// The times of several trials together; `None` of no trial.
pub fn merged<'a>(parts: impl Iterator<Item = &'a Distribution>) -> Option<stats::Distribution> {
    parts.map(stats::Distribution::from).reduce(|mut sum, part| {
        sum.merge(&part);
        sum
    })
}

/// Windows of moments, as records keep them.
pub fn series(windowed: &Windowed, window_ns: u64) -> Series {
    Series::of(window_ns, windowed.filled())
}

pub fn lag_windows(sent: &Sent) -> LagWindows {
    LagWindows { window_ns: sent.second_ns, windows: sent.lag_by_second.iter().map(Into::into).collect() }
}

fn refused(errno: i32, count: u64) -> Refused {
    // A sender on another host says how many were refused, not why.
    let error = if errno == 0 {
        "unknown reason".into()
    } else {
        std::io::Error::from_raw_os_error(errno).to_string()
    };
    Refused { error, count }
}
