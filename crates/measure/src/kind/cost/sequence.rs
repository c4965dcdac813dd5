//! Base sequences: which marks a benchmark passes, and the time between them.

use std::collections::HashMap;

/// A mark that was reached, CLOCK_MONOTONIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub name: String,
    pub at_ns: u64,
}

/// More marks than this are not listed one by one: the table would be too long to read.
const MOST_MARKS: usize = 64;
/// The names of where a benchmark starts and ends, which every one has.
pub const START: &str = "start";
pub const END: &str = "end";

/// The marks that a benchmark passes in each run, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Each with its number among those of the same name, from 0.
    marks: Vec<(String, usize)>,
    /// Whether its own marks are all that counts: starting and ending the program does not.
    inner: bool,
}

impl Sequence {
    /// Learns from a run which marks there are. With `inner` time begins with the first of them and ends with the
    /// last; otherwise with the start and the end of the program. Also what must be known of it.
    pub fn learn(reached: &[Reached], inner: bool) -> Result<(Self, Vec<String>), String> {
        let mut marks: Vec<(String, usize)> = Vec::new();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for mark in reached {
            let count = counts.entry(&mark.name).or_default();
            marks.push((mark.name.clone(), *count));
            *count += 1;
        }
        let mut notes = Vec::new();
        if marks.len() > MOST_MARKS {
            let all = marks.len();
            marks.retain(|&(_, number)| number == 0);
            marks.truncate(MOST_MARKS);
            notes.push(format!("of {all} marks the first of each name is used, {} in all", marks.len()));
        }
        if inner && marks.len() < 2 {
            return Err(format!("{} of the two marks that a span needs", marks.len()));
        }
        Ok((Self { marks, inner }, notes))
    }

    pub fn names(&self) -> Vec<String> {
        let several = |name: &str| self.marks.iter().filter(|(other, _)| other == name).count() > 1;
        let printed = |(name, number): &(String, usize)| {
            if several(name) { format!("{name} #{}", number + 1) } else { name.clone() }
        };
        let own = self.marks.iter().map(printed);
        if self.inner {
            own.collect()
        } else {
            std::iter::once(START.into()).chain(own).chain([END.into()]).collect()
        }
    }

    /// How many marks of each name a run has to be known of, from its first one.
    pub fn needed(&self) -> HashMap<String, u64> {
        // The last one of a name has the largest number.
        self.marks.iter().map(|(name, number)| (name.clone(), *number as u64 + 1)).collect()
    }

    /// The times between neighbours in one run, in nanoseconds.
    pub fn spans_ns(&self, start_ns: u64, reached: &[Reached], end_ns: u64) -> Result<Vec<f64>, String> {
        let mut times = Vec::with_capacity(self.marks.len() + 2);
        times.extend((!self.inner).then_some(start_ns));
        let mut of_name: HashMap<&str, Vec<u64>> = HashMap::new();
        reached.iter().for_each(|mark| of_name.entry(&mark.name).or_default().push(mark.at_ns));
        for (name, number) in &self.marks {
            let found = of_name.get(name.as_str()).and_then(|times| times.get(*number));
            times.push(*found.ok_or_else(|| format!("the mark {name} was not reached"))?);
        }
        times.extend((!self.inner).then_some(end_ns));
        if let Some(at) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            let names = self.names();
            return Err(format!(
                "the mark {} came before {}, not after it as in the first run: what it does differs from run to run",
                names[at + 1],
                names[at]
            ));
        }
        Ok(times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(marks: &[(&str, u64)]) -> Vec<Reached> {
        marks.iter().map(|&(name, at_ns)| Reached { name: name.into(), at_ns }).collect()
    }

    #[test]
    fn spans_lie_between_neighbours() {
        let (sequence, notes) = Sequence::learn(&reached(&[("a", 7), ("b", 9)]), false).unwrap();
        assert_eq!(
            (sequence.names(), notes.len()),
            (["start", "a", "b", "end"].map(String::from).to_vec(), 0)
        );
        let run = reached(&[("a", 110), ("b", 140)]);
        assert_eq!(sequence.spans_ns(100, &run, 200).unwrap(), [10.0, 30.0, 60.0]);
        let (inner, _) = Sequence::learn(&run, true).unwrap();
        assert_eq!((inner.names().len(), inner.spans_ns(100, &run, 200).unwrap()), (2, vec![30.0]));
        assert!(Sequence::learn(&run[..1], true).is_err());
    }

    #[test]
    fn without_marks_there_are_start_and_end() {
        let (sequence, _) = Sequence::learn(&[], false).unwrap();
        assert_eq!(sequence.spans_ns(5, &[], 8).unwrap(), [3.0]);
    }

    #[test]
    fn differences_from_the_first_run_are_reported() {
        let (sequence, _) = Sequence::learn(&reached(&[("a", 1), ("b", 2), ("a", 3)]), false).unwrap();
        assert_eq!(sequence.names()[1..4], ["a #1", "b", "a #2"]);
        let missing = sequence.spans_ns(0, &reached(&[("a", 1), ("b", 2)]), 9).unwrap_err();
        assert_eq!(missing, "the mark a was not reached");
        let turned = sequence.spans_ns(0, &reached(&[("a", 2), ("b", 1), ("a", 3)]), 9).unwrap_err();
        assert!(turned.starts_with("the mark b came before a #1"), "{turned}");
    }

    /// Some hundred thousand would take minutes if each were held against each.
    #[test]
    fn many_marks_take_no_longer_each() {
        let many: Vec<Reached> = (0..300_000).map(|at| reached(&[("a", at)])[0].clone()).collect();
        let (sequence, _) = Sequence::learn(&many[..64], true).unwrap();
        assert_eq!(sequence.spans_ns(0, &many, 0).unwrap(), [1.0; 63]);
        let (sequence, notes) = Sequence::learn(&many, false).unwrap();
        assert_eq!((sequence.names().len(), notes.len()), (3, 1));
    }

    #[test]
    fn of_each_name_as_many_are_needed_as_the_last_one_has_before_it() {
        let (sequence, _) = Sequence::learn(&reached(&[("a", 1), ("b", 2), ("a", 3)]), false).unwrap();
        assert_eq!(sequence.needed(), [("a".to_owned(), 2), ("b".to_owned(), 1)].into());
    }

    #[test]
    fn of_very_many_marks_the_first_of_each_name_is_used() {
        let many: Vec<Reached> =
            (0..100).flat_map(|at| reached(&[("a", 2 * at), ("b", 2 * at + 1)])).collect();
        let (sequence, notes) = Sequence::learn(&many, true).unwrap();
        assert_eq!((sequence.names(), notes.len()), (["a", "b"].map(String::from).to_vec(), 1));
    }
}
