//! Numbers in sentences.

use netfathom_model::print;
pub(super) use netfathom_model::print::bit_rate as rate;

/// Below this a size is a count to its last byte, as a program asked for it.
const WHOLE_BYTES: u64 = 10 << 10;

pub(super) fn percent(share: f64) -> String {
    print::percent(share.clamp(0.0, 1.0))
}

/// A line of evidence; none where it took no time.
pub(super) fn of_time(share: f64, what: &str) -> Option<String> {
    (share > 0.0).then(|| format!("{} of the time {what}", percent(share)))
}

pub(super) fn bytes(bytes: impl Into<u64>) -> String {
    match bytes.into() {
        b if b >= WHOLE_BYTES => print::bytes(b as f64),
        b => format!("{} bytes", print::count(b)),
    }
}

pub(super) fn ms(us: impl Into<f64>) -> String {
    print::time(us.into() * 1e3)
}
