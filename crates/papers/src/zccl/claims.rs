//! What the paper says of one way, round trips and posts, and whether it holds here: on the pair
//! of processors that shares most and on the one that shares least.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::MessageTest;
use netfathom_model::record::{Claim, Holds, Origin};

use super::ours::{Ours, Value, cpu_us, library, mean_us, median_us, per_s, size, what, zccl};
use super::tables::quantity;
use crate::claim::{above, percent, within, written};
use crate::rounds::Rounds;

/// Much slower is what is significantly below this part of the sockets' rate.
const MUCH_SLOWER: f64 = 0.5;
/// As fast, or at little cost, is what is significantly above this part.
const LITTLE: f64 = 0.9;
/// What changes by less than this part of itself is constant.
const CONSTANT: f64 = 0.25;
/// A cost counts as removed if significantly less than this part is left.
const LEFT: f64 = 0.25;

/// One test on one pair of processors.
#[derive(Clone, Copy)]
struct On<'a> {
    ours: &'a Ours<'a>,
    test: MessageTest,
    pair: usize,
}

/// The claims of test 1, 3 or 4.
pub fn all(test: MessageTest, ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let Some(ours) = ours else { return Vec::new() };
    let on = |pair| {
        let on = On { ours, test, pair };
        match test {
            MessageTest::Oneway => {
                vec![on.slow_when_small(), on.catches_up(), on.inline_removes(), on.takes_processors()]
            }
            MessageTest::Pingpong => vec![
                on.takes_longer(),
                on.is_constant(),
                on.slowdown_falls(),
                on.inline_removes(),
                on.takes_processors(),
            ],
            MessageTest::Post => {
                vec![on.posts_cost_little(), on.small_posts_cost_more(), on.inline_removes()]
            }
        }
    };
    ours.extremes().into_iter().flat_map(on).collect()
}

/// The sizes at which the paper's library costs much.
fn small(test: MessageTest) -> &'static [u64] {
    match test {
        MessageTest::Oneway => &[4, 8, 16, 32],
        MessageTest::Pingpong => &[4, 8, 16, 32, 64],
        MessageTest::Post => &[1 << 10, 2 << 10, 4 << 10],
    }
}

/// Those at which it costs little, or, of round trips, a smaller part.
fn large(test: MessageTest) -> &'static [u64] {
    match test {
        MessageTest::Oneway | MessageTest::Pingpong => &[256, 512, 1024],
        MessageTest::Post => &[8 << 10, 16 << 10, 32 << 10, 64 << 10],
    }
}

impl On<'_> {
    fn each(&self, sizes: &[u64], of: impl Fn(u64) -> Rounds) -> Vec<Rounds> {
        sizes.iter().map(|&bytes| of(bytes)).collect()
    }

    /// A layer as a multiple of bare sockets, over these sizes.
    fn over_sockets(&self, layer: &Layer, sizes: &[u64], value: Value) -> Rounds {
        let of = |layer: &Layer, bytes| self.ours.rounds(self.pair, bytes, layer, value);
        Rounds::geometric(&self.each(sizes, |bytes| of(layer, bytes).over(&of(&self.ours.sockets(), bytes))))
    }

    /// What a layer takes longer than bare sockets, µs, over these sizes.
    fn more_us(&self, layer: &Layer, sizes: &[u64]) -> Rounds {
        // One way there are no times of single messages that would add up to the rate.
        let value: Value = if self.test == MessageTest::Oneway { mean_us } else { median_us };
        let of = |layer: &Layer, bytes| self.ours.rounds(self.pair, bytes, layer, value);
        Rounds::mean(&self.each(sizes, |bytes| of(layer, bytes).less(&of(&self.ours.sockets(), bytes))))
    }

    /// What it takes longer in percent of what bare sockets take, over these sizes.
    fn slowdown(&self, sizes: &[u64]) -> Rounds {
        let of = |layer: &Layer, bytes| self.ours.rounds(self.pair, bytes, layer, quantity(self.test));
        let slowdown = |bytes| {
            let sockets = of(&self.ours.sockets(), bytes);
            of(&zccl(), bytes).less(&sockets).over(&sockets).times(100.0)
        };
        Rounds::mean(&self.each(sizes, slowdown))
    }

    fn claim(&self, source: Origin, says: &str, there: &str, here: String, holds: Holds) -> Claim {
        Claim {
            origin: source,
            says: format!("{says} ({})", self.ours.where_on(self.pair)),
            there: there.into(),
            here: format!("{here} (95 % intervals between rounds of trials)"),
            holds,
        }
    }

    fn slow_when_small(&self) -> Claim {
        let sizes = small(self.test);
        let share = self.over_sockets(&zccl(), sizes, per_s).ratio();
        self.claim(
            Origin::Source,
            "One way, the library is much slower than sockets with small messages",
            "25 to 28 % of the sockets' messages a second from 4 to 32 B, 48 % at 64 B (table 7.1)",
            format!(
                "{} % over {}; much slower: significantly below {:.0} %",
                share.written(100.0, 1),
                span(sizes),
                100.0 * MUCH_SLOWER
            ),
            share.below(MUCH_SLOWER),
        )
    }

    fn catches_up(&self) -> Claim {
        let sizes = large(self.test);
        let share = self.over_sockets(&zccl(), sizes, per_s).ratio();
        self.claim(
            Origin::Ours,
            "One way, the library is as fast as sockets from 256 B on",
            "not a claim of the paper: by 7.5.4 the difference falls with the size; 99.91 to 100 % (table 7.1); by its rates the network was the limit of both",
            format!(
                "{} % over {}, {}; as fast: significantly above {:.0} %",
                share.written(100.0, 1),
                span(sizes),
                match self.ours.result.plan.path {
                    Some(_) => "over a path as fast as the paper's",
                    None => "with no network in the way",
                },
                100.0 * LITTLE
            ),
            share.above(LITTLE),
        )
    }

    fn takes_longer(&self) -> Claim {
        let sizes = self.test.sizes_bytes();
        let more = self.more_us(&zccl(), &sizes).estimate();
        self.claim(
            Origin::Source,
            "A round trip through the library takes longer",
            "329 to 355 µs more (table 7.4)",
            format!("{} µs more, the mean over {}", written(more, 2), span(&sizes)),
            above(more, 0.0),
        )
    }

    fn is_constant(&self) -> Claim {
        let mean = self.more_us(&zccl(), &self.test.sizes_bytes());
        let at = |sizes| self.more_us(&zccl(), sizes);
        let (first, last) = (at(small(self.test)), at(large(self.test)));
        let change = last.less(&first).over(&mean).estimate();
        let there_is_one = above(mean.estimate(), 0.0);
        self.claim(
            Origin::Source,
            "What a round trip takes longer does not depend on the size: it is the hand-over to a thread",
            "335 µs at 4 B, 355 µs at 1024 B, about 340 µs (table 7.4 and 7.7.4)",
            format!(
                "{} µs over {}, {} µs over {}: a change of {} % of itself; constant: significantly less than {:.0} %{}",
                written(first.estimate(), 2),
                span(small(self.test)),
                written(last.estimate(), 2),
                span(large(self.test)),
                written(change.map(percent), 1),
                100.0 * CONSTANT,
                no_cost(there_is_one)
            ),
            if there_is_one == Holds::Yes { within(change, -CONSTANT, CONSTANT) } else { Holds::CannotTell },
        )
    }

    fn slowdown_falls(&self) -> Claim {
        let (first, last) = (self.slowdown(small(self.test)), self.slowdown(large(self.test)));
        let fall = first.less(&last).estimate();
        self.claim(
            Origin::Ours,
            "The slowdown of a round trip falls with the size",
            "not a claim of the paper; 65.95 % at 4 B, 13.84 % at 1024 B, where a round trip itself went from 508 to 2566 µs (table 7.4)",
            format!(
                "{} % over {}, {} % over {}: {} points less",
                written(first.estimate(), 1),
                span(small(self.test)),
                written(last.estimate(), 1),
                span(large(self.test)),
                written(fall, 1)
            ),
            above(fall, 0.0),
        )
    }

    fn posts_cost_little(&self) -> Claim {
        let sizes = large(self.test);
        let share = self.over_sockets(&zccl(), sizes, per_s).ratio();
        self.claim(
            Origin::Source,
            "Posts cost little from 8 KiB on",
            "92.32 % of the sockets' rate at 8 KiB, 98.78 % at 64 KiB (table 7.5 and 7.9)",
            format!(
                "{} % over {}; little: significantly above {:.0} %",
                share.written(100.0, 1),
                span(sizes),
                100.0 * LITTLE
            ),
            share.above(LITTLE),
        )
    }

    fn small_posts_cost_more(&self) -> Claim {
        let of = |sizes| self.over_sockets(&zccl(), sizes, per_s);
        let (first, last) = (of(small(self.test)), of(large(self.test)));
        let growth = last.over(&first).ratio();
        self.claim(
            Origin::Source,
            "Posts cost the less the larger the reply is",
            "60.48 % of the sockets' rate at 1 KiB, 98.78 % at 64 KiB (table 7.5 and 7.8.4)",
            format!(
                "{} % over {}, {} % over {}: {} times as much",
                first.ratio().written(100.0, 1),
                span(small(self.test)),
                last.ratio().written(100.0, 1),
                span(large(self.test)),
                growth.written(1.0, 2)
            ),
            growth.above(1.0),
        )
    }

    /// In time a message, so that what is left and what there was can be subtracted.
    fn inline_removes(&self) -> Claim {
        let all = self.test.sizes_bytes();
        let sizes = if self.test == MessageTest::Pingpong { &all } else { small(self.test) };
        let of = |strategy| self.more_us(&library(strategy), sizes);
        let (cost, left) = (of(Strategy::Zccl), of(Strategy::Inline));
        let removed = cost.times(LEFT).less(&left).estimate();
        let there_is_one = above(cost.estimate(), 0.0);
        self.claim(
            Origin::Source,
            "Sending in the caller's context instead of through a thread removes the cost",
            "the advice of 7.9; no trial is reported",
            format!(
                "beside sockets a {} takes {} µs more through the paper's threads, {} inline, {} adaptive, over {}; a cost is \
                 removed where significantly less than {:.0} % of it is left{}",
                what(self.test),
                written(cost.estimate(), 3),
                written(left.estimate(), 3),
                written(of(Strategy::Adaptive).estimate(), 3),
                span(sizes),
                100.0 * LEFT,
                no_cost(there_is_one)
            ),
            if there_is_one == Holds::Yes { above(removed, 0.0) } else { Holds::CannotTell },
        )
    }

    fn takes_processors(&self) -> Claim {
        let sizes = self.test.sizes_bytes();
        let of = |layer: &Layer| self.over_sockets(layer, &sizes, cpu_us).ratio();
        let times = of(&zccl());
        self.claim(
            Origin::Ours,
            "The sender thread takes more CPU time",
            "not in the paper; it follows from its explanation (7.5.4)",
            format!(
                "{} times as much as sockets at both ends together, inline {} times, adaptive {} times, over {}",
                times.written(1.0, 2),
                of(&library(Strategy::Inline)).written(1.0, 2),
                of(&library(Strategy::Adaptive)).written(1.0, 2),
                span(&sizes)
            ),
            times.above(1.0),
        )
    }
}

/// A note for claims about a cost that was not found.
fn no_cost(there_is_one: Holds) -> &'static str {
    match there_is_one {
        Holds::Yes => "",
        Holds::No => "; but the library takes less time than sockets here, so there is no such cost",
        Holds::CannotTell => "; but whether the library costs anything here is not significant",
    }
}

/// Such as `4 B to 32 B`.
fn span(sizes: &[u64]) -> String {
    let [first, .., last] = sizes else { return sizes.first().map_or_else(String::new, |&b| size(b)) };
    format!("{} to {}", size(*first), size(*last))
}

#[cfg(test)]
mod tests;
