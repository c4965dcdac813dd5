//! The raw stream of messages that another host reads: what the hooks saw of them on their
//! way out, looked up some messages after they left.

use std::collections::VecDeque;
use std::time::Duration;

use netfathom_bpf::stack::View;
use netfathom_model::message::Header;

use super::sampling::Sampling;
use crate::load::tap::{Announce, SendTap};

/// A message that waits in the device's queue is sent this many messages later at most; another one
/// takes its slot only after 16,384.
const BEHIND: u64 = 4096;
/// The last ones have left so soon after.
const LAST: Duration = Duration::from_millis(20);

pub struct SendSamples {
    view: View,
    pub sampling: Sampling,
    chosen: VecDeque<u64>,
}

impl SendSamples {
    pub fn new(view: View, sampling: Sampling) -> Self {
        Self { view, sampling, chosen: VecDeque::new() }
    }
}

impl SendTap for SendSamples {
    #[inline]
    fn sent(&mut self, header: &Header, _: bool) {
        let sequence = header.sequence;
        if self.sampling.wants(sequence) {
            self.chosen.push_back(sequence);
        }
        if let Some(first) = self.chosen.pop_front_if(|&mut first| first + BEHIND <= sequence) {
            self.sampling.unread(&self.view, first);
        }
    }

    fn announces(&self) -> Option<Announce> {
        let view = self.view.clone();
        Some(Box::new(move |header| view.announce(header.sequence, header.sent_ns)))
    }

    fn finish(&mut self) {
        if !self.chosen.is_empty() {
            std::thread::sleep(LAST);
        }
        self.chosen.drain(..).for_each(|sequence| self.sampling.unread(&self.view, sequence));
    }
}
