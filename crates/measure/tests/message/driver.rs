//! Ends in the driver (XDP): datagrams go one way, and to and fro, in every placement, and impossible
//! ones are reported.

use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Place, Placement};
use netfathom_model::record::{Counted, EndCost, MessageCell};
use netfathom_model::verdict::Level;
use netfathom_testkit::needs_root_alone;

use crate::bench::{calls, plan, run};

const KERNEL: [Placement; 3] = [Placement::KU, Placement::UK, Placement::KK];

fn driven(test: MessageTest) -> MessagePlan {
    MessagePlan { carrier: Carrier::Udp, placements: KERNEL.to_vec(), ..plan(test, Place::Lab, "xdp") }
}

#[test]
fn round_trips_go_through_the_driver_in_every_placement() {
    needs_root_alone!();
    let p = run(MessagePlan { sizes_bytes: vec![1, 1468], ..driven(MessageTest::Pingpong) });
    assert_ne!(p.verdict.level, Level::Void, "{:?}", p.verdict);
    assert_eq!((p.result.cells.len(), p.result.absent.len()), (6, 0), "{:?}", p.result.absent);
    for cell in &p.result.cells {
        for t in &cell.trials {
            assert!(t.messages >= 300 && t.duration_ns > 0, "{:?} {t:?}", cell.placement);
            let none = EndCost::default();
            assert_eq!((t.client == none), cell.placement.kernel_client(), "{:?} {t:?}", cell.placement);
            assert_eq!((t.server == none), cell.placement.kernel_server(), "{:?} {t:?}", cell.placement);
        }
        assert_eq!(cell.times.n, cell.trials.iter().map(|t| t.messages).sum::<u64>());
    }
}

#[test]
fn datagrams_go_one_way_out_of_the_driver_and_into_it() {
    needs_root_alone!();
    let plan = MessagePlan { messages: 5000, sizes_bytes: vec![27, 28, 1469], ..driven(MessageTest::Oneway) };
    let p = run(plan);
    assert_ne!(p.verdict.level, Level::Void, "{:?}", p.verdict);
    for (placement, sizes) in [(KERNEL[0], &[28][..]), (KERNEL[1], &[27, 28]), (KERNEL[2], &[28])] {
        let cells: Vec<_> = p.result.cells.iter().filter(|c| c.placement == placement).collect();
        assert_eq!(cells.iter().map(|c| c.bytes).collect::<Vec<_>>(), sizes, "{placement:?}");
        for t in cells.iter().flat_map(|c| &c.trials) {
            assert!(t.messages > 0 && t.messages + t.lost >= 5000, "{placement:?} {t:?}");
            // What writes the frames is called by a thread, and what takes them is not.
            assert!(t.client != EndCost::default(), "{placement:?} {t:?}");
            assert_eq!((t.server == EndCost::default()), placement.kernel_server(), "{placement:?} {t:?}");
        }
        // Which messages were lost is not known, or there is no reader.
        assert!(cells.iter().all(|c| c.times.n == 0), "{placement:?}");
        // 256 frames a call at most.
        let counted = |c: &&&MessageCell| matches!(c.calls, Counted::Calls(_));
        for cell in cells.iter().filter(counted).filter(|_| placement.kernel_client()) {
            assert!(calls(cell, Side::Client, "bpf") >= 1.0 / 256.0, "{:?}", cell.calls);
        }
        let absent = p.result.absent.iter().filter(|a| a.placement == placement);
        let whys: Vec<&str> = absent.map(|a| a.why.as_str()).collect();
        assert!(whys.iter().any(|why| why.starts_with("with 1469 bytes: ")), "{whys:?}");
        let short = whys.iter().any(|why| why.starts_with("with 27 bytes: "));
        assert_eq!(short, placement.kernel_client(), "{whys:?}");
    }
}
