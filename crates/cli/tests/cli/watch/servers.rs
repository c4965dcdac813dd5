//! Servers that others wrote: their clients count their requests.

use std::ops::Range;

use super::*;

/// Of 20,000 requests, and of those that ask for the configuration: certain tasks of some machines keep programs off their
/// CPU.
const ALMOST_ALL: Range<u64> = 19_000..20_010;

/// With its port; `None` where it is not installed.
fn redis() -> Option<(Killed, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("redis-server");
    command.args("--appendonly no --bind 127.0.0.1 --save".split(' '));
    command.args(["", "--port", &port.to_string()]);
    let redis = Killed(command.current_dir("/").stdout(Stdio::null()).spawn().ok()?);
    until("redis", || TcpStream::connect(("127.0.0.1", port)).ok());
    Some((redis, port))
}

/// Its own client does.
fn ask(port: u16) {
    let mut client = Command::new("redis-benchmark");
    client.args(format!("-p {port} -t get -n 20000 -c 5 -q").split(' '));
    assert!(client.stdout(Stdio::null()).status().unwrap().success());
}

#[test]
fn each_request_to_redis_is_a_message_and_each_answer_is_one_that_is_sent() {
    needs_root!();
    let Some((redis, port)) = redis() else { skip!("needs redis-server") };
    let by_port = format!("--port {port}");
    for (directions, target, hooks) in [
        ("rx", format!("--pid {}", redis.id()), HOOKS),
        ("tx", by_port.clone(), HOOKS_TX),
        ("both", by_port, HOOKS_TX + HOOKS - HOOKS_OF_BOTH),
    ] {
        if directions != "rx" {
            needs!(!tracepoint_is_missing(), "what is sent needs tcp_sendmsg_locked: Linux 6.16");
        }
        let dir = out();
        let child = watching_with(hooks, &format!("{directions} {target} --json"), dir.path());
        ask(port);
        let record = record(&interrupted(child));
        let result = result(&record);
        assert_eq!(result.reader.as_ref().map(|reader| reader.name.as_str()), Some("redis-server"));
        let expected = if directions == "tx" { 0..1 } else { ALMOST_ALL };
        assert!(expected.contains(&result.account.seen), "{:?}", result.account);
        if directions == "rx" { are_timed(result) } else { are_sent(result) }
    }
}

fn are_timed(result: &WatchResult) {
    let account = &result.account;
    assert!(account.timed * 20 >= account.seen * 19, "{account:?}");
    let answered = result.application.as_ref().map_or(account.seen, |application| application.n);
    assert!(ALMOST_ALL.contains(&answered), "{answered} answers to {account:?}");
}

fn are_sent(result: &WatchResult) {
    let account = &result.send.as_ref().unwrap().account;
    assert!(ALMOST_ALL.contains(&account.seen), "{account:?}");
    assert_eq!((account.seen, account.unsent()), (account.timed + account.missed, 0), "{account:?}");
    assert!(account.missed * 20 <= account.seen, "{account:?}");
}
