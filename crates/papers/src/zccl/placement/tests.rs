//! Placements with times that say yes, that say no, and that are not there.

use netfathom_model::plan::{MessagePlan, MessageTest, Place};
use netfathom_model::record::{AbsentCell, Holds, MessageResult};

use super::super::fixture::{CellTimes, planned};
use super::*;

/// µs a message of each placement; none where there is no such cell.
type Times = fn(Placement) -> Option<f64>;

fn made(test: MessageTest, times: Times, noise: f64) -> MessageResult {
    let plan = MessagePlan {
        layers: vec![sockets(), zccl(), sendfile()],
        sizes_bytes: vec![PLACED_BYTES],
        placements: Placement::ALL.to_vec(),
        ..MessagePlan::paper(test, Place::Lab)
    };
    planned(plan, |cell| {
        if cell.layer == sendfile() {
            return (cell.placement == Placement::UU).then(|| CellTimes::each(&[1.0, 7.0, 1.0], 1.0));
        }
        let us = times(cell.placement)?;
        let own = if cell.placement == Placement::UU { 1.0 } else { 1.0 + noise };
        Some(CellTimes::each(&[us, 7.0 * us * own, us / own], 4.0))
    })
}

fn ours(result: &MessageResult) -> [Ours<'_>; 1] {
    [Ours { name: ONEWAY, result }]
}

fn holds(times: Times, noise: f64) -> (Holds, Holds) {
    let made = made(MessageTest::Oneway, times, noise);
    let claims = claims(&ours(&made));
    assert_eq!(claims.len(), 6, "two layers, one part");
    assert_eq!(claims[0].holds, claims[3].holds);
    // An end in the kernel has no processor of its own to be compared on.
    assert!(claims.iter().all(|c| c.here.contains("same CPU")), "{}", claims[0].here);
    (claims[0].holds, claims[1].holds)
}

fn as_there(placement: Placement) -> Option<f64> {
    Some(if placement.kernel_server() { 50.0 } else { 100.0 })
}

fn the_other_way(placement: Placement) -> Option<f64> {
    Some(if placement.kernel_client() {
        50.0
    } else if placement.kernel_server() {
        200.0
    } else {
        100.0
    })
}

fn slower_client(placement: Placement) -> Option<f64> {
    Some(if placement.kernel_client() { 200.0 } else { as_there(placement)? })
}

#[test]
fn placements_come_out_either_way() {
    assert_eq!(holds(as_there, 0.0), (Holds::Yes, Holds::Yes));
    assert_eq!(holds(the_other_way, 0.0), (Holds::No, Holds::No));
    assert_eq!(holds(slower_client, 0.0), (Holds::Yes, Holds::No));
    assert_eq!(holds(as_there, 20.0), (Holds::CannotTell, Holds::CannotTell));
}

#[test]
fn absent_cells_are_noted_with_the_nearest() {
    let without: Times = |p| as_there(p).filter(|_| !p.kernel_client());
    let mut made = made(MessageTest::Oneway, without, 0.0);
    for layer in [sockets(), zccl()] {
        made.absent.push(AbsentCell {
            placement: Placement::KU,
            layer: Some(layer),
            why: "nothing in the kernel sends".into(),
            nearest: "sendfile".into(),
        });
    }
    let ours = ours(&made);
    let note = tables(&ours)[0].note.clone().unwrap();
    let expected = "Not there: KU by write+nodelay, KU by zccl, because nothing in the kernel sends (nearest: sendfile).";
    assert!(note.ends_with(expected), "{note}");
    let client = &claims(&ours)[1];
    assert_eq!(client.holds, Holds::CannotTell);
    assert!(
        client.here.contains("KU over UU not measured")
            && client.here.contains("sendfile, is 100.0 (100.0 to 100.0)"),
        "{client:?}"
    );
    let undecided = &claims(&ours)[1..3];
    assert!(undecided.iter().all(|c| c.here.contains("cannot be decided")), "{undecided:?}");
    assert_eq!(claims(&ours)[0].holds, Holds::Yes);
    assert!(!claims(&ours)[0].here.contains("cannot be decided"));
}

#[test]
fn the_tables_have_the_papers_columns() {
    let made = made(MessageTest::Oneway, as_there, 0.0);
    let all = tables(&ours(&made));
    let here: Vec<&str> = all[0].rows.iter().map(|row| &*row.who).take(6).collect();
    let rows = ["Lichota, UU", "here, UU, same CPU", "here, UU, apart", "Lichota, KU"];
    assert_eq!(here[..4], rows);
    let uk = all[0].rows.iter().find(|row| row.who == "here, UK, apart").unwrap();
    let gains: Vec<f64> = uk.cells[2..].iter().flatten().map(|c| c.value.round()).collect();
    assert_eq!(gains, [200.0, 200.0]);
    // 32 B in 50 µs, in 350 µs and in 50 µs again.
    let kb = uk.cells[0].as_ref().unwrap().value;
    assert!((kb - (640.0 + 640.0 / 7.0 + 640.0) / 3.0).abs() < 0.1, "{kb}");
    let near = &all[2].rows;
    assert_eq!(near.len(), 2, "{near:?}");
    let time = &all[3].rows[0].cells;
    let time: Vec<f64> = time.iter().flatten().map(|c| c.value).collect();
    assert_eq!(time, [2.0, 2.0, 1.0, 250.0]);
    assert!(all[1].rows.iter().chain(&all[4].rows).all(|row| !row.here), "round trips were not measured");
    let [figure] = &figures(&ours(&made))[..] else { panic!("round trips were not measured") };
    let ys = |name: &str| {
        let series = figure.series.iter().find(|s| s.name == name).unwrap();
        series.points.iter().map(|p| p.y).collect::<Vec<f64>>()
    };
    assert_eq!(ys("Lichota, sockets"), [780.2, 779.6, 1005.8, 1006.2]);
    assert!((ys("here, sockets, apart")[2] - kb).abs() < 1e-9, "kB/s as in the table: {figure:?}");
}
