//! A run that is seen while it goes on.

use std::fs::File;

use netfathom_sys::process::give_terminal;

use super::*;

#[test]
fn a_terminal_shows_the_run_and_gets_itself_back() {
    needs_root!();
    let (dir, listener, port) = listening();
    let args = format!("watch --port {port} --time 3s --out {}", dir.path().display());
    let shown = beside(echoes(&listener), || on_terminal(test_name!(), &args));
    let Some(Ended { status, out, .. }) = shown else { return };
    // The screen beside, and the usual tables on that which was there before.
    let (before, after) = out.split_once("\x1b[?1049l").expect("the screen of before");
    assert!(
        before.contains("\x1b[?1049h") && before.contains("freeze") && before.contains("peers: "),
        "{before:?}"
    );
    assert!(
        status == 0
            && after.contains("link layer to application")
            && after.contains("Sockets with the most messages"),
        "{after:?}"
    );
}

/// What a shell runs on a terminal of its own, with `$0` the binary and `$1` the directory of its runs.
fn on(kind: &str, out: &Path, script: &str) -> (File, Child) {
    let mut command = child::shell(&format!("stty rows 24 columns 80; {script}"));
    let terminal = give_terminal(command.arg(out).env("TERM", kind)).unwrap();
    // The command, which ends here, has the other end, too.
    (terminal, command.spawn().unwrap())
}

/// What a terminal shows until its program ends, with this status.
fn shown(mut terminal: File, child: Child, status: i32) -> String {
    let mut shown = Vec::new();
    // An error is its end.
    let _ = terminal.read_to_end(&mut shown);
    end(child).exited(status);
    String::from_utf8_lossy(&shown).into_owned()
}

/// As a window that is closed, while the shell ignores the hangup.
#[test]
fn the_end_of_the_terminal_ends_the_run() {
    needs_root!();
    for hangup in ["trap '' HUP", ":"] {
        let (dir, _listener, port) = listening();
        let script = format!("{hangup}; exec \"$0\" watch --port {port} --out \"$1\"");
        let (terminal, child) = on("xterm", dir.path(), &script);
        let mut shown = BufReader::new(terminal);
        let mut screen = Vec::new();
        while !screen.ends_with(b"quit") {
            assert!(shown.read_until(b't', &mut screen).unwrap() > 0);
        }
        await_programs(&child, HOOKS);
        drop(shown);
        end(child);
        let record = child::record(dir.path()).expect("a record");
        assert!(record.state == State::Complete && result(&record).watched_ns > 0);
        assert_eq!(child::names(&only_run(dir.path())), ["head.json", "record.json", "report.html"]);
    }
}

/// As over a connection that is stalled.
#[test]
fn a_terminal_that_takes_nothing_does_not_delay_the_end_of_the_run() {
    needs_root!();
    for (time, keys) in [("--time 1s", ""), ("", "\x03")] {
        let (dir, _listener, port) = listening();
        // It is full before the run begins.
        let fill = "timeout 1 cat /dev/zero";
        let script = format!("{fill}; exec \"$0\" watch --port {port} {time} --out \"$1\"");
        let (mut terminal, child) = on("xterm", dir.path(), &script);
        if !keys.is_empty() {
            await_programs(&child, HOOKS);
            terminal.write_all(keys.as_bytes()).unwrap();
        }
        let is_whole = |record: &Record| record.state != State::Partial;
        let record = until("its record", || child::record(dir.path()).filter(is_whole));
        assert_eq!(record.state, State::Complete);
        // Once it is read, it has the tables on the screen of before.
        let shown = shown(terminal, child, 3);
        assert_eq!(child::names(&only_run(dir.path())), ["head.json", "record.json", "report.html"]);
        let (_, after) = shown.split_once("\x1b[?1049l").expect("the screen of before");
        assert!(after.contains("no message came"), "{after:?}");
    }
}

/// A warning would be drawn over the view.
#[test]
fn a_record_that_cannot_be_written_is_reported_once_after_the_view() {
    needs_root!();
    let (dir, _listener, port) = listening();
    let script = format!("exec \"$0\" watch --port {port} --out \"$1\"");
    let (mut terminal, child) = on("xterm", dir.path(), &script);
    await_programs(&child, HOOKS);
    fs::remove_dir_all(only_run(dir.path())).unwrap();
    // It writes its record then, too.
    signal("USR1", &child);
    thread::sleep(Duration::from_millis(2500));
    terminal.write_all(b"q").unwrap();
    let shown = shown(terminal, child, 1);
    let (view, after) = shown.split_once("\x1b[?1049l").expect("the screen of before");
    let reports = [view, after].map(|part| part.matches("record.json").count());
    assert_eq!(reports, [0, 1], "{shown:?}");
}

/// A short run, by this command of a shell.
fn has_no_view(kind: &str, binary: &str) {
    let (dir, _listener, port) = listening();
    // Without the last command, the shell would become the one before, which leads the session then.
    let script = format!("{binary} watch --port {port} --time 200ms --out \"$1\"; exit");
    let (terminal, child) = on(kind, dir.path(), &script);
    let shown = shown(terminal, child, 3);
    assert!(shown.contains("no message came") && !shown.contains("\x1b[?1049h"), "{shown:?}");
}

/// By timeout(1), which makes a process group of its own: the kernel stops who takes the terminal from there.
#[test]
fn in_the_background_of_a_terminal_there_is_no_view() {
    needs_root!();
    has_no_view("xterm", "timeout -k 1 20 \"$0\"");
}

#[test]
fn on_a_terminal_without_a_second_screen_there_is_no_view() {
    needs_root!();
    has_no_view("dumb", "\"$0\"");
}

/// Those of the lines.
pub(super) fn lengths_ns(ended: &Ended) -> Vec<u64> {
    lines(ended).iter().map(|line| line["length_ns"].as_u64().unwrap()).collect()
}

#[test]
fn the_last_part_of_a_second_is_a_line() {
    needs_root!();
    let dir = out();
    let ended = run(netfathom("watch --port 5 --json-lines --time 1500ms --out").arg(dir.path())).exited(3);
    let lengths = lengths_ns(&ended);
    assert!(lengths.len() == 2 && lengths[1] < lengths[0], "{ended}");
}

#[test]
fn lines_that_cannot_be_written_end_the_run() {
    needs_root!();
    let dir = out();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut watch = netfathom("watch --port 5 --json-lines --out");
    let child = watch.arg(dir.path()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let ended = end(child);
    assert!(ended.status == 1 && ended.err.contains("cannot write to standard output"), "{ended}");
}

#[test]
fn a_line_a_second_is_for_other_programs() {
    needs_root!();
    let (dir, listener, port) = listening();
    let child = watching(&format!("--port {port} --json-lines"), dir.path());
    echo(&listener, 60, 50);
    thread::sleep(Duration::from_millis(2500));
    let ended = interrupted(child).exited(0);
    let lines = lines(&ended);
    assert!(lines.len() >= 2, "{ended}");
    let sum = |of: &dyn Fn(&Value) -> i64| lines.iter().map(of).sum::<i64>();
    let (n, ns) =
        (sum(&|l| l["receive"]["n"].as_i64().unwrap()), sum(&|l| l["receive"]["sum_ns"].as_i64().unwrap()));
    assert!((1..=60).contains(&n), "{n}");
    let stages = |l: &Value| {
        l["receive"]["stage_sums_ns"].as_object().unwrap().values().map(|v| v.as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&stages), ns);
    assert!(lines.iter().all(|l| l["waits"]["waited_ns"].is_u64()), "{ended}");
    let of_sockets = |l: &Value| {
        let sockets = l["sockets"].as_array().unwrap().iter().chain([&l["other_sockets"]]);
        sockets.map(|socket| socket["receive"]["n"].as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&of_sockets), n);
}

/// Messages end before the first look, at each look, and after the last.
#[test]
fn the_lines_of_a_busy_socket_add_up_to_the_record() {
    needs_root!();
    needs!(!tracepoint_is_missing(), "needs tcp_sendmsg_locked: Linux 6.16");
    let (dir, listener, port) = listening();
    let args = format!("watch both --port {port} --json-lines --time 2500ms --out");
    let ended = beside(echoes(&listener), || run(netfathom(&args).arg(dir.path()))).exited(0);
    let record = child::record(dir.path()).unwrap();
    let result = result(&record);
    let (account, send) = (&result.account, result.send.as_ref().unwrap());
    let ways = [
        ("receive", &result.total, (account.seen, account.timed)),
        ("send", &send.total, (send.account.seen, send.account.timed)),
    ];
    for (way, total, counted) in ways {
        let (mut all, mut stages, mut sockets) = ((0, 0), 0, (0, 0));
        let count = |of: &str| -> u64 {
            lines(&ended).iter().filter_map(|line| line[way]["account"][of].as_u64()).sum()
        };
        assert_eq!((count("seen"), count("timed")), counted, "{way}: {ended}");
        for line in lines(&ended) {
            add(&mut all, &line[way]);
            let sums = line[way]["stage_sums_ns"].as_object().unwrap().values();
            stages += sums.map(|sum| sum.as_i64().unwrap()).sum::<i64>();
            let single = line["sockets"].as_array().unwrap();
            single.iter().chain([&line["other_sockets"]]).for_each(|of| add(&mut sockets, &of[way]));
        }
        let recorded = (total.n as i64, total.sum_ns);
        assert_eq!((all, stages, sockets), (recorded, total.sum_ns, recorded), "{way}: {ended}");
    }
}

fn add((n, sum_ns): &mut (i64, i64), of: &Value) {
    *n += of["n"].as_i64().unwrap();
    *sum_ns += of["sum_ns"].as_i64().unwrap();
}
