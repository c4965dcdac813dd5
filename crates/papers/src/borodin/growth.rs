//! How much longer an incoming message takes than an outgoing one.

use netfathom_model::path::Direction;
use netfathom_model::record::{BesideTable, Cell, StackResult};

use super::originals::{self, PLATFORMS, who};
use super::ours;
use super::tables::mean_us;
use crate::beside::{HERE, beside_table, estimate, mean, own, plain, source};
use crate::claim::percent_more;

/// How much more a message takes on its way in.
pub fn growth(ours: Option<&StackResult>) -> BesideTable {
    let original = |platform: &&str| {
        let mean = |direction| originals::mean_us(direction, platform);
        let growth = originals::growth(platform);
        let cells = [mean(Direction::Tx), mean(Direction::Rx), growth, growth.map(percent_more)];
        let [.., printed] = originals::in_text(platform);
        source(who(platform), cells.map(|e| e.map(estimate)).into_iter().chain([printed]).collect())
    };
    let here = ours.and_then(here_growth).map(|cells| own(HERE, cells));
    beside_table(
        "Growth of incoming over outgoing time",
        "outgoing mean, µs|incoming mean, µs|incoming / outgoing|growth, %|growth as printed, %",
        PLATFORMS.iter().map(original).chain(here),
        "As printed: the incoming paper's conclusion, which cuts decimals off the quotient of the printed means \
         (24.13 / 9.05 is 166.6 % more); recomputed from the trials of both tables 2, as all other figures in these rows are, it is 166.8 %. In the papers the two ways were measured in trials of their own: the interval of their quotient \
         is that of two independent means. Here both ways are of the same messages, and the interval is \
         that of the trials' quotients.",
    )
}

fn here_growth(ours: &StackResult) -> Option<Vec<Option<Cell>>> {
    let growth = mean(&ours::growths(ours))?;
    let half_width = growth.half_width.map(|half| 100.0 * half);
    let percent = Cell { half_width, ..plain(100.0 * (growth.value - 1.0)) };
    let mean = |direction| Some(mean_us(&ours::summary(ours, direction)?.overall));
    Some(vec![mean(Direction::Tx), mean(Direction::Rx), Some(growth), Some(percent), None])
}

/// The same, trial by trial; only here, where both ways are of the same messages.
pub fn trials(ours: Option<&StackResult>) -> BesideTable {
    let pairs = ours.map(ours::pairs_us).unwrap_or_default();
    let row = |(i, &(out, into)): (usize, &(f64, f64))| {
        let growth = (out > 0.0).then(|| into / out);
        let cells = [Some(out), Some(into), growth, growth.map(|g| 100.0 * (g - 1.0))].map(|v| v.map(plain));
        own(format!("{HERE}, trial {}", i + 1), cells.into())
    };
    beside_table(
        "Growth of incoming over outgoing time, trial by trial",
        "outgoing mean, µs|incoming mean, µs|incoming / outgoing|growth, %",
        pairs.iter().enumerate().map(row),
        "",
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::stack;
    use super::super::tables::tests::here;
    use super::*;

    #[test]
    fn the_growth_is_the_mean_of_the_trials_own() {
        let ours = stack(&[
            (Direction::Tx, &[(1000, 1000), (2000, 2000)]),
            (Direction::Rx, &[(3000, 3000), (4000, 4000)]),
        ]);
        assert_eq!(here(&growth(Some(&ours))), [1.5, 3.5, 2.5, 150.0]);
        assert_eq!(here(&trials(Some(&ours))), [1.0, 3.0, 3.0, 200.0]);
    }

    #[test]
    fn the_printed_growth_stands_beside_the_quotient() {
        let printed: Vec<f64> =
            growth(None).rows.iter().map(|row| row.cells[4].as_ref().unwrap().value).collect();
        assert_eq!(printed, [166.0, 406.0, 16.0]);
    }
}
