//! Which of the runs are wanted.

use jiff::Timestamp;
use netfathom_model::verdict::Level;

use super::{Head, RunEntry};

/// What a run must be to be wanted. Everything that is set must hold; nothing set wants all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// One of these measurements.
    pub measurements: Vec<String>,
    /// All of these tags.
    pub tags: Vec<String>,
    pub host: Option<String>,
    /// A kernel with a release that begins so, number by number: `6.1` is not `6.12`.
    pub kernel: Option<String>,
    /// Begun then or later.
    pub since: Option<Timestamp>,
    /// Begun before then.
    pub until: Option<Timestamp>,
    pub verdicts: Vec<Level>,
}

impl Filter {
    /// Whether this run is wanted. A run without a head is wanted only where nothing is asked that its head would say.
    pub fn wants(&self, entry: &RunEntry) -> bool {
        self.since.is_none_or(|since| entry.started >= since)
            && self.until.is_none_or(|until| entry.started < until)
            && self.tags.iter().all(|tag| entry.tags.contains(tag))
            && match &entry.head {
                Some(head) => self.wants_head(head),
                None => !self.asks_for_heads(),
            }
    }

    fn asks_for_heads(&self) -> bool {
        !self.measurements.is_empty()
            || !self.verdicts.is_empty()
            || self.host.is_some()
            || self.kernel.is_some()
    }

    fn wants_head(&self, head: &Head) -> bool {
        (self.measurements.is_empty() || self.measurements.contains(&head.measurement))
            && (self.verdicts.is_empty() || self.verdicts.contains(&head.verdict))
            && self.host.as_ref().is_none_or(|host| head.host.as_ref() == Some(host))
            && self.kernel.as_ref().is_none_or(|kernel| begins_with(&head.kernel, kernel))
    }
}

/// Whether a release begins so, without a number being cut in two.
fn begins_with(release: &str, wanted: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    release
        .strip_prefix(wanted)
        .is_some_and(|rest| !(wanted.ends_with(is_digit) && rest.starts_with(is_digit)))
}

#[cfg(test)]
mod tests {
    use super::begins_with;

    #[test]
    fn a_number_of_a_release_is_not_cut_in_two() {
        assert!(begins_with("6.1.0-18-amd64 #1 SMP", "6.1"));
        assert!(begins_with("6.1", "6.1"));
        assert!(begins_with("6.12.57", "6."));
        assert!(!begins_with("6.12.57", "6.1"));
        assert!(!begins_with("5.6.1", "6.1"));
    }
}
