//! The tables over sizes as pictures.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::MessageTest;
use netfathom_model::record::{Cell, Figure, FigureKind, FigurePoint};

use super::originals::{Sized, WHO, sized};
use super::ours::{Ours, Value, mean_us, median_us, per_s, what, zccl};
use super::tables::percent;
use crate::beside::{self, plain, theirs};

pub fn all(test: MessageTest, ours: Option<&Ours<'_>>) -> Vec<Figure> {
    let Some(ours) = ours else { return Vec::new() };
    let papers = ours.extremes().into_iter().map(|pair| papers_own(test, ours, pair));
    let figures = papers.chain([beside(test, ours), difference(test, ours)]);
    figures.filter(|f| f.series.iter().any(|s| s.here && !s.points.is_empty())).collect()
}

/// The paper's own figures, 7.1, 7.3 and 7.5. All are logarithmic here, as 7.1 is there: machines of different years
/// are far apart.
fn papers_own(test: MessageTest, ours: &Ours<'_>, pair: usize) -> Figure {
    let (number, what, value): (_, _, Value) = match test {
        MessageTest::Oneway => ("7.1", "messages/s", per_s),
        MessageTest::Pingpong => ("7.3", "a round trip in the mean, µs", mean_us),
        MessageTest::Post => ("7.5", "kB/s", per_s),
    };
    // kB of 1000 bytes.
    let unit = |bytes: u64| if test == MessageTest::Post { bytes as f64 / 1e3 } else { 1.0 };
    let there = |name, value: fn(&Sized) -> f64| {
        let points = sized(test).iter().map(|row| point(row.bytes, plain(value(row)))).collect();
        theirs(format!("{WHO}, {name}"), points)
    };
    let here = |name, layer: Layer| {
        let cell = |bytes| ours.rounds(pair, bytes, &layer, value).times(unit(bytes)).cell();
        beside::ours(format!("here, {name}"), over_sizes(test, cell))
    };
    let title = format!("Sockets and library over the size (figure {number}), {}", ours.on(pair));
    let series = vec![
        there("sockets", |row| row.sockets),
        there("ZCCL", |row| row.zccl),
        here("sockets", ours.sockets()),
        here("zccl", zccl()),
    ];
    Figure { kind: FigureKind::LogLines, ..beside::lines(title, [AXIS, what], series) }
}

fn beside(test: MessageTest, ours: &Ours<'_>) -> Figure {
    let slower = test == MessageTest::Pingpong;
    let there =
        sized(test).iter().filter_map(|row| Some(point(row.bytes, row.cells.get(2)?.clone()))).collect();
    let here = |pair, strategy: Strategy| {
        let share = |bytes| percent(test, ours, pair, bytes, strategy);
        beside::ours(format!("here, {}, {}", strategy.name(), ours.on(pair)), over_sizes(test, share))
    };
    // Adaptive is many times as fast one way, which would hide all others: it is in the table.
    let strategies = [Strategy::Zccl, Strategy::Inline];
    let ours = ours.extremes().into_iter().flat_map(|pair| strategies.map(|s| here(pair, s)));
    let (title, y) = if slower {
        ("Slowdown by the library", "slowdown, %")
    } else {
        ("The library beside sockets", "% of the sockets' rate")
    };
    let series = [theirs(format!("{WHO}, ZCCL"), there)].into_iter().chain(ours).collect();
    beside::lines(title, [AXIS, y], series)
}

/// What the switch to the sending thread takes, in µs: the paper's figure 7.6 by its caption.
fn difference(test: MessageTest, ours: &Ours<'_>) -> Figure {
    let us = |row: &Sized, value: f64| match test {
        MessageTest::Oneway => 1e6 / value,
        MessageTest::Pingpong => value,
        // kB of 1000 bytes a second.
        MessageTest::Post => 1e3 * row.bytes as f64 / value,
    };
    let more = |row: &Sized| point(row.bytes, plain(us(row, row.zccl) - us(row, row.sockets)));
    let there = sized(test).iter().map(more).collect();
    let value: Value = if test == MessageTest::Pingpong { median_us } else { mean_us };
    let here = |pair| {
        let of = |bytes, layer: &Layer| ours.rounds(pair, bytes, layer, value);
        let more = |bytes| of(bytes, &zccl()).less(&of(bytes, &ours.sockets())).cell();
        beside::ours(format!("here, zccl, {}", ours.on(pair)), over_sizes(test, more))
    };
    // Table 7.4 prints it.
    let computed = if test == MessageTest::Pingpong { "" } else { ", computed from its table" };
    let by = format!("{WHO}, ZCCL{computed}");
    let title = format!("What a {} takes longer through a thread", what(test));
    let series = [theirs(by, there)].into_iter().chain(ours.extremes().into_iter().map(here)).collect();
    beside::lines(title, [AXIS, "µs"], series)
}

/// Sizes double from one to the next.
pub const AXIS: &str = "n, of messages of 2ⁿ bytes";

fn over_sizes(test: MessageTest, value: impl Fn(u64) -> Option<Cell>) -> Vec<FigurePoint> {
    test.sizes_bytes().into_iter().filter_map(|bytes| Some(point(bytes, value(bytes)?))).collect()
}

pub fn point(bytes: u64, cell: Cell) -> FigurePoint {
    beside::point((bytes as f64).log2(), cell)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{CellTimes, result};
    use super::super::ours::{library, sockets};
    use super::*;

    fn drawn(test: MessageTest) -> Vec<Figure> {
        let layers = [sockets(), zccl(), library(Strategy::Inline)];
        let made = result(test, &layers, |cell| {
            let us = if cell.layer == zccl() { 40.0 } else { 10.0 };
            Some(CellTimes::each(&[us, us], 1.0))
        });
        all(test, Some(&Ours { name: "it", result: &made }))
    }

    fn ys(figure: &Figure, name: &str) -> Vec<f64> {
        let series =
            figure.series.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("{name}: {figure:?}"));
        series.points.iter().map(|p| p.y.round()).collect()
    }

    #[test]
    fn every_size_has_its_place() {
        for test in MessageTest::ALL {
            let drawn = drawn(test);
            assert_eq!(drawn.len(), 4, "{test:?}");
            for figure in &drawn {
                for series in &figure.series {
                    let xs: Vec<u64> = series.points.iter().map(|p| 1 << p.x as u64).collect();
                    assert_eq!(xs, test.sizes_bytes(), "{}: {}", figure.title, series.name);
                }
            }
        }
    }

    #[test]
    fn the_papers_own_figures_are_absolute() {
        let oneway = &drawn(MessageTest::Oneway)[0];
        assert_eq!(ys(oneway, "here, sockets"), [1e5; 9]);
        assert_eq!(ys(oneway, "Lichota, ZCCL")[..2], [9467.0, 9434.0]);
        assert_eq!(ys(&drawn(MessageTest::Pingpong)[0], "here, zccl"), [40.0; 9]);
        let post = &drawn(MessageTest::Post)[0];
        assert_eq!(ys(post, "here, sockets")[..2], [102_400.0, 204_800.0]);
        assert_eq!(ys(post, "Lichota, sockets")[..2], [665.0, 808.0]);
        assert_eq!((post.y.as_str(), post.kind), ("kB/s", FigureKind::LogLines));
    }

    #[test]
    fn the_slowdown_is_beside_the_papers() {
        let drawn = drawn(MessageTest::Pingpong);
        assert_eq!(ys(&drawn[2], "Lichota, ZCCL")[..2], [66.0, 67.0]);
        assert_eq!(ys(&drawn[2], "here, zccl, apart"), [300.0; 9]);
        assert_eq!(ys(&drawn[2], "here, inline, apart"), [0.0; 9]);
        assert_eq!(ys(&drawn[3], "here, zccl, apart"), [30.0; 9]);
        assert_eq!(ys(&drawn[3], "Lichota, ZCCL")[..2], [335.0, 346.0]);
    }

    #[test]
    fn what_the_thread_costs_the_paper_follows_from_its_tables() {
        let first = |test| ys(&drawn(test)[3], "Lichota, ZCCL, computed from its table")[0];
        assert_eq!((first(MessageTest::Oneway), first(MessageTest::Post)), (79.0, 1006.0));
    }

    #[test]
    fn without_a_trial_nothing_is_drawn() {
        let made = result(MessageTest::Pingpong, &[sockets(), zccl()], |_| None);
        assert!(all(MessageTest::Pingpong, Some(&Ours { name: "it", result: &made })).is_empty());
    }
}
