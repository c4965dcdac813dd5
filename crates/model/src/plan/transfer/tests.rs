use super::*;
use crate::plan::PlanError;

fn to(change: impl FnOnce(&mut TransferPlan)) -> Result<TransferPlan, PlanError> {
    let mut plan = TransferPlan::classic(Role::Transmit);
    plan.host = Some("localhost".into());
    change(&mut plan);
    plan.validated()
}

#[test]
fn the_classic_defaults_are_a_plan() {
    let plan = to(|p| p.generated = true).unwrap();
    assert_eq!((plan.planned_bytes(), plan.port, plan.align), (Some(16 << 20), 5001, 16_384));
    assert!(TransferPlan::classic(Role::Receive).validated().is_ok());
    assert!(to(|p| (p.align, p.offset) = (4096, 4095)).is_ok());
    assert!(to(|p| p.align = 0).is_ok());
}

#[test]
fn a_sender_accepts_full_blocks_as_the_classic_does() {
    assert!(to(|p| p.full_blocks = true).is_ok());
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    type Change = fn(&mut TransferPlan);
    let cases: [(Change, &str); 11] = [
        (|p| p.buffer_bytes = 0, "from 1 to 1073741824"),
        (|p| p.buffer_bytes = 2 << 30, "from 1 to 1073741824"),
        (|p| p.buffers = 0, "--count 0"),
        (|p| p.port = 0, "from 1 to 65535"),
        (|p| p.align = 3, "choose 2 or 4"),
        (|p| p.offset = 16_384, "choose less"),
        (|p| p.discard = true, "give it with -r"),
        (|p| p.host = None, "needs the host"),
        (|p| (p.protocol, p.generated, p.buffer_bytes) = (Transport::Udp, true, 4), "at least 5"),
        (|p| (p.protocol, p.buffer_bytes) = (Transport::Udp, 65_528), "at most 65507"),
        (|p| p.socket_buffer_bytes = Some(0), "--socket-buffer 0"),
    ];
    for (change, reason) in cases {
        let error = to(change).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

fn receiving(change: impl FnOnce(&mut TransferPlan)) -> Result<TransferPlan, PlanError> {
    let mut plan = TransferPlan { generated: true, ..TransferPlan::classic(Role::Receive) };
    change(&mut plan);
    plan.validated()
}

const SERVICE: Service = Service { most_clients: 64, most_bytes: None, timeout_ns: 30_000_000_000 };

#[test]
fn what_goes_together_is_a_plan() {
    let sends: [fn(&mut TransferPlan); 6] = [
        |p| (p.generated, p.streams) = (true, 1024),
        |p| (p.generated, p.streams, p.checksum) = (true, 4, true),
        |p| (p.zero_copy, p.pace_bits_per_s) = (true, Some(8_000)),
        |p| (p.protocol, p.generated, p.pace_bits_per_s) = (Transport::Udp, true, Some(1_000_000)),
        |p| (p.congestion, p.explain) = (Some("cubic".into()), true),
        |p| (p.protocol, p.cost, p.interval_ns) = (Transport::Udp, true, Some(10_000_000)),
    ];
    for change in sends {
        to(change).unwrap();
    }
    let receives: [fn(&mut TransferPlan); 5] = [
        |p| p.serve = Some(SERVICE),
        |p| p.serve = Some(Service { most_clients: 1, most_bytes: Some(1), timeout_ns: 1_000_000 }),
        |p| (p.serve, p.checksum, p.touch) = (Some(SERVICE), true, true),
        |p| (p.zero_copy, p.discard, p.serve) = (true, true, Some(SERVICE)),
        |p| (p.streams, p.congestion) = (16, Some("reno".into())),
    ];
    for change in receives {
        receiving(change).unwrap();
    }
    let four = to(|p| (p.generated, p.streams) = (true, 4)).unwrap();
    assert_eq!(four.planned_bytes(), Some(64 << 20));
    assert_eq!(to(|p| (p.generated, p.time_ns) = (true, Some(1 << 30))).unwrap().planned_bytes(), None);
}

#[test]
fn what_a_sender_cannot_do_is_refused() {
    type Change = fn(&mut TransferPlan);
    let cases: [(Change, &str); 14] = [
        (|p| (p.generated, p.streams) = (true, 0), "--parallel 0: choose from 1 to 1024"),
        (|p| (p.generated, p.streams) = (true, 1025), "--parallel 1025"),
        (|p| p.streams = 2, "add --source-sink"),
        (|p| (p.generated, p.serve) = (true, Some(SERVICE)), "--serve is for the receiver"),
        (|p| p.pace_bits_per_s = Some(7_999), "--pace 7999"),
        (|p| p.pace_bits_per_s = Some(1_000_000_000_001), "to 1000000000000"),
        (|p| (p.zero_copy, p.checksum) = (true, true), "leave --checksum out"),
        (|p| p.interval_ns = Some(9_999_999), "--interval 9"),
        (|p| p.time_ns = Some(1_000_000), "--source-sink"),
        (|p| (p.protocol, p.generated, p.streams) = (Transport::Udp, true, 2), "--parallel is for TCP"),
        (|p| (p.protocol, p.explain) = (Transport::Udp, true), "--explain is for TCP"),
        (|p| (p.protocol, p.zero_copy) = (Transport::Udp, true), "--zero-copy is for TCP"),
        (|p| (p.protocol, p.congestion) = (Transport::Udp, Some("x".into())), "--congestion is for TCP"),
        (|p| (p.protocol, p.checksum) = (Transport::Udp, true), "--checksum is for TCP"),
    ];
    for (change, reason) in cases {
        let error = to(change).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn what_a_receiver_cannot_do_is_refused() {
    type Change = fn(&mut TransferPlan);
    let cases: [(Change, &str); 11] = [
        (|p| (p.serve, p.generated) = (Some(SERVICE), false), "add --source-sink"),
        (|p| (p.serve, p.streams) = (Some(SERVICE), 2), "takes any number of streams"),
        (|p| (p.serve, p.protocol) = (Some(SERVICE), Transport::Udp), "--serve is for TCP"),
        (|p| p.serve = Some(Service { most_clients: 0, ..SERVICE }), "--max-clients 0"),
        (|p| p.serve = Some(Service { most_clients: 1025, ..SERVICE }), "from 1 to 1024"),
        (|p| p.serve = Some(Service { most_bytes: Some(0), ..SERVICE }), "--max-bytes 0"),
        (
            |p| p.serve = Some(Service { timeout_ns: 999_999, ..SERVICE }),
            "--timeout 999.999us: choose from 1ms",
        ),
        (|p| (p.serve, p.time_ns) = (Some(SERVICE), Some(1 << 30)), "--time is for a transmitter"),
        (|p| p.pace_bits_per_s = Some(8_000), "--pace is for the transmitter"),
        (|p| (p.zero_copy, p.touch) = (true, true), "leave --full-blocks and --touch out"),
        (|p| (p.discard, p.checksum) = (true, true), "cannot --touch or --checksum"),
    ];
    for (change, reason) in cases {
        let error = receiving(change).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
