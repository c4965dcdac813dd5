//! Marks as text or as lines of JSON.

use netfathom_mark::listen::Mark;
use netfathom_model::print;
use netfathom_results::draw;
use netfathom_results::page::{Page, Table};
use serde_json::{Value, json};

use super::seen_marks::{Row, Seen, Times};
use crate::output::{self, harmless};

#[derive(Clone, Copy)]
pub enum Form {
    Text,
    Json,
}

impl Form {
    pub fn header(self) -> Option<String> {
        match self {
            Self::Text => Some(format!("{:>14}  {:>12}  {:>8}  mark", "time s", "span", "thread")),
            Self::Json => None,
        }
    }

    /// What stands between the lines and the table.
    pub fn gap(self) -> Option<String> {
        self.header().map(|_| String::new())
    }

    pub fn mark(self, mark: &Mark, times: Times) -> String {
        match self {
            Self::Text => format!(
                "{:>14.9}  {:>12}  {:>8}  {}",
                times.since_first_ns as f64 / 1e9,
                optional(times.span_ns.map(|ns| ns as f64)),
                mark.thread,
                one_line(&mark.name)
            ),
            Self::Json => json!({
                "name": mark.name,
                "cut": mark.cut,
                "at_ns": mark.at_ns,
                "since_first_ns": times.since_first_ns,
                "span_ns": times.span_ns,
                "process": mark.process,
                "thread": mark.thread,
            })
            .to_string(),
        }
    }

    /// What stands at the end: the table, what was lost, how the program ended.
    pub fn summary(self, seen: &Seen, [lost, damaged]: [u64; 2], ended: Option<&str>) -> Vec<String> {
        match self {
            Self::Text => text(seen, lost, damaged, ended),
            Self::Json => vec![
                json!({
                    "marks": seen.rows().map(|(name, row)| of_name(name, row)).collect::<Vec<_>>(),
                    "further_names": seen.others().map(|row| row.count).unwrap_or(0),
                    "lost": lost,
                    "damaged": damaged,
                    "ended": ended,
                })
                .to_string(),
            ],
        }
    }
}

fn of_name(name: &str, row: &Row) -> Value {
    json!({
        "name": name,
        "count": row.count,
        "mean_span_ns": row.mean_ns(),
        "least_span_ns": row.least_ns,
        "most_span_ns": row.most_ns,
    })
}

fn text(seen: &Seen, lost: u64, damaged: u64, ended: Option<&str>) -> Vec<String> {
    let mut page = Page::default();
    if seen.rows().next().is_some() {
        let mut table = Table::of("<mark|count|mean span|least|most");
        seen.rows().for_each(|(name, row)| table.row(cells(&one_line(name), row)));
        seen.others().into_iter().for_each(|row| table.row(cells("(all further names)", row)));
        page.table(table);
    }
    page.text(match seen.rows().map(|(_, row)| row.count).sum::<u64>() {
        0 => "no marks came",
        _ => "a span is the time since the previous mark of the same thread",
    });
    if lost > 0 {
        page.text(&format!(
            "{} lost: marks came faster than they were read, or who made them was killed in the middle",
            print::counted(lost, "mark")
        ));
    }
    if damaged > 0 {
        page.text(&format!(
            "the ring was damaged {}: another program has written into it, and what was lost is unknown",
            print::counted(damaged, "time")
        ));
    }
    ended.map(harmless).iter().for_each(|ended| page.text(ended));
    draw::terminal(&page, output::width(), output::color()).lines().map(str::to_owned).collect()
}

/// A name that cannot do anything to a terminal, nor look like several lines.
fn one_line(name: &str) -> String {
    harmless(name).replace('\n', "\u{fffd}")
}

fn cells(name: &str, row: &Row) -> [String; 5] {
    let spans = [row.mean_ns(), row.least_ns.map(|ns| ns as f64), row.most_ns.map(|ns| ns as f64)];
    let [mean, least, most] = spans.map(optional);
    [name.to_owned(), print::count(row.count), mean, least, most]
}

fn optional(span_ns: Option<f64>) -> String {
    span_ns.map_or_else(|| "-".into(), print::time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_marks_are_counted_in_words() {
        let lost = |n| Form::Text.summary(&Seen::default(), [n, 0], None).join(" ");
        assert!(lost(1).contains("1 mark lost: "), "{}", lost(1));
        assert!(lost(1000).contains("1,000 marks lost: "), "{}", lost(1000));
    }
}
