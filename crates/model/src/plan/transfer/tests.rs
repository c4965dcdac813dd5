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

/// What a command line can have is refused in `ttcp/refused.rs` of the command's tests.
#[test]
fn what_no_command_line_has_is_refused_too() {
    let error = |change: fn(&mut TransferPlan)| to(change).unwrap_err().to_string();
    assert!(error(|p| p.host = None).contains("needs the host"));
    assert!(error(|p| p.socket_buffer_bytes = Some(0)).contains("--socket-buffer 0"));
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
