//! The cells that the answer compares, and the figures that it has of them.

use netfathom_stats::paired_ratio_by;

use super::{Estimate, MessageCell, MessageResult};
use crate::layer::{Layer, Strategy};
use crate::plan::{MessagePlan, MessageTest, Placement, Until};
use crate::record::{Value, Width};

impl MessageCell {
    /// Mean of the trials' median times in nanoseconds, with its 95 % interval; `None` below two trials with times.
    pub fn median_time_ns(&self, plan: &MessagePlan) -> Option<Estimate> {
        let medians: Vec<f64> = self.trials.iter().filter_map(|trial| self.median_ns(trial)).collect();
        Until::interval(plan.until)(&medians).map(Into::into)
    }

    /// Median times as a multiple of another cell's in the same rounds, with its 95 % interval.
    pub fn ratio_of_times(&self, reference: &Self, plan: &MessagePlan) -> Option<Estimate> {
        paired_ratio_by(&self.medians_beside(reference), Until::interval(plan.until)).map(Into::into)
    }

    fn figure(&self, plan: &MessagePlan) -> Option<Estimate> {
        if plan.is_of_times() { self.median_time_ns(plan) } else { self.rate?.mean_per_s }
    }

    fn multiple(&self, reference: &Self, plan: &MessagePlan) -> Option<Estimate> {
        if plan.is_of_times() { self.ratio_of_times(reference, plan) } else { self.ratio }
    }

    /// More is better; of a single trial, too.
    fn score(&self, plan: &MessagePlan) -> Option<f64> {
        let value = self.figure(plan).map(|figure| figure.value);
        if plan.is_of_times() {
            let single = (self.times.n > 0).then_some(self.times.p50_ns as f64);
            value.or(single).map(|ns| -ns)
        } else {
            value.or(self.rate.map(|rate| rate.median_per_s))
        }
    }
}

impl MessageResult {
    /// The cells that the answer may be about: those that are not VOID, or all where they all are.
    fn usable(&self) -> Vec<&MessageCell> {
        let all_void = self.cells.iter().all(MessageCell::is_void);
        self.cells.iter().filter(|cell| all_void || !cell.is_void()).collect()
    }

    /// The cell of the first placement, the smallest size and the first layer that can be used, on the pair of CPUs on
    /// which it does best: the answer is about its placement and pair.
    pub fn home(&self) -> Option<&MessageCell> {
        let cells = self.usable();
        let is_there = |placement: &&Placement| cells.iter().any(|cell| cell.placement == **placement);
        let placement = *self.plan.placements.iter().find(is_there)?;
        let of_it = || cells.iter().copied().filter(move |cell| cell.placement == placement);
        let bytes = of_it().map(|cell| cell.bytes).min()?;
        let smallest = || of_it().filter(move |cell| cell.bytes == bytes);
        let rank = |layer: &Layer| self.plan.layers.iter().position(|known| known == layer);
        let first = smallest().min_by_key(|cell| rank(&cell.layer).unwrap_or(usize::MAX))?;
        let score = |cell: &MessageCell| cell.score(&self.plan).unwrap_or(f64::NEG_INFINITY);
        let on_each_pair = smallest().filter(|cell| cell.layer == first.layer);
        on_each_pair.max_by(|a, b| score(a).total_cmp(&score(b)))
    }

    /// The cells of the library's adaptive strategy, or of the second layer, each beside the first layer's, from the
    /// smallest size.
    pub fn compared(&self) -> Vec<(&MessageCell, &MessageCell)> {
        let (Some(home), Some(first)) = (self.home(), self.plan.layers.first()) else { return Vec::new() };
        let is_home = |cell: &&MessageCell| (cell.placement, cell.pair) == (home.placement, home.pair);
        let cells: Vec<&MessageCell> = self.usable().into_iter().filter(is_home).collect();
        // What stands in for layers that cannot be is not in the plan.
        let layers = self.plan.layers.iter().chain(cells.iter().map(|cell| &cell.layer));
        let is_other = |layer: &&Layer| *layer != first && cells.iter().any(|cell| cell.layer == **layer);
        let others: Vec<&Layer> = layers.filter(is_other).collect();
        let adaptive = Layer::Library { strategy: Strategy::Adaptive };
        let Some(&layer) = others.iter().find(|layer| ***layer == adaptive).or(others.first()) else {
            return Vec::new();
        };
        let of = |layer: &Layer, bytes: u64| {
            cells.iter().copied().find(|cell| cell.layer == *layer && cell.bytes == bytes)
        };
        let mut sizes: Vec<u64> = cells.iter().map(|cell| cell.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().filter_map(|bytes| Some((of(layer, bytes)?, of(first, bytes)?))).collect()
    }

    /// The cells of the answer's first sentence: one, or one and that which it is compared with.
    pub fn answered(&self) -> Vec<&MessageCell> {
        let compared = self.compared();
        let first = if self.plan.test == MessageTest::Post { compared.last() } else { compared.first() };
        first.map_or_else(|| self.home().into_iter().collect(), |&(cell, reference)| vec![cell, reference])
    }

    /// How narrow the figures of the answer's first sentence are.
    pub fn widths(&self) -> Vec<Width> {
        let plan = &self.plan;
        let width = |of, figure: Option<Estimate>| Width {
            direction: None,
            of,
            half: figure.and_then(Estimate::relative),
        };
        let of = if plan.is_of_times() { Value::MedianTime } else { Value::Rate };
        let answered = self.answered();
        let [cell, reference] = answered[..] else {
            return answered.iter().map(|cell| width(of, cell.figure(plan))).collect();
        };
        let shown = if plan.test == MessageTest::Pingpong { reference } else { cell };
        vec![width(of, shown.figure(plan)), width(Value::Ratio, cell.multiple(reference, plan))]
    }
}

#[cfg(test)]
mod tests {
    use netfathom_stats::between_sequential_trials;

    use super::*;
    use crate::plan::Place;
    use crate::record::{Counted, MessageRate, MessageTrial};
    use crate::verdict::{Level, Verdict};

    /// A round trip of each trial, in nanoseconds.
    fn cell(layer: &str, bytes: u64, pair: usize, p50s_ns: &[i64]) -> MessageCell {
        let mut times = netfathom_stats::Distribution::new(5);
        p50s_ns.iter().for_each(|&ns| times.add(ns));
        let trial = |(round, &p50_ns): (usize, &i64)| MessageTrial {
            round: round as u32,
            messages: 1,
            p50_ns,
            ..MessageTrial::default()
        };
        MessageCell {
            layer: layer.parse().unwrap(),
            bytes,
            placement: Placement::UU,
            pair,
            trials: p50s_ns.iter().enumerate().map(trial).collect(),
            rate: None,
            ratio: None,
            times: (&times).into(),
            service: None,
            lag: None,
            calls: Counted::Not(String::new()),
            verdict: Verdict::default(),
        }
    }

    fn result(cells: Vec<MessageCell>) -> MessageResult {
        let layers = ["write", "writev", "adaptive"].map(|layer| layer.parse().unwrap()).to_vec();
        let plan = MessagePlan {
            layers,
            until: Some(Until { precision: 0.05, time_limit_ns: 1_000_000_000 }),
            ..MessagePlan::paper(MessageTest::Pingpong, Place::Loopback)
        };
        MessageResult { cells, ..MessageResult::empty(plan) }
    }

    fn two_pairs() -> MessageResult {
        result(vec![
            cell("adaptive", 4, 0, &[5000, 5100]),
            cell("write", 4, 0, &[5000, 5200]),
            cell("write", 4, 1, &[4000, 4400]),
            cell("writev", 4, 1, &[4100, 4400]),
            cell("adaptive", 4, 1, &[8000, 8800]),
            cell("adaptive", 64, 1, &[1, 1]),
            cell("write", 64, 1, &[1, 1]),
        ])
    }

    #[test]
    fn the_answer_is_about_the_pair_on_which_the_first_layer_does_best() {
        let found = two_pairs();
        let home = found.home().unwrap();
        assert_eq!((home.pair, home.bytes, home.layer.to_string()), (1, 4, "write".into()));
        let names = |found: &MessageResult| -> Vec<String> {
            let name = |(cell, beside): &(&MessageCell, &MessageCell)| {
                format!("{} {} {}", cell.layer, beside.layer, cell.bytes)
            };
            found.compared().iter().map(name).collect()
        };
        assert_eq!(names(&found), ["adaptive write 4", "adaptive write 64"]);
        let mut without = two_pairs();
        without.cells.retain(|cell| cell.layer.to_string() != "adaptive");
        assert_eq!(names(&without), ["writev write 4"]);
        assert!(result(Vec::new()).home().is_none());
    }

    #[test]
    fn the_answer_is_about_cells_that_can_be_used() {
        let mut found = two_pairs();
        let home = |found: &MessageResult| found.home().map(|home| (home.pair, home.layer.to_string()));
        let void = |cell: &mut MessageCell| cell.verdict.lower(Level::Void, "lost");
        // Without the faster pair's bare sockets the first layer is that of the other pair.
        void(&mut found.cells[2]);
        assert_eq!(home(&found), Some((0, "write".into())));
        let answered: Vec<String> = found.answered().iter().map(|cell| cell.layer.to_string()).collect();
        assert_eq!(answered, ["adaptive", "write"]);
        void(&mut found.cells[0]);
        assert!(found.compared().is_empty());
        found.cells.iter_mut().for_each(void);
        assert_eq!(home(&found), Some((1, "write".into())), "there is nothing better");
    }

    #[test]
    fn widths_are_those_of_the_first_sentence() {
        let mut found = two_pairs();
        let of = |found: &MessageResult| -> Vec<(Value, Option<f64>)> {
            found.widths().iter().map(|width| (width.of, width.half)).collect()
        };
        let time = between_sequential_trials(&[4000.0, 4400.0]).unwrap();
        let narrow = [
            (Value::MedianTime, Some(time.half_width / time.value)),
            // Twice as long in each round.
            (Value::Ratio, Some(0.0)),
        ];
        assert_eq!(of(&found), narrow);
        found.plan.until = None;
        assert!(of(&found)[0].1 < narrow[0].1, "the interval that ends a run is the wider one");
        found.cells.retain(|cell| cell.layer.to_string() == "write");
        assert_eq!(of(&found).len(), 1);
        let single = result(vec![cell("write", 4, 0, &[5000])]);
        assert_eq!(of(&single), [(Value::MedianTime, None)]);
    }

    #[test]
    fn rates_are_read_in_their_own_interval() {
        let mut found = two_pairs();
        found.plan.test = MessageTest::Oneway;
        assert!(found.widths().iter().all(|width| width.half.is_none()));
        let mean = Estimate { value: 200.0, half_width: 20.0 };
        for cell in &mut found.cells {
            let rate = MessageRate {
                median_per_s: 200.0,
                lowest_per_s: 200.0,
                highest_per_s: 200.0,
                mean_per_s: Some(mean),
            };
            (cell.rate, cell.ratio) = (Some(rate), Some(Estimate { value: 2.0, half_width: 0.1 }));
        }
        let widths: Vec<_> = found.widths().iter().map(|width| (width.of, width.half)).collect();
        assert_eq!(widths, [(Value::Rate, Some(0.1)), (Value::Ratio, Some(0.05))]);
    }
}
