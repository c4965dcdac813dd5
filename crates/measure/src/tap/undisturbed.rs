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

/// Sums both ways, at the reader.
pub struct Undisturbed<'a> {
    contention: &'a Contention,
    cpus: &'a Cpus,
    pub tx: Distribution,
    pub rx: Distribution,
}

impl<'a> Undisturbed<'a> {
    #[must_use]
    pub fn new(contention: &'a Contention, cpus: &'a Cpus) -> Self {
        Self { contention, cpus, tx: Distribution::new(GRAIN), rx: Distribution::new(GRAIN) }
    }

    /// A message that the reader has just received, and whether its last switch to a processor was seen: else nobody
    /// knows what had the processor before.
    pub fn add(&mut self, view: &View, header: &Header, seen: bool, received_ns: u64) {
        let sender = self.cpus.senders[(header.sequence % self.cpus.senders.len() as u64) as usize];
        let disturbed = |cpu, from_ns, until_ns| self.contention.is_disturbed(cpu, from_ns, until_ns);
        let left = view.tx(header.sequence).and_then(|tx| tx.net_dev_start_xmit);
        if let Some(left_ns) = left.filter(|&left_ns| !disturbed(sender, header.intended_ns, left_ns)) {
            self.tx.add(left_ns.wrapping_sub(header.sent_ns) as i64);
        }
        let Some(rx) = view.rx(header.sequence) else { return };
        let Some((link_ns, ready_ns)) = rx.netif_receive_skb.zip(rx.sk_data_ready) else { return };
        // The kernel's half of the way in may run on the sender's processor.
        if seen && !disturbed(sender, link_ns, ready_ns) && !disturbed(self.cpus.reader, link_ns, received_ns)
        {
            self.rx.add(received_ns.wrapping_sub(link_ns) as i64);
        }
    }
}
