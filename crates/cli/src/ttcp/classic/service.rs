//! What a receiver tells that serves: a line for each client, and the sums.

use netfathom_measure::kind::transfer::Left;
use netfathom_model::print;
use netfathom_model::record::{Served, TransferEnd};

use super::{Classic, seconds};

impl Classic<'_> {
    pub(super) fn left(&self, left: &Left) {
        let from = left.peer.map_or_else(|| "an unknown peer".into(), |peer| peer.to_string());
        let figures = self.real(left.bytes, seconds(left.duration_ns));
        let how = match &left.end {
            TransferEnd::Broken { why } => format!("cut: {why}"),
            _ => "whole".into(),
        };
        self.say_over(format_args!("client {} from {from}: {figures}, {how}", left.number));
    }

    /// Somebody was cut off who came beyond.
    pub(super) fn turned_away(&self, so_far: u64, most_clients: u32) {
        self.say_over(format_args!(
            "{so_far} turned away so far: {most_clients} clients may be there at once (--max-clients), each needs a \
             descriptor (ulimit -n) and a thread (ulimit -u)"
        ));
    }

    pub(super) fn served(&self, served: &Served) {
        let Served { whole, broken, too_long, turned_away, most_at_once, bytes } = served;
        self.say(format_args!(
            "{bytes} bytes from {}: {whole} whole, {broken} broken, {too_long} too long; {turned_away} turned away, \
             at most {most_at_once} at once",
            print::counted(whole + broken + too_long, "client")
        ));
    }
}
