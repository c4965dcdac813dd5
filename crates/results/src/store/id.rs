//! Names of runs.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use netfathom_sys::random;

const TIME: &str = "%Y%m%dT%H%M%SZ";
const TIME_BYTES: usize = "20261121T031400Z".len();

/// The kernel has no random number for a run's name.
#[derive(Debug, thiserror::Error)]
#[error("cannot name the run: getrandom(2) failed: {0}; allow that system call (seccomp) to this program")]
pub struct IdError(std::io::Error);

/// The name of a run: `<UTC time>-<measurement>-<short id>`, such as
/// `20261121T031400Z-stack-1a2b3c4d`. Names sort by time, but not those of one second.
///
/// The short id is random: plans with the same seed start within the same second. A clock outside the years that
/// can be written down counts as 1970.
pub fn new_id(started: SystemTime, measurement: &str) -> Result<String, IdError> {
    let short_id = random::bytes().map_err(IdError)?;
    Ok(name(started, measurement, u32::from_ne_bytes(short_id)))
}

fn name(started: SystemTime, measurement: &str, short_id: u32) -> String {
    format!("{}-{measurement}-{short_id:08x}", timestamp(started).strftime(TIME))
}

/// A time as RFC 3339 in UTC, such as `2026-11-21T03:14:00.125Z`: runs of one second are in order by it.
pub fn rfc3339(time: SystemTime) -> String {
    in_ms(timestamp(time))
}

/// With all digits, so that texts are in the order of their times.
pub(super) fn in_ms(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// When a run of that name began; `None` of what is not named like a run.
pub(super) fn started_of(name: &str) -> Option<Timestamp> {
    let (time, rest) = name.split_at_checked(TIME_BYTES)?;
    let words = rest.strip_prefix('-').filter(|w| w.contains('-'))?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let time = DateTime::strptime(TIME, time).ok().filter(|_| words.chars().all(plain))?;
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// How many runs before the last one.
pub(super) fn back_from_last(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_name_tells_when_and_what() {
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_230_840_700);
        assert_eq!(name(started, "stack", 0x1a_2b3c), "20261121T031400Z-stack-001a2b3c");
        assert_eq!(rfc3339(started), "2026-11-21T03:14:00.700Z");
        let started = started_of("20261121T031400Z-stack-1a2b3c").expect("a time");
        assert_eq!(started.to_string(), "2026-11-21T03:14:00Z");
    }

    #[test]
    fn what_is_not_named_like_a_run_has_no_time() {
        for name in [
            "",
            "src",
            "20261121T031400Z",
            "20261121T031400Z-",
            "20261121T031400Z-stack",
            "20261321T031400Z-stack-1",
            "20261121T031400Z-../x-1",
            "éééééééé-a-b",
        ] {
            assert_eq!(started_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_clock_before_1970_still_gives_a_name() {
        let early = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(name(early, "stack", 0), "19691231T235959Z-stack-00000000");
    }
}
