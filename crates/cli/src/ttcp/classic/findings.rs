//! What was found out of a transfer, in sentences.

use std::io::{self, IsTerminal};

use netfathom_measure::ground::observer::Progressed;
use netfathom_model::record::TransferResult;

use super::Classic;
use crate::output;

/// How far the lines behind the first of a sentence stand in.
const HANG: &str = "    ";
const PREFIX: usize = "ttcp-t: ".len();

impl Classic<'_> {
    pub(super) fn found(&self, progressed: &Progressed<TransferResult>) {
        for finding in &progressed.findings {
            self.tell(&format!("{}: {}; {}", finding.seen, finding.cause, finding.remedy));
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
