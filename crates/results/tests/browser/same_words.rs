//! A terminal, Markdown and a report carry the same sentences and figures: those of the page.

use netfathom_results::draw;
use netfathom_results::page::{Block, Page};
use pulldown_cmark::{Event, Options, Parser};

use crate::Shown;
use crate::kinds::open_all;

/// The words of a page stand in each medium.
pub fn carried(kind: &str, page: &Page, markdown: &str, shown: &mut Shown) {
    let words = words_of(page);
    assert!(words.len() > 20, "{kind}: {words:?}");
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    let written = events.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        Event::End(_) | Event::SoftBreak => Some(" ".into()),
        _ => None,
    });
    open_all(shown);
    let report = shown.page.eval("document.body.textContent");
    let media = [
        ("terminal", plain(&draw::terminal(page, 4_000, false))),
        ("Markdown", plain(&written.collect::<String>())),
        ("report", plain(report.as_str().unwrap())),
    ];
    for (medium, text) in media {
        let lacks: Vec<&String> = words.iter().filter(|words| !text.contains(words.as_str())).collect();
        assert!(lacks.is_empty(), "{kind}: {medium} lacks {lacks:#?}");
    }
}

/// Commands are between backquotes, but for a report, which has another type for them.
fn plain(text: &str) -> String {
    text.replace('`', "")
        .split_whitespace()
        .filter(|word| *word != "\u{2060}")
        .collect::<Vec<_>>()
        .join(" ")
        .replace('\u{2060}', "")
}

/// Every sentence, heading and cell under the headings that all media draw.
fn words_of(page: &Page) -> Vec<String> {
    let mut words = Vec::new();
    for section in page.sections.iter().filter(|section| !section.blocks.iter().all(Block::is_picture)) {
        words.push(section.title.clone());
        let mut own = Vec::new();
        section.blocks.iter().for_each(|block| of_block(block, &mut own));
        if ["Findings", "Left out"].contains(&section.title.as_str()) {
            own = own.iter().flat_map(|text| parts(text)).collect();
        }
        words.append(&mut own);
    }
    words.iter().map(|text| plain(text)).filter(|text| !text.is_empty()).collect()
}

/// Of a finding, or of what was left out: a report has each part by itself, under its own labels.
fn parts(text: &str) -> Vec<String> {
    const LABELS: [&str; 4] = ["seen", "cause", "evidence", "remedy"];
    let parts = text.split_once(": ").map_or(vec![text], |(label, rest)| vec![label, rest]);
    parts.into_iter().filter(|part| !LABELS.contains(part)).map(str::to_owned).collect()
}

fn of_block(block: &Block, words: &mut Vec<String>) {
    match block {
        Block::Text { text } | Block::Note { text } | Block::Aside { text, .. } => words.push(text.clone()),
        Block::Labelled { label, text, .. } => words.extend([label.clone(), text.clone()]),
        Block::Item { text, details } => {
            words.push(text.clone());
            words.extend(details.iter().cloned());
        }
        Block::Table(table) => {
            for column in &table.columns {
                // A terminal has one word of such a heading above the other.
                let breaks = |c: char| c == '\n' || (column.wraps && c == ' ');
                words.extend(column.head.split(breaks).map(str::to_owned));
            }
            words.extend(table.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.text()));
            words.extend(table.rows.iter().filter_map(|row| row.across.clone()));
        }
        _ => {}
    }
}
