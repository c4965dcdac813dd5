//! Numbers of a table that stands beside the original: those of the source as it prints them,
//! ours in as many digits as they deserve.

use netfathom_model::record::{BesideTable, Cell};

use crate::page::shortened;
use netfathom_model::print::grouped;

/// Of a computed number, which has digits without end.
const MOST_DECIMALS: i32 = 6;

/// Digits beyond which a number was computed and never printed by a source.
const MOST_PRINTED: usize = 6;

/// A text that stands for a number is no longer than this; a record from elsewhere may hold a book.
const LONGEST: usize = 24;

/// A cell as a reader wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub value: String,
    /// Half its interval in the digits of the value, where there is one.
    pub half: Option<String>,
}

/// The cells of one column of a table, row by row; `None` where there is none.
pub(super) fn column(table: &BesideTable, index: usize) -> Vec<Option<Shown>> {
    let cells: Vec<Option<&Cell>> =
        table.rows.iter().map(|r| r.cells.get(index).and_then(Option::as_ref)).collect();
    // A source prints the numbers of a column with as many decimals each; a trailing zero is
    // lost on the way into a record.
    let printed = table.rows.iter().zip(&cells).filter(|(r, _)| !r.here).filter_map(|(_, c)| *c);
    let common = printed.map(|c| own_decimals(c.value)).filter(|d| *d <= 2).max().unwrap_or(0);
    (table.rows.iter().zip(cells))
        .map(|(row, cell)| cell.map(|cell| if row.here { shown(cell, 0) } else { as_printed(cell, common) }))
        .collect()
}

/// A number of a source, with all digits that it was printed with.
fn as_printed(cell: &Cell, least: usize) -> Shown {
    let own = own_decimals(cell.value);
    shown(cell, if significant(cell.value) <= MOST_PRINTED { own.max(least) } else { least })
}

fn shown(cell: &Cell, least: usize) -> Shown {
    let digits = decimals(cell.value, cell.half_width).max(least);
    Shown {
        value: cell
            .printed
            .as_deref()
            .map_or_else(|| grouped(cell.value, digits), |printed| shortened(printed, LONGEST)),
        half: cell.half_width.map(|half| grouped(half, digits)),
    }
}

/// A point of a figure as a reader wants it.
pub(super) fn point(value: f64, half_width: Option<f64>) -> String {
    let shown = shown(&Cell { value, half_width, printed: None }, 0);
    shown.half.map_or_else(|| shown.value.clone(), |half| format!("{} ± {half}", shown.value))
}

fn significant(value: f64) -> usize {
    let text = format!("{value}");
    text.trim_start_matches(['-', '0', '.']).chars().filter(char::is_ascii_digit).count()
}

fn own_decimals(value: f64) -> usize {
    if !value.is_finite() { 0 } else { format!("{value}").split_once('.').map_or(0, |(_, d)| d.len()) }
}

/// A short number stays as it was printed. A computed one has digits without end; of those,
/// three count, or as many as its interval shows.
fn decimals(value: f64, half_width: Option<f64>) -> usize {
    let own = own_decimals(value);
    let three = match value.abs() {
        v if v > 0.0 && v.is_finite() => (2 - v.log10().floor() as i32).clamp(0, MOST_DECIMALS) as usize,
        _ => 0,
    };
    let of_half = match half_width {
        Some(half) if half > 0.0 && half.is_finite() => (-half.log10()).ceil().clamp(0.0, 6.0) as usize,
        _ => 0,
    };
    if own <= 2 { own.max(of_half.min(own.max(2))) } else { three.max(of_half) }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::BesideRow;

    use super::*;

    fn with_half(value: f64, half_width: f64) -> (String, String) {
        let shown = shown(&Cell { value, half_width: Some(half_width), printed: None }, 0);
        (shown.value, shown.half.unwrap_or_default())
    }

    fn number(value: f64) -> String {
        grouped(value, decimals(value, None))
    }

    fn row(here: bool, value: f64) -> BesideRow {
        let cell = Cell { value, half_width: None, printed: None };
        BesideRow { who: String::new(), here, cells: vec![Some(cell)] }
    }

    #[test]
    fn what_a_source_printed_stays_and_what_was_computed_is_cut() {
        let alone = [9.05, 1704.0, 60.23, 0.00287, 1.344_128_77, 853_842.149, 12.3, -0.159, 0.0];
        assert_eq!(
            alone.map(number),
            ["9.05", "1,704", "60.23", "0.00287", "1.34", "853,842", "12.3", "-0.159", "0"]
        );
        assert_eq!(number(f64::NAN), "NaN");
    }

    #[test]
    fn an_interval_shares_the_digits_of_its_value() {
        assert_eq!(with_half(9.05, 1.6323), ("9.05".into(), "1.63".into()));
        assert_eq!(with_half(1.344_128_77, 0.008_12), ("1.344".into(), "0.008".into()));
        assert_eq!(with_half(120.0, 31.7), ("120".into(), "32".into()));
    }

    #[test]
    fn a_column_of_a_source_has_common_decimals() {
        let table = BesideTable {
            title: String::new(),
            columns: vec!["mean".into()],
            rows: vec![row(false, 8.5), row(false, 8.71), row(true, 1.3)],
            note: None,
        };
        let values: Vec<String> = column(&table, 0).into_iter().map(|c| c.unwrap().value).collect();
        assert_eq!(values, ["8.50", "8.71", "1.3"]);
    }
}
