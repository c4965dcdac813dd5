//! Times as people write them: how long ago, a day, or a time.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time as it was written. A day is all of its hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Its first instant.
    pub first: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
}

/// What is no time.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no time: write how long ago (90s, 30m, 12h, 2d, 1w), a day (2026-11-01) or a time in UTC (2026-11-01T12:30:00Z)"
)]
pub struct MomentError(String);

impl Moment {
    /// Reads `90s`, `30m`, `12h`, `2d` or `1w` before `now`, a day of UTC, or a time of RFC 3339.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, MomentError> {
        let at = |t: Timestamp| Self { first: t, end: t };
        let ago = || now.checked_sub(age(text)?).ok().map(at);
        let time = || text.parse().ok().map(at);
        let in_utc = || utc(text.parse::<DateTime>().ok()?).map(at);
        ago().or_else(|| day(text)).or_else(time).or_else(in_utc).ok_or_else(|| MomentError(text.into()))
    }
}

impl std::str::FromStr for Moment {
    type Err = MomentError;

    /// Reads a time; how long ago is counted from now.
    fn from_str(text: &str) -> Result<Self, MomentError> {
        Self::parse(text, Timestamp::now())
    }
}

/// How long `90s`, `30m`, `12h`, `2d` and `1w` are.
fn age(text: &str) -> Option<SignedDuration> {
    let unit_s = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return None,
    };
    let number: i64 = text[..text.len() - 1].parse().ok().filter(|n| *n >= 0)?;
    number.checked_mul(unit_s).map(SignedDuration::from_secs)
}

fn day(text: &str) -> Option<Moment> {
    // A date is also the beginning of a longer time, which is not one day.
    let day: Date = text.parse().ok().filter(|_| text.len() == "2026-11-01".len())?;
    let first = utc(day.to_datetime(jiff::civil::Time::midnight()))?;
    Some(Moment { first, end: utc(day.tomorrow().ok()?.to_datetime(jiff::civil::Time::midnight()))? })
}

fn utc(time: DateTime) -> Option<Timestamp> {
    time.to_zoned(TimeZone::UTC).ok().map(|z| z.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T03:14:00Z".parse().unwrap()
    }

    fn parsed(text: &str) -> (String, String) {
        let moment = Moment::parse(text, now()).unwrap();
        (moment.first.to_string(), moment.end.to_string())
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parsed("2d").0, "2026-11-19T03:14:00Z");
        assert_eq!(parsed("90m").0, "2026-11-21T01:44:00Z");
        assert_eq!(parsed("1w").0, "2026-11-14T03:14:00Z");
        assert_eq!(parsed("2026-11-01"), ("2026-11-01T00:00:00Z".into(), "2026-11-02T00:00:00Z".into()));
        assert_eq!(parsed("2026-11-01T12:30:00Z").0, "2026-11-01T12:30:00Z");
        assert_eq!(parsed("2026-11-01T12:30").0, "2026-11-01T12:30:00Z");
        assert_eq!(parsed("2026-11-01T12:30:00+02:00").0, "2026-11-01T10:30:00Z");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "d", "-2d", "2y", "yesterday", "2026-13-01", "99999999999999d", "9223372036854775807w", "é"]
        {
            assert!(Moment::parse(text, now()).is_err(), "{text}");
        }
    }
}
