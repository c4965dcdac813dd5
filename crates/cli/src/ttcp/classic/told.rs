//! What was found out of a transfer, and what held it up, in sentences.

use std::io::{self, IsTerminal};

use netfathom_measure::ground::observer::Progressed;
use netfathom_model::record::{Cause, Explanation, TransferResult};

use super::Classic;
use crate::output;

/// How far the lines behind the first of a sentence stand in.
const HANG: &str = "    ";
const PREFIX: usize = "ttcp-t: ".len();

impl Classic<'_> {
    /// Findings, and the explanation.
    pub(super) fn found(&self, progressed: &Progressed<TransferResult>) {
        for finding in &progressed.findings {
            self.tell(&format!("{}: {}; {}", finding.seen, finding.cause, finding.remedy));
        }
        if let Some(told) = &progressed.result.explanation {
            self.explanation(told);
        }
    }

    fn explanation(&self, told: &Explanation) {
        if matches!(told.cause, Cause::Nothing | Cause::TooShort) {
            self.tell(&format!("explanation: {}", told.said));
        } else {
            let share = 100.0 * told.share;
            self.tell(&format!(
                "limited by: {} ({share:.0} % of the time): {}",
                told.cause.name(),
                told.said
            ));
        }
        for seen in &told.evidence {
            self.tell(&format!("  seen: {seen}"));
        }
        self.tell(&format!("  fix: {}", told.remedy));
        let share = |(cause, share): &(Cause, f64)| format!("{} {:.0} %", cause.name(), 100.0 * share);
        let others: Vec<String> = told.others.iter().map(share).collect();
        if !others.is_empty() {
            self.tell(&format!("  also: {}", others.join(", ")));
        }
    }

    /// A sentence, wrapped where people read it; who reads lines by a program gets one.
    pub(super) fn tell(&self, text: &str) {
        if !io::stderr().is_terminal() {
            return self.say(text);
        }
        let width = output::width().saturating_sub(PREFIX).max(40);
        let own = text.len() - text.trim_start().len();
        let (first, hang) = (&text[..own], format!("{}{HANG}", &text[..own]));
        let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent(&hang);
        textwrap::wrap(text.trim_start(), options).iter().for_each(|line| self.say(line));
    }
}
