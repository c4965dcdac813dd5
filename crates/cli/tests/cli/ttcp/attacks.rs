//! What somebody met who had never seen the program: intervals, explanations, terminals.

use std::time::Duration;

use netfathom_testkit::test_name;

use super::{both, receiving, service_on_a_terminal, ttcp};
use crate::child::{Ended, end, run};

/// The lines of intervals: the only ones that tell a time from and to.
fn intervals(ended: &Ended) -> Vec<&str> {
    ended.err.lines().filter(|line| line.contains(" s ") && line.contains("-0.")).collect()
}

/// The clock of a UDP receiver begins with the data: before, there is nothing to tell, and the
/// first interval does not have the bytes of two.
#[test]
fn intervals_of_a_udp_receiver_begin_with_the_data() {
    let (to, port) = receiving("-rus -i 50ms");
    std::thread::sleep(Duration::from_millis(300));
    let from = run(&mut ttcp(&format!("-tus -l 1000 --pace 8m --time 300ms -i 50ms -p {port} 127.0.0.1")));
    let to = end(to);
    assert_eq!((from.status, to.status), (0, 0), "{from}{to}");
    let accepted = to.err.find("accept from").unwrap();
    let first = intervals(&to)[0];
    assert!(to.err.find(first).unwrap() > accepted, "{to}");
    assert!(first.starts_with("ttcp-r:   0.00-"), "{to}");
    for ended in [&from, &to] {
        assert!(!ended.err.contains("again"), "UDP sends nothing again: {ended}");
    }
}

/// A stream has one number, in its intervals and in its figures.
#[test]
fn intervals_count_streams_as_the_figures_do() {
    let [from, to] = both("-ts -P 2 --pace 80m --time 250ms -i 100ms", "-rs -P 2 -i 100ms");
    for ended in [&from, &to] {
        for number in [1, 2] {
            assert!(ended.err.contains(&format!("[{number:>3}] ")), "{ended}");
            assert!(ended.err.contains(&format!("stream {number}: ")), "{ended}");
        }
        assert!(!ended.err.contains("[  0] "), "{ended}");
    }
    let [from, to] = [&from, &to].map(|ended| intervals(ended).join("\n"));
    assert!(from.contains(", retr ") && from.contains("cwnd"), "{from}");
    assert!(!to.contains(", retr ") && !to.contains("cwnd"), "a receiver sends nothing again: {to}");
}

/// The kernel's own limit is larger than what a small window is to be enlarged to: a command that
/// sets that would make things worse.
#[test]
fn a_remedy_does_not_lower_the_kernels_limit() {
    let [from, _] = both("-ts --time 300ms --explain", "-rs -b 2k");
    assert!(!from.err.contains("sysctl -w net.ipv4.tcp_"), "{from}");
}

/// Lines of clients are not glued to the progress that is drawn meanwhile.
#[test]
fn a_terminal_has_a_clients_line_for_itself() {
    let Some((service, there)) = service_on_a_terminal(test_name!()) else { return };
    // Longer than it takes until the progress is drawn for the first time.
    std::thread::sleep(Duration::from_millis(1200));
    drop(there);
    let ended = end(service);
    assert!(ended.out.contains("/s\x1b[K"), "{:?}", ended.out);
    assert!(ended.out.contains("\r\x1b[Kttcp-r: client 1 from"), "{:?}", ended.out);
}

#[test]
fn a_sweep_of_one_point_tells_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut sweep = ttcp("sweep --here loopback --sndbuf 64k --time 50ms --trials 1");
    let ended = run(sweep.arg("--out").arg(dir.path())).exited(0);
    let answer = ended.out.split("\n\n").next().unwrap();
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(answer.matches("writes of").count(), 1, "{answer}");
}
