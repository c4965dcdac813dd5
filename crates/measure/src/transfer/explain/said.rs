//! Numbers in sentences.

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.clamp(0.0, 1.0))
}

pub(super) fn bytes(bytes: impl Into<u64>) -> String {
    match bytes.into() {
        b if b >= 10 << 20 => format!("{:.0} MiB", b as f64 / f64::from(1 << 20)),
        b if b >= 10 << 10 => format!("{:.0} KiB", b as f64 / 1024.0),
        b => format!("{b} bytes"),
    }
}

pub(super) fn ms(us: impl Into<f64>) -> String {
    let ms = us.into() / 1000.0;
    if ms < 1.0 { format!("{ms:.3} ms") } else { format!("{ms:.1} ms") }
}

/// A rate in the unit of networks.
pub(super) fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s * 8.0 {
        b if b >= 1e9 => format!("{:.2} Gbit/s", b / 1e9),
        b if b >= 1e6 => format!("{:.1} Mbit/s", b / 1e6),
        b => format!("{:.0} kbit/s", b / 1e3),
    }
}
