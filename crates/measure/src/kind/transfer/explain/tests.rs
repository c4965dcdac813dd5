use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::record::{
    CallTimes, Cause, CpuWaits, Explanation, Held, Holder, TcpState, TransferSample, TransferStream,
};

use super::{Busiest, Case, Host, Reason, choose, explain, explain_all};

mod between;
mod far_apart;
mod held_up;
mod other_end;

const MSS: u32 = 1448;
const LOOKS: u64 = 200;

fn plan(role: Role) -> TransferPlan {
    TransferPlan { explain: true, generated: true, ..TransferPlan::classic(role) }
}

/// A stream of 200 ms, looked at each millisecond, with 90 ms in blocked calls.
pub fn stream(look: impl Fn(u64, &mut TransferSample)) -> TransferStream {
    let sample = |tick: u64| {
        let mut sample = TransferSample {
            at_ns: tick * 1_000_000,
            bytes: 1_000_000 + tick * 10_000,
            rtt_us: 10_000,
            cwnd: 100,
            peer_window_bytes: 1_000_000,
            ..TransferSample::default()
        };
        look(tick, &mut sample);
        sample
    };
    TransferStream {
        bytes: 3_000_000,
        calls: 300,
        duration_ns: LOOKS * 1_000_000,
        user_ns: 1_000_000,
        system_ns: 1_000_000,
        tcp: Some(TcpState {
            mss_bytes: MSS,
            rtt_us: 10_000,
            min_rtt_us: Some(10_000),
            cwnd: 100,
            ..TcpState::default()
        }),
        calls_took: Some(CallTimes { socket_ns: 190_000_000, ..CallTimes::default() }),
        samples: (0..LOOKS).map(sample).collect(),
        ..TransferStream::default()
    }
}

fn explained(stream: &TransferStream) -> Explanation {
    explain(&plan(Role::Transmit), stream, &Host::default())
}

fn sender(stream: &TransferStream) -> Cause {
    explained(stream).cause
}

fn queue(sample: &mut TransferSample, queued: u32, unsent: u32, in_flight: u32) {
    (sample.queued_bytes, sample.unsent_bytes, sample.in_flight) = (queued, unsent, in_flight);
}

#[test]
fn a_buffer_with_all_of_it_under_way_is_too_small() {
    let all_sent = stream(|_, s| queue(s, 40_000, 0, 28));
    let granted = Host { granted_buffer_bytes: Some(4096), ..Host::default() };
    let explanation = explain(&plan(Role::Transmit), &all_sent, &granted);
    assert_eq!(explanation.cause, Cause::SendBuffer);
    assert!(explanation.evidence.iter().any(|e| e.contains("smaller than a write")), "{explanation:?}");
    assert!(explanation.remedy.contains("tcp_wmem"), "{explanation:?}");
    let mut own = plan(Role::Transmit);
    own.socket_buffer_bytes = Some(4096);
    assert!(explain(&own, &all_sent, &granted).remedy.starts_with("leave -b out"));
}

#[test]
fn what_stands_still_for_so_long_waits_for_an_acknowledgment() {
    let stands = |ms: u64| {
        let mut stands = stream(|tick, s| {
            s.bytes = 1_000_000 + tick / ms * 8192;
            queue(s, 8192, 0, 1);
        });
        stands.tcp.as_mut().unwrap().min_rtt_us = Some(100);
        stands
    };
    assert_eq!(sender(&stands(40)), Cause::DelayedAcknowledgement);
    assert_eq!(sender(&stands(10)), Cause::SendBuffer);
    let mut far = stands(40);
    far.tcp.as_mut().unwrap().min_rtt_us = Some(39_000);
    assert_eq!(sender(&far), Cause::SendBuffer, "a round trip is no delay of the receiver");
}

/// A piece is held for 10 ms each time, until the one before is acknowledged, or more comes.
fn pieces(acknowledged: bool) -> TransferStream {
    let mut held = stream(|tick, s| {
        s.bytes = 1000 + tick / 10 * 440;
        queue(s, 440, 400, 1);
        if !acknowledged {
            s.queued_bytes = s.bytes as u32;
        }
    });
    held.calls_took = Some(CallTimes { standard_ns: 195_000_000, ..CallTimes::default() });
    held
}

#[test]
fn a_piece_that_is_held_is_nagles_only_if_the_program_waits_for_it() {
    assert_eq!(sender(&pieces(true)), Cause::Nagle);
    assert_eq!(sender(&pieces(false)), Cause::SlowSender);
    let mut at_once = plan(Role::Transmit);
    at_once.no_delay = true;
    assert_eq!(explain(&at_once, &pieces(true), &Host::default()).cause, Cause::SlowSender);
}

#[test]
fn a_window_that_is_full_is_small_and_one_that_closes_is_not_read() {
    let small = stream(|_, s| {
        s.peer_window_bytes = 16_000;
        queue(s, 100_000, 84_000, 11);
    });
    let explanation = explained(&small);
    assert_eq!(explanation.cause, Cause::ReceiveWindow);
    // The kernel's limit is likely larger than that: a line that sets it would lower it.
    assert!(
        explanation.remedy.contains("net.ipv4.tcp_rmem") && !explanation.remedy.contains("-w"),
        "{explanation:?}"
    );
    let closes = stream(|tick, s| {
        s.peer_window_bytes = if tick == 0 { 64_000 } else { 0 };
        queue(s, 100_000, 100_000, 0);
    });
    assert_eq!(sender(&closes), Cause::SlowReceiver);
}

fn congested(rtt_us: u32, retransmits: u32) -> TransferStream {
    stream(|_, s| {
        (s.rtt_us, s.retransmits, s.cwnd) = (rtt_us, retransmits, 10);
        queue(s, 100_000, 85_520, 10);
    })
}

#[test]
fn loss_without_a_queue_is_loss_and_with_one_the_path_is_full() {
    assert_eq!(sender(&congested(10_500, 40)), Cause::Loss);
    assert_eq!(sender(&congested(30_000, 40)), Cause::Path);
    assert_eq!(sender(&congested(10_500, 0)), Cause::Path);
}

/// bbr fills a path without a queue and without loss: only the rate tells whether there is more.
#[test]
fn a_longer_transfer_is_advised_only_while_the_rate_grows() {
    let mut full = congested(10_500, 0);
    let remedy = |stream: &TransferStream| explained(stream).remedy;
    assert!(remedy(&full).contains("bottleneck"), "{}", remedy(&full));
    for (tick, look) in (0..).zip(&mut full.samples) {
        look.bytes = 1_000_000 + tick * tick * 100;
    }
    assert!(remedy(&full).contains("longer"), "{}", remedy(&full));
}

#[test]
fn a_pace_is_the_limit_only_where_it_was_reached() {
    let mut paced = plan(Role::Transmit);
    // The stream goes at 80 Mbit/s.
    paced.pace_bits_per_s = Some(100_000_000);
    assert_eq!(explain(&paced, &congested(10_500, 0), &Host::default()).cause, Cause::Pace);
    paced.pace_bits_per_s = Some(1_000_000_000);
    assert_eq!(explain(&paced, &congested(10_500, 0), &Host::default()).cause, Cause::Path);
}

#[test]
fn who_runs_all_the_time_is_not_held_up() {
    let mut runs = stream(|_, s| queue(s, 40_000, 0, 28));
    runs.system_ns = 150_000_000;
    assert_eq!(sender(&runs), Cause::Processor);
    let small = TransferPlan { buffer_bytes: 64, ..plan(Role::Transmit) };
    let explanation = explain(&small, &runs, &Host::default());
    assert_eq!(
        (explanation.cause, explanation.remedy.as_str()),
        (Cause::SmallWrites, "larger writes: -l 64k")
    );
    let set = TransferPlan { socket_buffer_bytes: Some(2000), ..small };
    let case = Case { plan: &set, stream: &runs, host: &Host::default() };
    assert_eq!(super::busy(case, 0.9, Vec::new()).remedy, "larger writes: -l 64k, without -b");
    assert!(
        explanation.evidence.contains(&"300 writes of at most 64 bytes; this end ran 503 µs for each".into()),
        "{explanation:?}"
    );
    let mut short = runs.clone();
    short.samples.truncate(10);
    assert_eq!(sender(&short), Cause::TooShort);
}

/// Half of the time in the run queue.
fn beside_others() -> TransferStream {
    let mut waits = stream(|_, s| queue(s, 40_000, 0, 28));
    waits.system_ns = 100_000_000;
    waits.calls_took.as_mut().unwrap().runqueue_ns = 80_000_000;
    waits
}

/// Evidence and remedy of an end that the CPU limits.
fn limited_by_cpu(stream: &TransferStream, cpus: f64) -> (String, String) {
    let by = Holder::Process { name: "rustc".into(), pid: 3121, cgroup: None };
    let raise_quota = "raise the CPU quota".into();
    let host = Host { busiest: Some(Busiest { by, cpus }), raise_quota, ..Host::default() };
    let explanation = explain(&plan(Role::Transmit), stream, &host);
    assert_eq!(explanation.cause, Cause::Processor);
    (explanation.evidence.join("; "), explanation.remedy)
}

#[test]
fn who_had_the_cpu_that_an_end_waited_for_is_named() {
    let mut waits = beside_others();
    let explained = |stream: &TransferStream, cpus| {
        let (evidence, remedy) = limited_by_cpu(stream, cpus);
        (evidence.contains("by /proc, of other processes rustc (pid 3121) ran most, 94.0 % of a CPU"), remedy)
    };
    let named = "stop rustc (pid 3121), or move it to other CPUs (`taskset -acp CPUS 3121`; CPUS: ";
    let (is_evidence, remedy) = explained(&waits, 0.94);
    assert!(is_evidence && remedy.starts_with(named), "{remedy}");
    let (is_evidence, remedy) = explained(&waits, 0.05);
    assert!(!is_evidence && remedy.starts_with("stop other work on the CPUs of this end; "), "{remedy}");
    // It may be the other end.
    waits.peer = Some("127.0.0.1:5001".into());
    let (is_evidence, remedy) = explained(&waits, 0.94);
    assert!(
        is_evidence && remedy.starts_with("stop rustc (pid 3121) unless it is the other end, "),
        "{remedy}"
    );
    // It did not wait.
    waits.system_ns = 180_000_000;
    waits.calls_took.as_mut().unwrap().runqueue_ns = 1_000_000;
    let (is_evidence, remedy) = explained(&waits, 0.94);
    assert!(!is_evidence && !remedy.contains("stop"), "{remedy}");
}

#[test]
fn what_the_switches_show_comes_before_proc() {
    let explained = |holders: &[(Holder, u64)]| {
        let holders = holders.iter().map(|(by, ns)| Held { by: by.clone(), ns: *ns }).collect();
        let waits = Some(CpuWaits { waited_ns: 80_000_000, holders });
        let (evidence, remedy) = limited_by_cpu(&TransferStream { waits, ..beside_others() }, 0.94);
        assert!(!evidence.contains("/proc"), "{evidence}");
        (evidence, remedy)
    };
    let perl = Holder::Process { name: "perl".into(), pid: 7, cgroup: None };
    let several = [(perl, 52_000_000), (Holder::Hypervisor, 16_000_000), (Holder::Unknown, 12_000_000)];
    let (evidence, remedy) = explained(&several);
    let named = "by the kernel's switches, perl (pid 7) had the CPU for 65.0 % of that wait, the hypervisor for 20.0 %; who had it for 15.0 % is unknown";
    assert!(evidence.contains(named), "{evidence}");
    assert!(remedy.starts_with("stop perl (pid 7), or move it to other CPUs"), "{remedy}");
    let perl = |pid| Holder::Process { name: "perl".into(), pid, cgroup: None };
    let (evidence, remedy) = explained(&[(perl(7), 32_000_000), (perl(8), 20_000_000)]);
    assert!(evidence.contains("perl (2 processes) had the CPU for 65.0 % of that wait"), "{evidence}");
    assert!(
        remedy.starts_with("stop perl (2 processes), or move them to other CPUs (`echo 7 8 | xargs"),
        "{remedy}"
    );
    let (evidence, remedy) = explained(&[(Holder::Quota, 80_000_000)]);
    assert!(evidence.contains("the CPU quota of its cgroup was used up for"), "{evidence}");
    assert!(remedy.starts_with("raise the CPU quota; "), "{remedy}");
    let (evidence, remedy) = explained(&[(Holder::Netfathom, 80_000_000)]);
    assert!(evidence.contains("netfathom itself had the CPU for"), "{evidence}");
    assert!(remedy.starts_with("less CPU time"), "{remedy}");
}

#[test]
fn a_set_buffer_comes_before_a_busy_cpu_unless_it_takes_far_less() {
    let reason = |cause, share| Reason {
        cause,
        share,
        text: String::new(),
        evidence: Vec::new(),
        remedy: String::new(),
    };
    let chosen = |first, buffer, is_set| {
        choose(vec![reason(first, 0.9), reason(Cause::SendBuffer, buffer)], |cause| {
            is_set && cause == Cause::SendBuffer
        })
        .cause
    };
    assert_eq!(chosen(Cause::Processor, 0.4, true), Cause::SendBuffer);
    assert_eq!(chosen(Cause::Processor, 0.11, true), Cause::Processor);
    assert_eq!(chosen(Cause::Processor, 0.4, false), Cause::Processor);
    // What takes most of the time and has a remedy is named first.
    assert_eq!(chosen(Cause::SmallWrites, 0.4, true), Cause::SmallWrites);
}

#[test]
fn a_small_buffer_that_was_set_is_not_taken_for_a_busy_cpu() {
    let small = TransferPlan { socket_buffer_bytes: Some(16_384), ..plan(Role::Receive) };
    // Something is there to be read at each look.
    let mut turns = stream(|_, s| (s.window_bytes, s.queued_bytes) = (16_384, 5000));
    (turns.user_ns, turns.system_ns) = (0, turns.duration_ns / 3);
    assert_eq!(explain(&small, &turns, &Host::default()).cause, Cause::ReceiveWindow);
    assert_eq!(explain(&plan(Role::Receive), &turns, &Host::default()).cause, Cause::Processor);
    turns.system_ns = turns.duration_ns * 95 / 100;
    assert_eq!(explain(&small, &turns, &Host::default()).cause, Cause::Processor);
}

#[test]
fn a_receiver_tells_its_own_program_and_window_from_the_rest() {
    let receiver = |s: &TransferStream| explain(&plan(Role::Receive), s, &Host::default()).cause;
    let of =
        |window: u32, queued: u32| stream(move |_, s| (s.window_bytes, s.queued_bytes) = (window, queued));
    // 15 MB/s and 10 ms: 150 KB come in a round trip.
    assert_eq!(receiver(&of(160_000, 0)), Cause::ReceiveWindow);
    assert_eq!(receiver(&of(1_600_000, 0)), Cause::Elsewhere);
    assert_eq!(receiver(&of(160_000, 5000)), Cause::Processor);
    let small = TransferPlan { buffer_bytes: 64, ..plan(Role::Receive) };
    assert_eq!(explain(&small, &of(160_000, 5000), &Host::default()).cause, Cause::SmallReads);
    let mut slow = of(160_000, 5000);
    slow.calls_took = Some(CallTimes { standard_ns: 190_000_000, ..CallTimes::default() });
    assert_eq!(receiver(&slow), Cause::SlowReceiver);
}

/// A gigabyte a second, and a quarter of the time there is none of it to read.
#[test]
fn a_busy_receiver_is_not_busy_while_nothing_comes() {
    let mut fast = stream(|tick, s| {
        (s.bytes, s.window_bytes) = (tick * 1_000_000, 100_000_000);
        s.queued_bytes = if tick % 4 == 0 { 0 } else { 5000 };
    });
    (fast.bytes, fast.system_ns) = (200_000_000, fast.duration_ns / 2);
    let reason = explain(&plan(Role::Receive), &fast, &Host::default());
    assert_eq!(reason.cause, Cause::Processor);
    assert!((0.7..0.8).contains(&reason.share), "{reason:?}");
}

#[test]
fn of_several_streams_the_cause_of_most_is_reported() {
    let (lossy, full) = (congested(10_500, 40), congested(30_000, 0));
    let explanation =
        explain_all(&plan(Role::Transmit), &[full.clone(), lossy, full], &Host::default()).unwrap();
    assert_eq!(explanation.cause, Cause::Path);
    assert!(explanation.evidence[0].contains("2 of 3"), "{explanation:?}");
    assert!(explain_all(&plan(Role::Transmit), &[], &Host::default()).is_none());
}
