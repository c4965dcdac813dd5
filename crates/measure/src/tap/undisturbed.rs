//! The stack times of messages that found nothing foreign on the processors that they needed.
//!
//! A message is disturbed if another process or the hypervisor had its sender's processor between its intended departure
//! and the link layer (out), or one of the processors on its way between the link layer and the application (in), for
//! longer than [`netfathom_bpf::contention::LEAST_STINT_NS`]. The kernel's switches decide that, never the time that the
//! message took. The condition still prefers short times a little: what lasts longer is more likely to be disturbed.

use netfathom_bpf::stack::View;
use netfathom_model::message::Header;
use netfathom_stats::Distribution;

use crate::ground::processors::Cpus;
use crate::load::contention::Contention;
use crate::load::window::GRAIN;
use crate::tap::Sifted;

/// Sums both ways, at the reader.
pub struct Undisturbed<'a> {
    contention: &'a Contention,
    cpus: &'a Cpus,
    pub tx: Sifted,
    pub rx: Sifted,
}

impl<'a> Undisturbed<'a> {
    #[must_use]
    pub fn new(contention: &'a Contention, cpus: &'a Cpus) -> Self {
        let none = || Sifted { judged: 0, times: Distribution::new(GRAIN) };
        Self { contention, cpus, tx: none(), rx: none() }
    }

    /// A message that the reader has just received, and whether the reader's last switch to its processor was seen: else
    /// it is not known what had the processor before.
    pub fn add(&mut self, view: &View, header: &Header, seen: bool, received_ns: u64) {
        let sender = self.cpus.senders[(header.sequence % self.cpus.senders.len() as u64) as usize];
        let free = |cpu, from_ns, until_ns| !self.contention.is_disturbed(cpu, from_ns, until_ns);
        if let Some(left_ns) = view.tx(header.sequence).and_then(|tx| tx.net_dev_start_xmit) {
            self.tx.add(free(sender, header.intended_ns, left_ns), header.sent_ns, left_ns);
        }
        let Some(rx) = view.rx(header.sequence) else { return };
        let Some((link_ns, ready_ns)) = rx.netif_receive_skb.zip(rx.sk_data_ready) else { return };
        // The kernel's half of the way in may run on the sender's processor.
        let undisturbed =
            seen && free(sender, link_ns, ready_ns) && free(self.cpus.reader, link_ns, received_ns);
        self.rx.add(undisturbed, link_ns, received_ns);
    }
}

impl Sifted {
    fn add(&mut self, undisturbed: bool, from_ns: u64, to_ns: u64) {
        self.judged += 1;
        if undisturbed {
            self.times.add(to_ns.wrapping_sub(from_ns) as i64);
        }
    }
}
