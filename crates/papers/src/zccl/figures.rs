//! The tables over sizes as pictures.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::MessageTest;
use netfathom_model::record::{Cell, Figure, FigureKind, FigurePoint, FigureSeries};

use super::originals::{Sized, WHO, sized};
use super::ours::{Ours, Value, library, mean_us, median_us, size, sockets, thread};
use super::tables::quantity;

pub fn all(test: MessageTest, ours: Option<&Ours<'_>>) -> Vec<Figure> {
    let Some(ours) = ours else { return Vec::new() };
    let shapes = ours.extremes().into_iter().map(|pair| shape(test, ours, pair));
    let figures = shapes.chain([beside(test, ours), difference(test, ours)]);
    figures.filter(|f| f.series.iter().any(|s| s.here && !s.points.is_empty())).collect()
}

/// Both curves in parts of what sockets do at one of the sizes, so that those of two machines of
/// different years stand beside each other.
fn shape(test: MessageTest, ours: &Ours<'_>, pair: usize) -> Figure {
    let all = sized(test);
    let unit = |bytes: u64| if test == MessageTest::Post { bytes as f64 } else { 1.0 };
    // Posts grow faster the larger they are, all others are at their best with small messages.
    let base = if test == MessageTest::Post { all.last() } else { all.first() };
    let (base_bytes, base) = base.map_or((1, 1.0), |row| (row.bytes, row.sockets));
    let there = |name, value: fn(&Sized) -> f64| {
        let point = |row: &Sized| point(row.bytes, plain(100.0 * value(row) / base));
        line(format!("{WHO}, {name}"), false, all.iter().map(point).collect())
    };
    let of = |layer: &Layer, bytes| ours.rounds(pair, bytes, layer, quantity(test)).times(unit(bytes));
    let here = |name, layer: Layer| {
        let share = |bytes| of(&layer, bytes).over(&of(&sockets(), base_bytes)).percent_cell();
        line(format!("here, {name}"), true, over_sizes(test, share))
    };
    let what = match test {
        MessageTest::Oneway => "messages/s",
        MessageTest::Pingpong => "a round trip",
        MessageTest::Post => "kB/s",
    };
    Figure {
        title: format!("How sockets and library change with the size, {}", ours.on(pair)),
        x: AXIS.into(),
        y: format!("{what}, % of the sockets' at {}", size(base_bytes)),
        kind: FigureKind::Lines,
        series: vec![
            there("sockets", |row| row.sockets),
            there("ZCCL", |row| row.zccl),
            here("sockets", sockets()),
            here("thread", thread()),
        ],
    }
}

fn beside(test: MessageTest, ours: &Ours<'_>) -> Figure {
    let slower = test == MessageTest::Pingpong;
    let there =
        sized(test).iter().filter_map(|row| Some(point(row.bytes, row.cells.get(2)?.clone()))).collect();
    let here = |pair, strategy: Strategy| {
        let share = |bytes| {
            let of = |layer: &Layer| ours.rounds(pair, bytes, layer, quantity(test));
            let (own, sockets) = (of(&library(strategy)), of(&sockets()));
            match slower {
                true => own.less(&sockets).over(&sockets).times(100.0).cell(),
                false => own.over(&sockets).percent_cell(),
            }
        };
        line(format!("here, {}, {}", strategy.name(), ours.on(pair)), true, over_sizes(test, share))
    };
    // Adaptive is many times as fast one way, which would hide all others: it is in the table.
    let strategies = [Strategy::Thread, Strategy::Inline];
    let ours = ours.extremes().into_iter().flat_map(|pair| strategies.map(|s| here(pair, s)));
    Figure {
        title: if slower { "Slowdown by the library" } else { "The library beside sockets" }.into(),
        x: AXIS.into(),
        y: if slower { "slowdown, %" } else { "% of the sockets' rate" }.into(),
        kind: FigureKind::Lines,
        series: [line(format!("{WHO}, ZCCL"), false, there)].into_iter().chain(ours).collect(),
    }
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
        let more = |bytes| of(bytes, &thread()).less(&of(bytes, &sockets())).cell();
        line(format!("here, thread, {}", ours.on(pair)), true, over_sizes(test, more))
    };
    let what = match test {
        MessageTest::Oneway => "message",
        MessageTest::Pingpong => "round trip",
        MessageTest::Post => "reply",
    };
    Figure {
        title: format!("What a {what} takes longer through a thread"),
        x: AXIS.into(),
        y: "µs".into(),
        kind: FigureKind::Lines,
        series: [line(format!("{WHO}, ZCCL"), false, there)]
            .into_iter()
            .chain(ours.extremes().into_iter().map(here))
            .collect(),
    }
}

/// Sizes double from one to the next.
pub const AXIS: &str = "n, of messages of 2ⁿ bytes";

fn over_sizes(test: MessageTest, value: impl Fn(u64) -> Option<Cell>) -> Vec<FigurePoint> {
    test.sizes_bytes().into_iter().filter_map(|bytes| Some(point(bytes, value(bytes)?))).collect()
}

fn point(bytes: u64, cell: Cell) -> FigurePoint {
    FigurePoint { x: (bytes as f64).log2(), y: cell.value, half_width: cell.half_width, label: None }
}

fn plain(value: f64) -> Cell {
    Cell { value, half_width: None, printed: None }
}

fn line(name: String, here: bool, points: Vec<FigurePoint>) -> FigureSeries {
    FigureSeries { name, here, points }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Told, result};
    use super::*;

    fn drawn(test: MessageTest) -> Vec<Figure> {
        let layers = [sockets(), thread(), library(Strategy::Inline)];
        let made = result(test, &layers, |cell| {
            let us = if cell.layer == thread() { 40.0 } else { 10.0 };
            Some(Told::each(&[us, us], 1.0))
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
        for (test, figures) in [(MessageTest::Oneway, 4), (MessageTest::Pingpong, 4), (MessageTest::Post, 4)]
        {
            let drawn = drawn(test);
            assert_eq!(drawn.len(), figures, "{test:?}");
            for figure in &drawn {
                for series in &figure.series {
                    let xs: Vec<u64> = series.points.iter().map(|p| 1 << p.x as u64).collect();
                    assert_eq!(xs, test.sizes_bytes(), "{}: {}", figure.title, series.name);
                }
            }
        }
    }

    #[test]
    fn curves_have_a_point_in_common() {
        let oneway = &drawn(MessageTest::Oneway)[0];
        assert_eq!(ys(oneway, "here, sockets"), [100.0; 9]);
        assert_eq!(ys(oneway, "here, thread"), [25.0; 9]);
        assert_eq!(ys(oneway, "Lichota, ZCCL")[..2], [25.0, 25.0]);
        let post = &drawn(MessageTest::Post)[0];
        assert_eq!(ys(post, "here, sockets")[4..], [25.0, 50.0, 100.0]);
        assert_eq!(ys(post, "Lichota, sockets")[..2], [59.0, 72.0]);
        assert_eq!(post.y, "kB/s, % of the sockets' at 64 KiB");
    }

    #[test]
    fn the_slowdown_is_beside_the_papers() {
        let drawn = drawn(MessageTest::Pingpong);
        assert_eq!(ys(&drawn[2], "Lichota, ZCCL")[..2], [66.0, 67.0]);
        assert_eq!(ys(&drawn[2], "here, thread, apart"), [300.0; 9]);
        assert_eq!(ys(&drawn[2], "here, inline, apart"), [0.0; 9]);
        assert_eq!(ys(&drawn[3], "here, thread, apart"), [30.0; 9]);
        assert_eq!(ys(&drawn[3], "Lichota, ZCCL")[..2], [335.0, 346.0]);
    }

    #[test]
    fn the_thread_costs_the_paper_as_much_in_every_test() {
        let first = |test| ys(&drawn(test)[3], "Lichota, ZCCL")[0];
        assert_eq!((first(MessageTest::Oneway), first(MessageTest::Post)), (79.0, 1006.0));
    }

    #[test]
    fn without_a_trial_nothing_is_drawn() {
        let made = result(MessageTest::Pingpong, &[sockets(), thread()], |_| None);
        assert!(all(MessageTest::Pingpong, Some(&Ours { name: "it", result: &made })).is_empty());
    }
}
