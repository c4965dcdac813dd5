//! A line on the terminal while a transfer runs: bytes, rate, and the time left where the size
//! is known.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use netfathom_measure::kind::transfer::Live;
use netfathom_model::print;

use crate::progress::Drawer;

/// Draws until the drawer is dropped. A service has clients, which are counted.
pub fn start(live: &Arc<Live>, serves: bool) -> Option<Drawer> {
    let live = Arc::clone(live);
    let (mut before, mut at) = (0, Instant::now());
    Drawer::start(move |has_ended| {
        // Erased to its end, so that a shorter line leaves nothing of the one before.
        if has_ended {
            let _ = write!(io::stderr(), "\r\x1b[K");
            return;
        }
        let (bytes, now) = (live.bytes(), Instant::now());
        let rate = bytes.saturating_sub(before) as f64 / now.duration_since(at).as_secs_f64().max(1e-3);
        let clients = if serves { print::counted(live.streams(), "client") + ", " } else { String::new() };
        let _ = write!(io::stderr(), "\r{clients}{}\x1b[K", line(bytes, live.planned(), rate));
        (before, at) = (bytes, now);
    })
}

fn line(bytes: u64, planned: Option<u64>, rate: f64) -> String {
    let so_far = format!("{}, {}", print::bytes(bytes as f64), print::bit_rate(rate));
    match planned.and_then(|planned| Some((planned, planned.checked_sub(bytes)?))) {
        Some((planned, left)) if rate > 0.0 => {
            let share = print::percent_down(bytes as f64 / planned as f64);
            format!("{so_far}, {share} of {}, {:.0} s left", print::bytes(planned as f64), left as f64 / rate)
        }
        _ => so_far,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_shown_where_the_size_is_known() {
        assert_eq!(line(1 << 20, None, 1e6), "1.00 MiB, 8.00 Mb/s");
        assert_eq!(
            line(1 << 20, Some(4 << 20), 524_288.0),
            "1.00 MiB, 4.19 Mb/s, 25.0 % of 4.00 MiB, 6 s left"
        );
        assert_eq!(line(5 << 20, Some(4 << 20), 0.0), "5.00 MiB, 0 b/s");
    }
}
