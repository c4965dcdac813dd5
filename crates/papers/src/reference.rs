//! The sources' own tables, as they were printed: comma-separated, a line of names first.

use netfathom_model::record::Cell;

use super::beside::plain;

/// The rows of a table, without its line of names.
pub fn rows(csv: &'static str) -> Vec<Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

/// A number as it was printed. What is more than a number, such as `<0`, is kept as text beside the number
/// that is in it.
pub fn cell(text: &str) -> Cell {
    let (value, printed) = match text.parse() {
        Ok(value) => (value, None),
        Err(_) => (text.trim_start_matches(['<', '~']).parse().unwrap_or(0.0), Some(text.to_owned())),
    };
    Cell { printed, ..plain(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_shown_as_it_was_printed() {
        assert_eq!(cell("2"), plain(2.0));
        assert_eq!(cell("<0"), Cell { printed: Some("<0".into()), ..plain(0.0) });
    }

    #[test]
    fn the_line_of_names_is_no_row() {
        assert_eq!(rows("a,b\n1,2\n3,4\n"), [["1", "2"], ["3", "4"]]);
    }
}
