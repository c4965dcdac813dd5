//! Ends in the kernel: their reports agree with what user space saw, and no thread's CPU time includes them.

use netfathom_model::plan::{Carrier, MessagePlan, MessageTest, Place, Placement};
use netfathom_model::record::{EndCost, MessageCell};
use netfathom_model::verdict::Level;
use netfathom_testkit::needs_root_alone;

use crate::bench::{plan, run};

const ALL: [Placement; 4] = [Placement::UU, Placement::KU, Placement::UK, Placement::KK];

fn placed(test: MessageTest, carrier: Carrier, names: &str) -> MessagePlan {
    MessagePlan { carrier, placements: ALL.to_vec(), ..plan(test, Place::Lab, names) }
}

fn of(cells: &[MessageCell], placement: Placement) -> Vec<&MessageCell> {
    cells.iter().filter(|cell| cell.placement == placement).collect()
}

#[test]
fn round_trips_go_through_the_kernel_in_every_placement() {
    needs_root_alone!();
    for (carrier, names) in [(Carrier::Tcp, "write+nodelay,adaptive"), (Carrier::Udp, "write")] {
        let p = run(placed(MessageTest::Pingpong, carrier, names));
        assert_ne!(p.verdict.level, Level::Void, "{:?}", p.verdict);
        for placement in ALL {
            let cells = of(&p.result.cells, placement);
            assert!(!cells.is_empty(), "{placement:?}");
            for t in cells.iter().flat_map(|cell| &cell.trials) {
                assert!(t.messages >= 300 && t.duration_ns > 0, "{carrier:?} {placement:?} {t:?}");
                // An end in the kernel has no thread.
                let none = EndCost::default();
                assert_eq!((t.client == none), placement.kernel_client(), "{placement:?} {t:?}");
                assert_eq!((t.server == none), placement.kernel_server(), "{placement:?} {t:?}");
            }
            for c in cells {
                // Times and their number go together: the sum is the time that went by.
                let took: u64 = c.trials.iter().map(|t| t.duration_ns).sum();
                let sum = c.times.sum_ns as f64;
                assert!((0.5..1.01).contains(&(sum / took as f64)), "{placement:?} {} {sum} {took}", c.layer);
                assert_eq!(c.times.n, c.trials.iter().map(|t| t.messages).sum::<u64>());
            }
        }
        let library_in_kk = p.result.absent.iter().find(|a| a.placement == Placement::KK);
        assert_eq!(library_in_kk.is_some(), carrier == Carrier::Tcp, "{:?}", p.result.absent);
    }
}

#[test]
fn the_kernels_sink_counts_what_was_sent() {
    needs_root_alone!();
    let p = run(MessagePlan {
        messages: 5000,
        ..placed(MessageTest::Oneway, Carrier::Tcp, "write+nodelay,adaptive")
    });
    assert_ne!(p.verdict.level, Level::Void, "{:?}", p.verdict);
    let sink = of(&p.result.cells, Placement::UK);
    assert_eq!(sink.len(), 2);
    for t in sink.iter().flat_map(|cell| &cell.trials) {
        assert!(t.messages >= 5000 && t.lost == 0 && t.server == EndCost::default(), "{t:?}");
    }
    // The kernel has no sender: that is reported, and the nearest layer is measured instead.
    for placement in [Placement::KU, Placement::KK] {
        let cells = of(&p.result.cells, placement);
        assert!(cells.len() == 1 && cells[0].layer.to_string() == "sendfile", "{placement:?}");
        let absent: Vec<_> = p.result.absent.iter().filter(|a| a.placement == placement).collect();
        assert!(absent.len() == 2 && absent.iter().all(|a| a.nearest.contains("sendfile")), "{absent:?}");
    }
}

#[test]
fn bulk_comes_from_the_kernel_and_to_it() {
    needs_root_alone!();
    let plan = MessagePlan {
        sizes_bytes: vec![1024, 65_536],
        ..placed(MessageTest::Post, Carrier::Tcp, "write+nodelay,adaptive")
    };
    let p = run(plan);
    assert_ne!(p.verdict.level, Level::Void, "{:?}", p.verdict);
    for placement in ALL {
        let bare = of(&p.result.cells, placement).into_iter().filter(|c| c.layer.is_bare());
        let sizes: Vec<u64> = bare.map(|c| c.bytes).collect();
        assert_eq!(sizes, [1024, 65_536], "{placement:?}");
    }
    for c in &p.result.cells {
        for t in &c.trials {
            assert!(t.messages >= 300, "{:?} {} bytes: {t:?}", c.placement, c.bytes);
        }
    }
}
