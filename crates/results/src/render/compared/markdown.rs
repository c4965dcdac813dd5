//! A comparison as GitHub Markdown, short enough for a pull request.

use crate::compare::{Compared, Comparison, Gates, Outcome};

use crate::draw::escape::inline;
use crate::story::compare::words;

/// Differences that stand above the figures; all of them stand in a table below.
const MOST_CHANGED: usize = 20;
/// Rows of a table that people read.
const MOST_ROWS: usize = 100;

/// Draws comparisons, each with what came of its thresholds.
#[must_use]
pub fn render(comparisons: &[(Comparison, Gates)]) -> String {
    let parts: Vec<String> = comparisons.iter().map(|(comparison, gates)| one(comparison, gates)).collect();
    parts.join("\n---\n\n")
}

fn one(comparison: &Comparison, gates: &Gates) -> String {
    let mut text = format!("### netfathom compare: {}\n\n", inline(comparison.measurement));
    text += &format!("**{}** {}\n\n", label(comparison), inline(&words::answer(comparison)));
    for (side, heads) in [("A", &comparison.a), ("B", &comparison.b)] {
        let names: Vec<String> =
            heads.iter().map(|head| format!("{} ({})", code(&head.name), words::standing(head))).collect();
        text += &format!("- {side}: {}\n", names.join(", "));
    }
    text += &changed(comparison);
    for (threshold, passage) in words::gates(gates) {
        text += &format!("- threshold {}: **{passage}**\n", code(&threshold));
    }
    words::gates_method(gates).iter().for_each(|method| text += &format!("- {method}\n"));
    if comparison.forced {
        text += "- compared in spite of what follows, by `--force`\n";
    }
    let list = comparison.obstacles.iter().chain(&comparison.cautions);
    list.for_each(|line| text += &format!("- {}\n", inline(line)));
    text.push('\n');
    let (main, others): (Vec<&Compared>, Vec<&Compared>) = comparison.quantities.iter().partition(|q| q.main);
    text += &table(&main);
    text += &folded(&words::counted(others.len(), "other quantity", "other quantities"), &table(&others));
    text += &folded(
        &words::counted(
            comparison.differences.len(),
            "difference of settings, machine, build or plan",
            "differences of settings, machine, build and plan",
        ),
        &differences(comparison),
    );
    if !comparison.quantities.is_empty() {
        text += &format!("{}\n", inline(&words::method(comparison)));
    }
    text
}

/// What else may be the reason: what is known to matter, and what was not looked at.
fn changed(comparison: &Comparison) -> String {
    let mut text = String::new();
    for difference in comparison.differences.iter().filter(|d| d.effect.is_some()).take(MOST_CHANGED) {
        text += &format!("- changed {}\n", inline(&words::changed(difference)));
    }
    if comparison.differences.is_empty() {
        text += &format!("- {}\n", inline(&words::nothing_changed(comparison)));
    }
    for missing in comparison.not_compared.iter().take(MOST_CHANGED) {
        text += &format!("- not compared: {}, {}\n", inline(&missing.what), inline(&missing.why));
    }
    text
}

fn label(comparison: &Comparison) -> &'static str {
    if comparison.is_refused() {
        return "Not compared.";
    }
    match words::overall(comparison) {
        Some(Outcome::Worse) => "Worse.",
        Some(Outcome::Better) => "Better.",
        Some(Outcome::Same) => "The same.",
        Some(Outcome::CannotTell) | None => "Cannot tell.",
    }
}

fn table(those: &[&Compared]) -> String {
    if those.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("| quantity | A | B | change | 95 % | would find | |\n|---|--:|--:|--:|--:|--:|---|\n");
    for q in those.iter().take(MOST_ROWS) {
        let told = matches!(q.outcome, Outcome::Better | Outcome::Worse);
        let outcome = if told { format!("**{}**", q.outcome.name()) } else { q.outcome.name().into() };
        let note = q.note.as_ref().map(|note| format!(" ({})", inline(note))).unwrap_or_default();
        let cells = [
            code(&q.name),
            words::value(q.unit, q.a_mean),
            words::value(q.unit, q.b_mean),
            words::change(q),
            words::interval(q),
            words::smallest(q),
            outcome + &note,
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    let more = those.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        text += &format!("\n{more} more are in the JSON of the comparison.\n");
    }
    text.push('\n');
    text
}

fn differences(comparison: &Comparison) -> String {
    if comparison.differences.is_empty() {
        return String::new();
    }
    let mut text = String::from("| what | A | B |\n|---|---|---|\n");
    for d in comparison.differences.iter().take(MOST_ROWS) {
        let some = d.in_pairs().map_or_else(String::new, |some| format!(" {some}"));
        text += &format!("| {}{some} | {} | {} |\n", code(&d.what), inline(&d.a), inline(&d.b));
    }
    text.push('\n');
    text
}

fn folded(title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    format!("<details><summary>{title}</summary>\n\n{content}</details>\n\n")
}

/// A name as it is typed.
fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-/+=%><".contains(c);
    if !text.is_empty() && text.chars().all(plain) { format!("`{text}`") } else { inline(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_code_only_where_nothing_in_it_ends_that() {
        assert_eq!(code("a`b"), "a\\`b");
        assert_eq!(code("tx.mean>5%"), "`tx.mean>5%`");
        assert_eq!(code("@team <b>"), inline("@team <b>"));
    }
}
