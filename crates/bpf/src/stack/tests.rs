use libbpf_rs::{MapCore, MapFlags};
use std::thread::sleep;
use std::time::Duration;

use netfathom_model::path::Direction;
use netfathom_testkit::needs_root;

use super::*;

#[test]
fn before_the_reader_is_known_no_thread_is_watched() {
    needs_root!();
    let target = Target { flow: 1, reader_cookie: u64::MAX, window_shift: 20, stream: None };
    let tap = StackTap::load(Hooks::Tracepoints, &[Direction::Rx], target).unwrap();
    // The processors go in and out of their idle tasks meanwhile, which have the number 0.
    sleep(Duration::from_millis(50));
    assert_eq!((tap.view().departures(), tap.lost().unwrap()["sched_switch"]), (0, 0));
}

#[test]
fn begun_again_it_knows_nothing_of_before() {
    needs_root!();
    let target = Target { flow: 1, reader_cookie: u64::MAX, window_shift: 20, stream: None };
    let mut tap = StackTap::load(Hooks::Tracepoints, &[Direction::Tx], target).unwrap();
    tap.detach();
    tap.mapping.get().reader.unseen.store(7, Relaxed);
    for name in ["cpu_states", "tx_sums"] {
        let map = tap.object.maps().find(|map| map.name() == name).unwrap();
        let ones = vec![vec![1; map.value_size() as usize]; libbpf_rs::num_possible_cpus().unwrap()];
        map.update_percpu(&0u32.to_ne_bytes(), &ones, MapFlags::ANY).unwrap();
    }
    assert!(tap.lost().unwrap().values().all(|&lost| lost > 0) && tap.drops().unwrap().len() > 2);
    tap.again(Target { flow: 2, ..target }).unwrap();
    assert!(tap.lost().unwrap().values().all(|&lost| lost == 0) && tap.drops().unwrap().is_empty());
    assert_eq!(tap.tx_sums().unwrap().total.distribution.moments.n, 0);
    assert_eq!((tap.mapping.get().flow_be.load(Relaxed), tap.programs() > 0), (2u32.to_be(), true));
}
