//! The screen as text, by ratatui's own test terminal.

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchTarget;
use netfathom_model::record::{
    CpuWaits, Held, Holder, SocketWay, WatchSocket, WatchStage, WatchTimes, WatchedProcess, WatchedSum,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;

use super::*;

/// `n` messages that take `time_ns` each, half of it in each of two stages.
fn way(n: u64, time_ns: i64, stages: [WatchStage; 2]) -> SocketWay {
    let mut histogram = netfathom_stats::Histogram::new(3);
    histogram.add_many(time_ns, n);
    let sum_ns = n as i64 * time_ns;
    let stages = stages.map(|stage| WatchedSum { stage, sum_ns: sum_ns / 2 }).into();
    SocketWay { total: WatchTimes::new(&histogram, sum_ns), stages }
}

fn socket(id: u64, pid: u32, n: u64) -> WatchSocket {
    WatchSocket {
        id,
        local: Some("10.0.0.1:6379".into()),
        peer: Some(format!("10.0.0.2:{}", 40_000 + id)),
        process: Some(WatchedProcess { pid, name: "redis-server".into() }),
        receive: way(n, 40_000, [WatchStage::Runqueue, WatchStage::Sockqueue]),
        send: way(n, 2_000, [WatchStage::Socket, WatchStage::Qdisc]),
    }
}

fn second(at_s: u64, busy: u64) -> Second {
    let sockets = vec![socket(1, 712, busy), socket(2, 712, 300), socket(3, 900, 100)];
    let mut all = WatchSocket::default();
    sockets.iter().for_each(|socket| all.add(socket));
    let length_ns = 1_000_000_000;
    Second { at_ns: at_s * length_ns, length_ns, all, sockets, slow_so_far: Some(14), ..Second::default() }
}

fn state(directions: &[Direction]) -> State {
    let mut state = State::new(directions, &SERVER);
    let answer = || "redis-server (pid 712): mean rx 40.0 µs, tx 2.00 µs".to_owned();
    (1..=20).for_each(|at_s| state.add(second(at_s, 500 * at_s), answer()));
    state
}

fn screen(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, state, false)).unwrap();
    let text = terminal.backend().to_string();
    text.lines().map(|line| line.trim_matches('"').trim_end().to_owned() + "\n").collect()
}

const BOTH: [Direction; 2] = [Direction::Rx, Direction::Tx];
const SERVER: WatchTarget = WatchTarget::Port(6379);

#[test]
fn a_small_terminal_shows_the_second_its_stages_and_the_sockets() {
    insta::assert_snapshot!(screen(&state(&BOTH), 80, 24));
}

#[test]
fn a_wide_terminal_names_processes_and_the_largest_stages() {
    insta::assert_snapshot!(screen(&state(&BOTH), 160, 20));
}

#[test]
fn one_direction_has_the_whole_width() {
    insta::assert_snapshot!(screen(&state(&[Direction::Rx]), 80, 20));
}

#[test]
fn a_smaller_terminal_has_fewer_parts() {
    let state = state(&BOTH);
    for (width, height, stages, curves, rows) in
        [(37, 7, 0, 0, 0), (40, 10, 0, 0, 1), (40, 24, 1, 0, 3), (60, 16, 1, 0, 3), (80, 24, 2, 2, 3)]
    {
        let shown = screen(&state, width, height);
        let count = |text: &str| shown.matches(text).count();
        let parts = ["\n  receive ", " stages ", ", a minute", " 10.0.0.2:4000"].map(count);
        assert_eq!(parts, [1, stages, curves, rows], "{width}x{height}: {shown}");
        assert_eq!(shown.lines().next().unwrap().ends_with('…'), width < 53, "{shown}");
        let keys = shown.lines().last().unwrap();
        assert!(keys.starts_with("q quit ") && keys.ends_with('…') == (width < 80), "{shown}");
    }
}

#[test]
fn a_direction_without_a_column_takes_no_rows() {
    let list_at = |stages: usize| {
        let (mut state, mut last) = (state(&BOTH), second(21, 100));
        let stages = WatchStage::of(Direction::Tx).iter().take(stages);
        last.all.send.stages = stages.map(|&stage| WatchedSum { stage, sum_ns: 1000 }).collect();
        state.add(last, String::new());
        let shown = screen(&state, 40, 24);
        shown.lines().position(|line| line.starts_with("peers: 3")).unwrap()
    };
    assert_eq!(list_at(1), list_at(5));
}

#[test]
fn what_is_no_stage_has_a_line_below_them_where_there_is_room() {
    let mut state = state(&BOTH);
    let times = |time_ns| Some(way(9, time_ns, [WatchStage::Read; 2]).total);
    (state.second.application, state.second.answer) = (times(40_000), times(2_000));
    let line = "\n  application 40.0 µs (p99 38.9 µs)  answer 2.00 µs (p99 1.98 µs)\n\npeers: 3 ";
    assert!(screen(&state, 80, 15).contains(line), "{}", screen(&state, 80, 15));
    assert!(!screen(&state, 80, 14).contains("application"), "{}", screen(&state, 80, 14));
    let peers_at = |state: &State| screen(state, 80, 24).lines().position(|line| line.starts_with("peers"));
    let before = peers_at(&state);
    (state.second.application, state.second.answer) = (Some(WatchTimes::default()), None);
    assert_eq!(peers_at(&state), before);
    state.key(KeyCode::Down);
    state.key(KeyCode::Enter);
    assert!(peers_at(&state) < before, "{}", screen(&state, 80, 24));
}

#[test]
fn a_part_of_a_mean_that_no_clock_has_is_less_than_a_nanosecond() {
    let mut state = state(&BOTH);
    state.second.all.receive.stages.push(WatchedSum { stage: WatchStage::Lock, sum_ns: 5 });
    let shown = screen(&state, 80, 24);
    let lock = shown.lines().find(|line| line.starts_with("  lock ")).unwrap();
    assert!(lock.split_whitespace().collect::<Vec<_>>().starts_with(&["lock", "<1", "ns"]), "{lock}");
}

#[test]
fn figures_are_whole_or_left_out() {
    let list = |width, height| {
        let shown = screen(&state(&BOTH), width, height);
        assert!(shown.contains("  10.4k/s  40.0 µs  38.9 µs\n"), "{shown}");
        shown.lines().find(|line| line.starts_with("peers: 3")).map(|line| line[8..].trim().to_owned())
    };
    assert_eq!(list(40, 10).as_deref(), Some("receive     send"));
    assert_eq!(list(60, 16).as_deref(), Some("receive     mean     send     mean"));
}

#[test]
fn a_terminal_without_room_has_the_size_that_it_lacks() {
    for (width, height) in [(20, 5), (36, 30), (80, 6)] {
        let shown = screen(&state(&BOTH), width, height).replace('\n', " ");
        assert!(shown.starts_with("terminal of at least 37x7 ") && shown.contains(" q quit "), "{shown}");
    }
}

#[test]
fn enter_shows_one_socket_or_process_and_escape_all() {
    let mut state = state(&BOTH);
    state.key(KeyCode::Down);
    state.key(KeyCode::Down);
    state.key(KeyCode::Enter);
    assert!(screen(&state, 80, 24).contains("\n10.0.0.1:6379 and 10.0.0.2:40002, redis-server (712)\n"));
    assert!(screen(&state, 80, 24).contains("receive       300/s"));
    state.key(KeyCode::Esc);
    state.key(KeyCode::Char('p'));
    assert_eq!(state.rows().len(), 2);
    state.key(KeyCode::Down);
    state.key(KeyCode::Enter);
    let shown = screen(&state, 80, 24);
    assert!(shown.contains("receive     10.3k/s") && shown.contains("peers: 2"), "{shown}");
    state.key(KeyCode::Esc);
    assert!(screen(&state, 80, 24).contains("receive     10.4k/s"));
}

#[test]
fn the_whole_host_begins_with_its_processes() {
    let mut state = State::new(&BOTH, &WatchTarget::All);
    state.add(second(1, 5), String::new());
    assert!(screen(&state, 80, 24).contains("\nprocesses: 2 "), "{}", screen(&state, 80, 24));
    state.key(KeyCode::Char('p'));
    assert!(screen(&state, 80, 24).contains("\npeers: 3 "), "{}", screen(&state, 80, 24));
}

#[test]
fn sockets_with_one_peer_have_their_local_ports() {
    let mut state = State::new(&BOTH, &WatchTarget::All);
    let mut second = second(1, 5);
    for (socket, port) in second.sockets.iter_mut().zip(45_254..) {
        socket.local = Some(format!("127.0.0.1:{port}"));
        socket.peer = Some("192.168.100.100:16379".into());
    }
    state.add(second, String::new());
    state.key(KeyCode::Char('p'));
    let shown = screen(&state, 80, 24);
    assert!(shown.contains("\nlocal port, peer: 3 "), "{shown}");
    for port in 45_254..45_257 {
        assert!(shown.contains(&format!("\n  {port} …168.100.100:16379 ")), "{shown}");
    }
}

#[test]
fn a_high_terminal_shows_who_had_the_cpus() {
    let mut state = state(&BOTH);
    let held = |by, ns| Held { by, ns };
    let kernel = Holder::Kernel { name: "kswapd0".into() };
    let holders = vec![held(kernel, 1_500_000_000), held(Holder::Unknown, 500_000_000)];
    state.second.waits_so_far = CpuWaits { waited_ns: 2_000_000_000, holders };
    let line = "\nwaits for a CPU, 2.00 s: the kernel's kswapd0 75.0 %, unknown 25.0 %\n";
    assert!(screen(&state, 80, 24).contains(line), "{}", screen(&state, 80, 24));
    assert!(!screen(&state, 80, 23).contains("waits for a CPU"));
}

#[test]
fn three_holders_have_the_lines_that_they_need() {
    let mut state = state(&BOTH);
    let named = |name: &str| Holder::Process { name: name.into(), pid: 40_000, cgroup: None };
    let holders = ["redis-benchmark", "memcached-bench", "postgres-worker"].map(named);
    let holders = holders.map(|by| Held { by, ns: 1_000_000_000 }).into();
    state.second.waits_so_far = CpuWaits { waited_ns: 4_000_000_000, holders };
    for width in [40, 80] {
        let shown = screen(&state, width, 24).replace("\n  ", " ");
        assert_eq!(shown.matches(" (pid 40000) 25.0 %").count(), 3, "{shown}");
    }
}

#[test]
fn what_is_frozen_stays_and_goes_on_with_the_latest() {
    let mut state = state(&BOTH);
    state.key(KeyCode::Char('f'));
    let frozen = screen(&state, 80, 24);
    assert!(frozen.contains("after 20.0 s  FROZEN") && frozen.contains("10.4k/s"), "{frozen}");
    let mut later = second(21, 50_000);
    // It would be the first row.
    later.sockets[2] = socket(3, 900, 5_000_000);
    later.slow_answers_so_far = 2;
    state.add(later, "later".into());
    assert_eq!(screen(&state, 80, 24), frozen);
    state.key(KeyCode::Char('f'));
    let latest = screen(&state, 80, 24);
    let slow = "after 21.0 s  slow messages: 14  slow answers: 2\n";
    assert!(latest.contains(slow) && latest.starts_with("later"), "{latest}");
    assert_eq!(state.rows()[0].scope, state::Scope::Socket(3));
}

#[test]
fn names_of_others_cannot_steer_the_terminal() {
    let mut state = State::new(&BOTH, &SERVER);
    let mut second = second(1, 5);
    second.sockets[0].process = Some(WatchedProcess { pid: 1, name: "\x1b[2Jevil".into() });
    state.add(second, "\x1b[2Jevil".into());
    assert!(!screen(&state, 160, 24).contains('\x1b'));
}

#[test]
fn q_and_ctrl_c_end_the_run_and_other_keys_do_not() {
    let mut state = state(&BOTH);
    assert!(state.key(KeyCode::Char('c')) && state.key(KeyCode::Char('x')));
    assert!(!state.key(KeyCode::Char('q')));
    assert!(!state.key(keys::INTERRUPT));
}

#[test]
fn a_minute_is_remembered_and_no_more() {
    let mut state = State::new(&BOTH, &SERVER);
    (0..200).for_each(|at_s| state.add(second(at_s, 1), String::new()));
    assert!(state.history.values().all(|points| points.len() == state::MINUTE));
    (0..200).for_each(|at_s| state.add(Second { at_ns: at_s, ..Second::default() }, String::new()));
    assert!(state.history.is_empty(), "{:?}", state.history);
}
