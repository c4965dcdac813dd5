//! What has come so far, in memory that does not grow with the number of marks.

use std::collections::HashMap;

use netfathom_mark::listen::Mark;

/// Names that have a row of their own: who puts numbers into names has no end of them.
const MOST_NAMES: usize = 1000;
/// Threads with their last mark kept. If there are more, their spans begin anew.
const MOST_THREADS: usize = 100_000;

/// When a mark was, beside others. Negative where a mark is older than the one that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub since_first_ns: i64,
    /// Since the previous mark of its thread, ns, unless it is that thread's first.
    pub span_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub count: u64,
    /// How many of them had one before in their thread.
    pub spans: u64,
    /// Sum of the spans that end in such a mark, ns.
    pub sum_ns: i128,
    pub least_ns: Option<i64>,
    pub most_ns: Option<i64>,
}

impl Row {
    pub fn mean_ns(&self) -> Option<f64> {
        (self.spans > 0).then(|| self.sum_ns as f64 / self.spans as f64)
    }

    fn add(&mut self, span_ns: Option<i64>) {
        self.count += 1;
        let Some(span_ns) = span_ns else { return };
        self.spans += 1;
        self.sum_ns += i128::from(span_ns);
        self.least_ns = Some(self.least_ns.map_or(span_ns, |least| least.min(span_ns)));
        self.most_ns = Some(self.most_ns.map_or(span_ns, |most| most.max(span_ns)));
    }
}

#[derive(Default)]
pub struct Seen {
    first_ns: Option<u64>,
    last_ns: HashMap<(u32, u32), u64>,
    /// In the order in which their names came.
    rows: Vec<(String, Row)>,
    places: HashMap<String, usize>,
    /// Those of names beyond the most.
    others: Row,
}

impl Seen {
    pub fn add(&mut self, mark: &Mark) -> Times {
        let first_ns = *self.first_ns.get_or_insert(mark.at_ns);
        let thread = (mark.process, mark.thread);
        if self.last_ns.len() >= MOST_THREADS && !self.last_ns.contains_key(&thread) {
            self.last_ns.clear();
        }
        let before_ns = self.last_ns.insert(thread, mark.at_ns);
        let span_ns = before_ns.map(|before_ns| difference(mark.at_ns, before_ns));
        self.row(&mark.name).add(span_ns);
        Times { since_first_ns: difference(mark.at_ns, first_ns), span_ns }
    }

    fn row(&mut self, name: &str) -> &mut Row {
        if let Some(&place) = self.places.get(name) {
            return &mut self.rows[place].1;
        }
        if self.rows.len() >= MOST_NAMES {
            return &mut self.others;
        }
        self.places.insert(name.to_owned(), self.rows.len());
        &mut self.rows.push_mut((name.to_owned(), Row::default())).1
    }

    /// A row for each name, in the order in which they first came.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Row)> {
        self.rows.iter().map(|(name, row)| (name.as_str(), row))
    }

    /// What came under further names, if any did.
    pub fn others(&self) -> Option<&Row> {
        (self.others.count > 0).then_some(&self.others)
    }
}

/// A program may claim any time for its marks: differences of such do not fail.
fn difference(later: u64, earlier: u64) -> i64 {
    later.wrapping_sub(earlier).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, at_ns: u64, thread: u32) -> Mark {
        Mark { name: name.into(), cut: false, at_ns, process: 1, thread }
    }

    #[test]
    fn spans_are_those_of_a_thread() {
        let mut seen = Seen::default();
        let shown: Vec<_> = [("a", 100, 1), ("a", 130, 2), ("b", 150, 1), ("b", 140, 2), ("b", 120, 2)]
            .into_iter()
            .map(|(name, at_ns, thread)| seen.add(&mark(name, at_ns, thread)))
            .map(|times| (times.since_first_ns, times.span_ns))
            .collect();
        assert_eq!(shown, [(0, None), (30, None), (50, Some(50)), (40, Some(10)), (20, Some(-20))]);
        let rows: Vec<_> = seen.rows().collect();
        let first = Row { count: 2, ..Row::default() };
        let second = Row { count: 3, spans: 3, sum_ns: 40, least_ns: Some(-20), most_ns: Some(50) };
        assert_eq!(rows, [("a", &first), ("b", &second)]);
        assert_eq!((first.mean_ns(), second.mean_ns()), (None, Some(40.0 / 3.0)));
    }

    #[test]
    fn names_without_end_share_a_row() {
        let mut seen = Seen::default();
        for number in 0..MOST_NAMES as u64 + 5 {
            seen.add(&mark(&number.to_string(), number, 1));
        }
        seen.add(&mark("0", 2000, 1));
        assert_eq!(seen.rows().count(), MOST_NAMES);
        assert_eq!(seen.others().map(|row| row.count), Some(5));
        assert_eq!(seen.rows().next().map(|(name, row)| (name, row.count)), Some(("0", 2)));
    }

    #[test]
    fn a_time_that_cannot_be_is_no_end() {
        let mut seen = Seen::default();
        for at_ns in [u64::MAX, 0, 1 << 63, 1] {
            seen.add(&mark("any", at_ns, 1));
        }
        assert_eq!(seen.rows().next().map(|(_, row)| row.spans), Some(3));
    }
}
