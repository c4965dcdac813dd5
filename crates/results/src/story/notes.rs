//! What was noticed, and what was left out.

use crate::page::Page;
use netfathom_model::record::{LeftOut, Record};

/// Explained observations: what was seen, the cause, the evidence, the remedy.
pub(super) fn findings(page: &mut Page, record: &Record) {
    if record.findings.is_empty() {
        return;
    }
    page.heading("Findings");
    for f in &record.findings {
        page.bullet(&format!("seen: {}", f.seen));
        for (name, text) in [("cause", &f.cause), ("evidence", &f.evidence), ("remedy", &f.remedy)] {
            page.detail(&format!("{name}: {text}"));
        }
    }
}

/// What could not be used, with its remedy.
pub(super) fn left_out(page: &mut Page, left_out: &[LeftOut]) {
    if left_out.is_empty() {
        return;
    }
    page.heading("Left out");
    for l in left_out {
        page.bullet(&format!("{}: {}", l.what, l.reason));
        page.detail(&format!("remedy: {}", l.remedy));
    }
}
