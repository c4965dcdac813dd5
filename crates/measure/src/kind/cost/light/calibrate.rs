//! How much work takes a given time on this machine.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_sys::clock::monotonic_ns;

use super::{LightError, Phase, Sizes, Work, place};

/// Doubled no further, whatever the clock says.
const LARGEST: u64 = 1 << 40;
/// A phase this much shorter than it is to be is long enough to reckon from.
const LONG_ENOUGH: u64 = 4;
/// Runs of a size that is long enough. The fastest counts: a disturbance can only slow a run down.
const RUNS: usize = 3;

/// Finds sizes with which each of the phases takes about `target_ns`. The machine should be idle.
pub fn calibrate(
    parent: &Path,
    phases: &[&'static Phase],
    target_ns: u64,
    stop: &AtomicBool,
) -> Result<Sizes, LightError> {
    let place = place(parent)?;
    let mut found: Vec<(&'static Phase, u64)> = Vec::new();
    for &phase in phases {
        if stop.load(Relaxed) {
            return Err(LightError::Stopped);
        }
        let sized = (phase.prepare)(place.directory()).and_then(|mut work| size_of(&mut work, target_ns));
        found.push((phase, sized.map_err(|source| LightError::Phase { phase: phase.name, source })?));
    }
    let wrong =
        |why| LightError::Phase { phase: "list", source: io::Error::new(io::ErrorKind::InvalidInput, why) };
    Sizes::new(found).map_err(wrong)
}

fn size_of(work: &mut Work, target_ns: u64) -> io::Result<u64> {
    let mut size = 1;
    let took_ns = loop {
        let took_ns = fastest_ns(work, size, target_ns / LONG_ENOUGH)?;
        if took_ns >= target_ns / LONG_ENOUGH || size >= LARGEST {
            break took_ns;
        }
        size *= 2;
    };
    let scaled = u128::from(size) * u128::from(target_ns) / u128::from(took_ns.max(1));
    Ok(u64::try_from(scaled).unwrap_or(LARGEST).clamp(1, LARGEST))
}

/// The fastest of several runs, or the first that is below a limit: one that was disturbed is not taken
/// for a long one.
fn fastest_ns(work: &mut Work, size: u64, limit_ns: u64) -> io::Result<u64> {
    let mut fastest_ns = u64::MAX;
    for _ in 0..RUNS {
        fastest_ns = fastest_ns.min(time_ns(work, size)?);
        if fastest_ns < limit_ns {
            break;
        }
    }
    Ok(fastest_ns)
}

fn time_ns(work: &mut Work, size: u64) -> io::Result<u64> {
    let start_ns = monotonic_ns();
    work(size)?;
    Ok(monotonic_ns() - start_ns)
}
