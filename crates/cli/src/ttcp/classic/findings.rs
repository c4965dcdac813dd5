//! What was found out of a transfer, in sentences.

use std::io::{self, IsTerminal};

use netfathom_measure::ground::observer::Progressed;
use netfathom_model::record::TransferResult;
use netfathom_results::story::transfer;

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

    /// Packets as in the book's figure 4.12.
    pub(super) fn packets(&self, result: &TransferResult) {
        let Some(seen) = &result.packets else { return };
        self.tell(&transfer::packet_words(seen));
        let peer = result.peer.as_deref().unwrap_or_default();
        for packet in &seen.shown {
            let (from, to) = if packet.sent { (&*result.local, peer) } else { (peer, &*result.local) };
            let at_s = packet.at_ns as f64 / 1e9;
            self.say(format_args!("{at_s:.6} {from} > {to}: {}", transfer::packet(packet)));
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
