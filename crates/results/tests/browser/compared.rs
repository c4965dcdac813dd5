//! The page of `netfathom compare`: blocks as in any report, and the words of the page in every medium.

use netfathom_results::compare::{Comparison, Gates, Run, Wishes, apart};
use netfathom_results::render::html::render_comparisons;
use netfathom_results::{draw, story};

use crate::blocks::{bars_are_drawn, charts_are_drawn};
use crate::kinds::{of, quiet};
use crate::open;
use crate::same_words::carried;
use crate::walk::{HOSTILE, poisoned};

/// A run beside a later one of the same.
fn comparison(kind: &str, is_hostile: bool) -> Comparison {
    let run = |id: &str, name: &str| {
        let mut record = if is_hostile { poisoned(of(kind)) } else { of(kind) };
        record.id = id.into();
        Run { name: name.into(), record }
    };
    let name = if is_hostile { HOSTILE } else { "after" };
    let (a, b) = (run("20261121T000000Z-a-1", "before"), run("20261122T000000Z-b-2", name));
    apart(&a, &b, &Wishes { force: true }).expect("runs of one kind")
}

#[test]
fn a_comparison_is_a_page_of_blocks() {
    for (kind, is_hostile) in
        [("stack", false), ("ttcp", false), ("message", false), ("cost", false), ("cost", true)]
    {
        let name = format!("compare {kind} {is_hostile}");
        let all = [(comparison(kind, is_hostile), Gates::default())];
        let page = story::compare::of(&all);
        let Some(mut shown) = open(&name, &render_comparisons(&all).expect("drawn")) else { return };
        quiet(&name, &mut shown);
        charts_are_drawn(&name, &page, &mut shown);
        assert_eq!(bars_are_drawn(&name, &page, &mut shown), 1);
        if !is_hostile {
            carried(&name, &page, &draw::markdown(&page), &mut shown);
        }
    }
}
