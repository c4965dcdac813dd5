//! Records that mean no good, in every picture that is no web page.

use netfathom_model::record::Record;
use netfathom_results::compare::{Gates, Run, Wishes, apart};
use netfathom_results::render::{html, markdown};
use netfathom_results::{draw, story};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

use crate::contract;
use crate::fixtures::{ALL, fixture};
use crate::walk::{HOSTILE, poisoned};

/// What a reader of Markdown would do beside showing text.
fn obeyed(text: &str) -> Vec<String> {
    let acts = |event: &Event<'_>| match event {
        Event::Html(_)
        | Event::InlineHtml(_)
        | Event::Code(_)
        | Event::Rule
        | Event::InlineMath(_)
        | Event::DisplayMath(_) => true,
        Event::Start(tag) => matches!(
            tag,
            Tag::Link { .. }
                | Tag::Image { .. }
                | Tag::CodeBlock(_)
                | Tag::HtmlBlock
                | Tag::BlockQuote(_)
                | Tag::Emphasis
                | Tag::Strikethrough
        ),
        _ => false,
    };
    Parser::new_ext(text, Options::all()).filter(acts).map(|event| format!("{event:?}")).collect()
}

#[test]
fn markdown_obeys_nothing_of_a_record() {
    for name in ALL {
        let record = poisoned(fixture(name));
        assert_eq!(record.environment.kernel, HOSTILE);
        let drawn = markdown::render(&record);
        assert_eq!(obeyed(&drawn), Vec::<String>::new(), "{name}");
        assert!(!drawn.contains("https://") && !drawn.contains(" www."), "{name}: a link without a sign");
        assert!(!drawn.chars().any(|c| c.is_control() && c != '\n'), "{name}");
        assert!(drawn.contains("window.pwned"), "{name}: the test is of no use");
    }
}

#[test]
fn the_check_itself_notices() {
    for bad in ["<b>x</b>", "[x](y)", "![x](y)", "`x`", "    x", "> x", "https://x [x]: y\n\n[x](<y>)"] {
        assert!(!obeyed(bad).is_empty(), "{bad}");
    }
}

#[test]
fn markdown_of_honest_records_holds_their_tables() {
    for name in ALL {
        let drawn = markdown::render(&fixture(name));
        assert_eq!(obeyed(&drawn), Vec::<String>::new(), "{name}");
        assert!(drawn.starts_with("# netfathom "), "{name}");
        let parsed: Vec<Event<'_>> = Parser::new_ext(&drawn, Options::all()).collect();
        let tables = parsed.iter().filter(|e| matches!(e, Event::Start(Tag::Table(_)))).count();
        assert!(tables > 0, "{name}: no table:\n{drawn}");
        // A row is a row of its table, not a text that begins with a bar.
        assert!(
            !parsed.iter().any(|e| matches!(e, Event::Text(t) if t.starts_with("| "))),
            "{name}:\n{drawn}"
        );
    }
}

#[test]
fn no_line_of_any_measurement_is_wider_than_the_page() {
    for name in ALL {
        // Of no known width there are 80 columns.
        for (width, most) in [(0, 80), (80, 80), (100, 100), (120, 120)] {
            let text = contract::render(&fixture(name), width, false);
            assert!(text.lines().all(|line| line.chars().count() <= most), "{name} at {width}: {text}");
        }
    }
}

#[test]
fn a_terminal_obeys_nothing_of_a_record() {
    for name in ALL {
        let record = poisoned(fixture(name));
        // Forged names in the tables of others may be wider than the page.
        let of_cost = name.starts_with("cost");
        let plain = if of_cost { contract::sane(&record) } else { contract::render(&record, 100, false) };
        assert!(!plain.chars().any(steers), "{name}");
        assert!(plain.contains("window.pwned"), "{name}: the test is of no use");
        // In colour there are our own marks, and no others.
        let mut coloured = contract::render(&record, 100, true);
        for ours in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[1;31m", "\u{1b}[30;42m", "\u{1b}[30;43m"]
        {
            coloured = coloured.replace(ours, "");
        }
        assert!(!coloured.chars().any(steers), "{name}");
    }
}

/// The record in it is whole: what steers is written as an escape.
#[test]
fn a_report_as_a_file_has_nothing_that_steers() {
    for name in ALL {
        let drawn = html::render(&poisoned(fixture(name))).expect("drawn");
        assert!(!drawn.chars().any(steers), "{name}");
        assert!(
            drawn.contains("\\u202e\\u000d") || drawn.contains("\\u202e\\r"),
            "{name}: the test is of no use"
        );
    }
}

#[test]
fn a_comparison_obeys_nothing_of_its_records() {
    for name in ["stack", "message", "cost", "join"] {
        let run = |record| Run { name: HOSTILE.into(), record };
        let both = [run(fixture(name)), run(poisoned(fixture(name)))];
        let comparison = apart(&both[0], &both[1], &Wishes { force: true }).expect("two runs");
        let all = [(comparison, Gates::default())];
        let page = story::compare::of(&all);
        assert!(!draw::terminal(&page, 100, false).chars().any(steers), "{name}");
        let drawn = draw::markdown(&page);
        assert_eq!(obeyed(&drawn), Vec::<String>::new(), "{name}");
        assert!(drawn.contains("window.pwned"), "{name}: the test is of no use");
        let html = html::render_comparisons(&all).expect("drawn");
        assert!(html.contains("\\u003cscript") && !html.contains("<script>window.pwned"), "{name}");
    }
}

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[test]
fn a_page_of_anything_has_an_end() {
    let mut value: Value = serde_json::to_value(fixture("stack")).expect("JSON");
    let stages = value.pointer_mut("/measurement/summaries/0/stages").and_then(Value::as_array_mut);
    let stages = stages.expect("stages");
    stages.retain(|stage| stage["times"]["unavailable"].is_string());
    *stages = stages.iter().cycle().take(200_000).cloned().collect();
    let reasons = value.pointer_mut("/verdict/reasons").and_then(Value::as_array_mut).expect("reasons");
    *reasons = reasons.iter().cycle().take(20_000).cloned().collect();
    let record: Record = serde_json::from_value(value).expect("a record");
    for drawn in [contract::render(&record, 100, false), markdown::render(&record)] {
        assert!(drawn.len() < 500_000, "{}", drawn.len());
        assert!(drawn.contains("left out here; the record has all"));
    }
}
