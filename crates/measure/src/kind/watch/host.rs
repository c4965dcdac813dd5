//! What it takes to watch the whole host, before it is watched.

use std::time::{Duration, Instant};

use netfathom_bpf::probe;
use netfathom_model::path::Direction;
use netfathom_sys::{counters, cpu};

/// How long the host's own load is counted.
const COUNTED: Duration = Duration::from_secs(1);

/// An estimate: what the hooks would have taken of the last second, if each packet had been a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCost {
    /// Context switches of all CPUs.
    pub switches_per_s: f64,
    /// Packets that came through devices of this network namespace, and that left through them.
    pub packets_per_s: f64,
    /// What a hook takes that does nothing; those of `watch` take longer.
    pub hook_ns: f64,
    /// Of one CPU, 0 to 1 and beyond.
    pub share: f64,
}

impl HostCost {
    /// Takes a second. `None` where the host does not show its load, or takes no hooks: then watching it will fail, too.
    #[must_use]
    pub fn estimate(directions: &[Direction]) -> Option<Self> {
        let now = || Some((Instant::now(), cpu::machine_usage().ok()?.context_switches, packets()?));
        let hook_ns = probe::hook_ns().ok()?;
        let before = now()?;
        std::thread::sleep(COUNTED);
        let after = now()?;
        let seconds = (after.0 - before.0).as_secs_f64();
        let rate = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds;
        let switches_per_s = rate(after.1, before.1);
        let [came, left] = [0, 1].map(|way| rate(after.2[way], before.2[way]));
        let hooks = hooks(directions);
        let calls = hooks.switch * switches_per_s + hooks.came * came + hooks.left * left;
        Some(Self { switches_per_s, packets_per_s: came + left, hook_ns, share: calls * hook_ns / 1e9 })
    }
}

/// In, and out.
fn packets() -> Option<[u64; 2]> {
    let devices = counters::read().ok()?.devices;
    Some([devices.values().map(|of| of.rx_packets).sum(), devices.values().map(|of| of.tx_packets).sum()])
}

/// How many hooks fire for what; of packets, if each is a message.
struct Hooks {
    switch: f64,
    came: f64,
    left: f64,
}

fn hooks(directions: &[Direction]) -> Hooks {
    let [receives, sends] =
        [Direction::Rx, Direction::Tx].map(|way| f64::from(u8::from(directions.contains(&way))));
    Hooks {
        // sched_switch, and sched_waking for about each.
        switch: 2.0 * receives,
        // tcp_probe; skb_copy_datagram_iovec, tcp_rcv_space_adjust, sk_data_ready and sock_recv_length.
        came: 1.0 + 4.0 * receives,
        // tcp_sendmsg_locked; sock_send_length, net_dev_queue and net_dev_start_xmit.
        left: 1.0 + 3.0 * sends,
    }
}
