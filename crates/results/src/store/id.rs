//! Names of runs.

use std::time::SystemTime;

use jiff::Timestamp;

/// The name of a run: `<UTC time>-<measurement>-<short id>`, such as
/// `20261121T031400Z-stack-1a2b3c`. Names sort by time.
///
/// A clock outside the years that can be written down counts as 1970.
#[must_use]
pub fn new_id(started: SystemTime, measurement: &str, short_id: &str) -> String {
    format!("{}-{measurement}-{short_id}", timestamp(started).strftime("%Y%m%dT%H%M%SZ"))
}

/// A time as RFC 3339 in UTC with whole seconds, such as `2026-11-21T03:14:00Z`.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_name_tells_when_and_what() {
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_230_840_700);
        assert_eq!(new_id(started, "stack", "1a2b3c"), "20261121T031400Z-stack-1a2b3c");
        assert_eq!(rfc3339(started), "2026-11-21T03:14:00Z");
    }

    #[test]
    fn a_clock_before_1970_still_gives_a_name() {
        let early = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(new_id(early, "stack", "0"), "19691231T235959Z-stack-0");
    }
}
