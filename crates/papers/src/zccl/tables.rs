//! The paper's tables over sizes with rows of this machine, and what it does not have.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::{MessageTest, Placement};
use netfathom_model::record::{BesideRow, BesideTable, Cell};

use super::originals::{self, Sized, source};
use super::ours::{Ours, Value, cpu_us, library, mean_us, median_us, per_s, size, what, zccl};
use crate::beside::{beside_table, own};
use crate::rounds::Rounds;

/// What stands beside the paper's library.
pub const INSTEAD: [Strategy; 4] = [Strategy::Zccl, Strategy::Thread, Strategy::Inline, Strategy::Adaptive];

pub fn beside(test: MessageTest, ours: Option<&Ours<'_>>) -> BesideTable {
    let (title, columns, note) = match test {
        MessageTest::Oneway => (
            "One way",
            "sockets, messages/s|ZCCL; here zccl, messages/s|ratio, %",
            "Table 7.1. The printed ratio of 16 bytes is not that of its rates, which is 28.41 %. From 32 bytes on the \
             paper's sockets carried 1130 to 1133 kB/s, taking its header for four bytes: what the network let \
             through.",
        ),
        MessageTest::Pingpong => (
            "Round trips",
            "sockets, µs|ZCCL; here zccl, µs|slowdown, %|difference, µs",
            "Table 7.4. Slowdown: (library - sockets) / sockets; the formula of 7.7.3 has a further - 1, its table has not. \
             Ours are medians of a trial, which do not count how long others kept the CPU; means, as the \
             paper has them, stand below.",
        ),
        MessageTest::Post => (
            "Replies over the channel Post",
            "sockets, kB/s|ZCCL; here zccl, kB/s|ratio, %",
            "Table 7.5. Ours: kB of 1000 bytes, of the replies' bodies.",
        ),
    };
    let here = |ours: &Ours<'_>, pair, bytes| {
        let of = |layer: &Layer| ours.rounds(pair, bytes, layer, quantity(test));
        let (sockets, thread) = (of(&ours.sockets()), of(&zccl()));
        match test {
            MessageTest::Oneway => rates(&sockets, &thread, 1.0),
            MessageTest::Pingpong => slowdown(&sockets, &thread),
            MessageTest::Post => rates(&sockets, &thread, bytes as f64 / 1e3),
        }
    };
    beside_table(title, columns, rows(test, ours, Sized::row, here), note)
}

pub fn quantity(test: MessageTest) -> Value {
    match test {
        MessageTest::Oneway | MessageTest::Post => per_s,
        MessageTest::Pingpong => median_us,
    }
}

fn rates(sockets: &Rounds, thread: &Rounds, unit: f64) -> Vec<Option<Cell>> {
    vec![sockets.times(unit).cell(), thread.times(unit).cell(), thread.over(sockets).percent_cell()]
}

fn slowdown(sockets: &Rounds, thread: &Rounds) -> Vec<Option<Cell>> {
    let less = thread.less(sockets);
    vec![sockets.cell(), thread.cell(), less.over(sockets).times(100.0).cell(), less.cell()]
}

/// Round trips in the mean: time over number, the paper's own.
pub fn means(ours: Option<&Ours<'_>>) -> BesideTable {
    let here = |ours: &Ours<'_>, pair, bytes| {
        let of = |layer: &Layer| ours.rounds(pair, bytes, layer, mean_us);
        slowdown(&of(&ours.sockets()), &of(&zccl()))
    };
    let mut table = beside(MessageTest::Pingpong, None);
    table.title = "Round trips in the mean".into();
    table.rows = rows(MessageTest::Pingpong, ours, Sized::row, here);
    table.note = Some("The time of all round trips over their number.".into());
    table
}

/// What a sender without a thread of its own makes of it.
pub fn instead(test: MessageTest, ours: Option<&Ours<'_>>) -> BesideTable {
    let slower = test == MessageTest::Pingpong;
    let here = |ours: &Ours<'_>, pair, bytes| INSTEAD.map(|s| percent(test, ours, pair, bytes, s)).into();
    let there = |row: &Sized| source(&size(row.bytes), vec![row.cells.get(2).cloned(), None, None, None]);
    let what = if slower { "slowdown" } else { "of sockets" };
    beside_table(
        format!("With and without a sender thread: {what}, %"),
        "ZCCL; here zccl, %|thread, %|inline, %|adaptive, %",
        rows(test, ours, there, here),
        format!(
            "thread: one thread, which sends; inline: the caller writes, as 7.9 advises; adaptive: the caller writes while \
             nothing is in flight, otherwise messages leave together. {} bare sockets with one write a message.",
            if slower { "Compared with" } else { "100 % are" }
        ),
    )
}

/// A library beside the sockets: by how much a round trip takes longer, or how much of the rate is left.
pub fn percent(test: MessageTest, ours: &Ours<'_>, pair: usize, bytes: u64, own: Strategy) -> Option<Cell> {
    let of = |layer: &Layer| ours.rounds(pair, bytes, layer, quantity(test));
    let (own, sockets) = (of(&library(own)), of(&ours.sockets()));
    match test {
        MessageTest::Pingpong => own.less(&sockets).over(&sockets).times(100.0).cell(),
        MessageTest::Oneway | MessageTest::Post => own.over(&sockets).percent_cell(),
    }
}

pub fn processor_time(test: MessageTest, ours: Option<&Ours<'_>>) -> BesideTable {
    let here = |ours: &Ours<'_>, pair, bytes| {
        let layers = [ours.sockets()].into_iter().chain(INSTEAD.map(library));
        layers.map(|layer| ours.rounds(pair, bytes, &layer, cpu_us).cell()).collect()
    };
    let rows = rows(test, ours, Sized::row, here);
    beside_table(
        "CPU time of both ends",
        "sockets, µs|zccl, µs|thread, µs|inline, µs|adaptive, µs",
        rows.into_iter().filter(|row| row.here),
        format!(
            "A {}: of the threads of both ends, kernel work in their name included. The paper has no such table.",
            if test == MessageTest::Post { "request and its reply" } else { what(test) }
        ),
    )
}

/// Size by size the source's row, and below it a row of ours for each pair of processors.
fn rows(
    test: MessageTest,
    ours: Option<&Ours<'_>>,
    there: impl Fn(&Sized) -> BesideRow,
    here: impl Fn(&Ours<'_>, usize, u64) -> Vec<Option<Cell>>,
) -> Vec<BesideRow> {
    let below = |bytes: u64| {
        let measured = |ours: &&Ours<'_>, pair: usize| {
            let layers = &ours.result.plan.layers;
            layers.iter().any(|layer| ours.cell(Placement::UU, pair, bytes, layer).is_some())
        };
        let of = |ours: &Ours<'_>| {
            let pairs = ours.pairs().into_iter().filter(|&pair| measured(&ours, pair));
            let row =
                |pair| own(format!("here, {}, {}", size(bytes), ours.on(pair)), here(ours, pair, bytes));
            pairs.map(row).collect::<Vec<_>>()
        };
        ours.map(of).unwrap_or_default()
    };
    let all = originals::sized(test);
    all.iter().flat_map(|row| [vec![there(row)], below(row.bytes)].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{CellTimes, result};
    use super::super::ours::sockets;
    use super::*;

    fn values(table: &BesideTable, who: &str) -> Vec<f64> {
        let row = table.rows.iter().find(|row| row.who == who).unwrap_or_else(|| panic!("{who}: {table:?}"));
        row.cells.iter().flatten().map(|cell| cell.value).collect()
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6 * b.abs().max(1.0);
        assert!(found.iter().zip(expected).all(close), "{found:?} is not {expected:?}");
    }

    /// Sockets take 10 µs, the paper's threads 30, inline 12.
    fn times(bytes: u64, layer: &Layer) -> Option<CellTimes> {
        let us = match layer.to_string().as_str() {
            "write+nodelay" => 10.0,
            "zccl" => 30.0,
            "inline" => 12.0,
            _ => return None,
        };
        (bytes != 8).then(|| CellTimes::each(&[us, us + 1.0], 2.0 * us))
    }

    #[test]
    fn ours_stands_below_each_row_of_the_source() {
        let layers = [sockets(), zccl(), library(Strategy::Inline)];
        for test in MessageTest::ALL {
            let made = result(test, &layers, |cell| times(cell.bytes, &cell.layer));
            let ours = Ours { name: "it", result: &made };
            for table in [instead(test, Some(&ours)), processor_time(test, Some(&ours))] {
                assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()), "{table:?}");
            }
            let sources: Vec<String> =
                beside(test, Some(&ours)).rows.into_iter().map(|r| r.who).take(3).collect();
            let first = size(test.sizes_bytes()[0]);
            let expected = [
                format!("Lichota, {first}"),
                format!("here, {first}, same CPU"),
                format!("here, {first}, apart"),
            ];
            assert_eq!(sources, expected);
            let of_8 = beside(test, Some(&ours)).rows.iter().filter(|r| r.who.contains(", 8 B")).count();
            assert_eq!(of_8, usize::from(test != MessageTest::Post), "what was not measured has no row");
        }
    }

    #[test]
    fn the_columns_are_the_papers() {
        let layers = [sockets(), zccl(), library(Strategy::Inline)];
        let table = |test, make: fn(MessageTest, Option<&Ours<'_>>) -> BesideTable| {
            let made = result(test, &layers, |cell| {
                let us = match cell.layer.to_string().as_str() {
                    "write+nodelay" => 10.0,
                    "zccl" => 40.0,
                    _ => 20.0,
                };
                Some(CellTimes::each(&[us, us], 2.0 * us))
            });
            make(test, Some(&Ours { name: "it", result: &made }))
        };
        near(&values(&table(MessageTest::Oneway, beside), "here, 4 B, apart"), &[1e5, 25e3, 25.0]);
        near(&values(&table(MessageTest::Pingpong, beside), "here, 4 B, apart"), &[10.0, 40.0, 300.0, 30.0]);
        near(&values(&table(MessageTest::Post, beside), "here, 2 KiB, apart"), &[204_800.0, 51_200.0, 25.0]);
        near(&values(&table(MessageTest::Oneway, instead), "here, 4 B, apart"), &[25.0, 50.0]);
        near(&values(&table(MessageTest::Pingpong, instead), "here, 4 B, apart"), &[300.0, 100.0]);
        near(&values(&table(MessageTest::Oneway, processor_time), "here, 4 B, apart"), &[20.0, 80.0, 40.0]);
        near(
            &values(&table(MessageTest::Pingpong, |_, ours| means(ours)), "here, 4 B, apart"),
            &[10.0, 40.0, 300.0, 30.0],
        );
    }

    #[test]
    fn without_a_measurement_the_source_stands_alone() {
        for test in MessageTest::ALL {
            for table in [beside(test, None), instead(test, None)] {
                assert_eq!(table.rows.len(), test.sizes_bytes().len());
                assert!(table.rows.iter().all(|row| !row.here));
            }
        }
        assert_eq!(
            values(&beside(MessageTest::Pingpong, None), "Lichota, 1024 B"),
            [2566.0, 2921.0, 13.84, 355.0]
        );
    }
}
