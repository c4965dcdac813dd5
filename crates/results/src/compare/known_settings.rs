//! Settings that are known to matter, and for what.

use netfathom_model::plan::Transport;
use netfathom_model::record::Measurement;

/// A setting by its name, with `*` for anything; what it does; and what it matters for.
struct Known(&'static str, &'static str, Option<Transport>);

const ALL: Option<Transport> = None;
const TCP: Option<Transport> = Some(Transport::Tcp);
const UDP: Option<Transport> = Some(Transport::Udp);

/// The first one that fits counts.
const KNOWN: &[Known] = &[
    Known("net.ipv4.tcp_wmem", "limits TCP send buffers", TCP),
    Known("net.ipv4.tcp_rmem", "limits TCP receive buffers", TCP),
    Known("net.ipv4.tcp_mem", "limits the memory of all TCP sockets", TCP),
    Known("net.ipv4.tcp_moderate_rcvbuf", "lets the kernel size TCP receive buffers", TCP),
    Known("net.ipv4.tcp_congestion_control", "chooses the congestion control", TCP),
    Known("net.ipv4.tcp_window_scaling", "lets TCP windows exceed 64 KiB", TCP),
    Known("net.ipv4.tcp_adv_win_scale", "decides how much of a buffer is TCP window", TCP),
    Known("net.ipv4.tcp_timestamps", "adds 12 bytes to each TCP segment", TCP),
    Known("net.ipv4.tcp_limit_output_bytes", "limits queued bytes of a TCP socket (TSQ)", TCP),
    Known("net.ipv4.tcp_notsent_lowat", "limits unsent bytes in TCP send buffers", TCP),
    Known("net.ipv4.tcp_autocorking", "joins small TCP writes", TCP),
    Known("net.ipv4.tcp_*tso*", "sizes the buffers that TCP passes down", TCP),
    Known("net.ipv4.tcp_pacing_*", "paces TCP", TCP),
    Known("net.ipv4.tcp_slow_start_after_idle", "makes TCP start slowly after a pause", TCP),
    Known("net.ipv4.tcp_no_metrics_save", "lets a connection start from the last one's figures", TCP),
    Known("net.ipv4.tcp_comp_sack*", "delays selective ACKs", TCP),
    Known("net.ipv4.tcp_*sack", "decides what TCP retransmits", TCP),
    Known("net.ipv4.tcp_reordering", "decides when TCP retransmits", TCP),
    Known("net.ipv4.tcp_recovery", "decides when TCP retransmits", TCP),
    Known("net.ipv4.tcp_early_retrans", "decides when TCP retransmits", TCP),
    Known("net.ipv4.tcp_ecn*", "lets the path mark packets instead of dropping them", TCP),
    Known("net.ipv4.tcp_mtu_probing", "sizes TCP segments", TCP),
    Known("net.ipv4.tcp_early_demux", "finds sockets before routing", TCP),
    Known("module.tcp_*", "tunes a congestion control", TCP),
    Known("net.ipv4.udp_early_demux", "finds sockets before routing", UDP),
    Known("net.ipv4.udp_*mem*", "limits UDP buffers", UDP),
    Known("net.ipv4.ip_early_demux", "finds sockets before routing", ALL),
    Known("net.ipv4.conf.*.rp_filter", "checks the source address of each packet", ALL),
    Known("net.core.wmem_*", "sizes socket send buffers", ALL),
    Known("net.core.rmem_*", "sizes socket receive buffers", ALL),
    Known("net.core.netdev_max_backlog", "limits received packets waiting for a CPU", ALL),
    Known("net.core.netdev_budget*", "limits packets received in one softirq", ALL),
    Known("net.core.dev_weight*", "limits packets received in one softirq", ALL),
    Known("net.core.busy_*", "lets readers poll a network card instead of sleeping; not loopback", ALL),
    Known("net.core.default_qdisc", "chooses the qdisc of new devices", ALL),
    Known("net.core.bpf_jit_*", "compiles BPF programs, also those that measure", ALL),
    Known("net.core.rps_sock_flow_entries", "steers packets to the reader's CPU (RFS)", ALL),
    Known("net.core.skb_defer_max", "frees packet buffers on the CPU that allocated them", ALL),
    Known("net.core.gro_normal_batch", "passes received packets up in batches", ALL),
    Known("net.core.netdev_tstamp_prequeue", "decides when received packets are stamped", ALL),
    Known("*.feature.tx-udp-segmentation", "splits UDP buffers in the device (USO)", UDP),
    Known("*.feature.tx-tcp*segmentation", "splits TCP buffers in the device (TSO)", TCP),
    Known("*.feature.tx-generic-segmentation", "splits large buffers below IP (GSO)", ALL),
    Known("*.feature.tx-scatter-gather*", "lets packets span several buffers", ALL),
    Known("*.feature.rx-*gro*", "joins received packets (GRO)", ALL),
    Known("*.feature.rx-lro", "joins received packets in the device (LRO)", ALL),
    Known("*.feature.*checksum*", "computes checksums in the device", ALL),
    Known("*.ring.*", "limits packets queued in the device", ALL),
    Known("*.coalesce.*", "delays interrupts", ALL),
    Known("*.channels.*", "sets how many queues the device has", ALL),
    Known("*.driver.*", "is the driver of the device", ALL),
    Known("*.queue.rps_*", "chooses the CPUs that process received packets (RPS)", ALL),
    Known("*.queue.xps_*", "chooses the send queue of each CPU (XPS)", ALL),
    Known("*.queue.limit_max", "limits bytes queued in the device (BQL)", ALL),
    Known("*.irq.*", "chooses the CPUs that serve interrupts", ALL),
    Known("*.gro_flush_timeout", "delays received packets", ALL),
    Known("*.napi_defer_hard_irqs", "delays interrupts", ALL),
    Known("*.threaded", "receives in a thread instead of softirqs", ALL),
    Known("*.tx_queue_len", "limits packets queued above the device", ALL),
    Known("irq.default_affinity", "chooses the CPUs that serve interrupts", ALL),
    Known("devices.*.mtu", "sizes packets", ALL),
    Known("devices.*.qdisc", "queues packets above the device", ALL),
    Known("nftables.rules", "each packet passes the rules", ALL),
    Known("iptables.rules", "each packet passes the rules", ALL),
    Known("cpu.isolated", "keeps other tasks off CPUs", ALL),
    Known("cpu.nohz_full", "stops the timer tick on CPUs", ALL),
    Known("cpu.smt", "shares a core between two CPUs", ALL),
    Known("cpu.online", "is the number of CPUs", ALL),
    Known("cpu.*", "sets the frequency of CPUs", ALL),
    Known("governor", "sets the frequency of CPUs", ALL),
    Known("cpuidle.*", "decides how long a sleeping CPU takes to wake", ALL),
    Known("cgroup.cpu.*", "limits CPU time", ALL),
    Known("cgroup.cpuset", "limits the CPUs that may be used", ALL),
    Known("cgroup.memory.*", "limits memory, socket buffers included", ALL),
    Known("kernel.sched_*", "decides which task has a CPU", ALL),
    Known("kernel.numa_balancing", "moves memory between nodes", ALL),
    Known("kernel.timer_migration", "moves timers between CPUs", ALL),
    Known("kernel.command_line", "can change anything in the kernel", ALL),
    Known("mitigations.*", "adds work to system calls and interrupts", ALL),
    Known("clocksource", "decides what reading the clock costs", ALL),
    Known("threads.*", "moves the measurement to another CPU", ALL),
    Known("before", "changes what this comparison is about", ALL),
];

/// What a setting does, where that is known to matter for a measurement.
pub(super) fn effect(name: &str, of: &Measurement) -> Option<&'static str> {
    let matters = |transport: Option<Transport>| transport.is_none_or(|transport| of.may_be_over(transport));
    let fits = |known: &&Known| fits(known.0, name) && matters(known.2);
    KNOWN.iter().find(fits).map(|known| known.1)
}

/// Offloads by what they change, most first.
const OFFLOADS: [&str; 7] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "rx-lro",
    "*checksum*",
];

/// The place of an offload among those that one `ethtool -K` changes; other settings come before them.
pub(super) fn rank(name: &str) -> usize {
    let Some((_, feature)) = name.split_once(".feature.") else { return 0 };
    1 + OFFLOADS.iter().position(|offload| fits(offload, feature)).unwrap_or(OFFLOADS.len())
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            let mut ends = left.char_indices().map(|(at, _)| at).chain([left.len()]);
            ends.any(|at| fits(rest, &left[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{Measured, Record, StackResult};

    use super::*;

    macro_rules! fixture {
        ($name:literal) => {{
            let text = include_str!(concat!("../../tests/fixtures/", $name, ".json"));
            serde_json::from_str::<Record>(text).unwrap().measurement
        }};
    }

    #[test]
    fn a_setting_is_named_for_the_measurements_that_it_matters_for() {
        let (ttcp, sweep, stack) = (fixture!("ttcp"), fixture!("sweep"), fixture!("stack"));
        let mut over_tcp = StackResult::of(&stack).unwrap().clone();
        over_tcp.plan.transport = Transport::Tcp;
        let send_buffers = Some("limits TCP send buffers");
        assert_eq!(effect("net.ipv4.tcp_wmem", &ttcp), send_buffers);
        assert_eq!(effect("net.ipv4.tcp_wmem", &stack), None);
        assert_eq!(effect("net.ipv4.tcp_wmem", &over_tcp.into()), send_buffers);
        assert_eq!(effect("net.ipv4.udp_rmem_min", &fixture!("watch")), Some("limits UDP buffers"));
        assert_eq!(
            effect("eth0.feature.tx-tcp6-segmentation", &sweep),
            Some("splits TCP buffers in the device (TSO)")
        );
        assert_eq!(effect("veth0.queue.rps_cpus", &stack).map(|e| e.contains("RPS")), Some(true));
        assert_eq!(effect("net.ipv4.ip_default_ttl", &stack), None);
    }

    #[test]
    fn offloads_stand_by_what_they_change() {
        let rank = |feature: &str| rank(&format!("sender: veth0.feature.{feature}"));
        let most_first =
            ["tx-tcp-segmentation", "rx-gro", "tx-checksum-ip-generic", "tx-tcp-accecn-segmentation"];
        assert!(most_first.is_sorted_by(|a, b| rank(a) < rank(b)), "{:?}", most_first.map(rank));
    }

    #[test]
    fn a_star_is_anything() {
        assert!(fits("a*b*", "axxbyy") && fits("*", "") && fits("*.x", "é.x"));
        assert!(!fits("a*b", "axxc") && !fits("a", "ab"));
    }
}
