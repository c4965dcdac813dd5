use std::thread::sleep;
use std::time::Duration;

use netfathom_model::path::Direction;
use netfathom_testkit::privileged;

use super::*;

#[test]
fn before_the_reader_is_known_nobody_is_watched() {
    if !privileged("watching the reader") {
        return;
    }
    let target = Target { flow: 1, reader_cookie: u64::MAX, window_shift: 20 };
    let tap = StackTap::load(Hooks::Tracepoints, &[Direction::Rx], target).unwrap();
    // The processors go in and out of their idle tasks meanwhile, whose number is 0.
    sleep(Duration::from_millis(50));
    assert_eq!((tap.view().departures(), tap.lost().unwrap()["sched_switch"]), (0, 0));
}
