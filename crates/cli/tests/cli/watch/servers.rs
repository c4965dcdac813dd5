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
fn each_request_to_redis_is_a_message() {
    needs_root!();
    let Some((redis, port)) = redis() else { skip!("needs redis-server") };
    let dir = out();
    let child = watching(&format!("--pid {} --json", redis.id()), dir.path());
    ask(port);
    let record = record(&interrupted(child));
    let result = result(&record);
    let account = &result.account;
    assert!(ALMOST_ALL.contains(&account.seen), "{account:?}");
    assert!(account.timed * 20 >= account.seen * 19, "{account:?}");
    assert_eq!(result.reader.as_ref().map(|reader| reader.name.as_str()), Some("redis-server"));
    let answered = result.application.as_ref().map_or(account.seen, |application| application.n);
    assert!(ALMOST_ALL.contains(&answered), "{answered} answers to {account:?}");
}

#[test]
fn each_answer_of_redis_is_a_message_that_is_sent() {
    needs_root!();
    needs!(!tracepoint_is_missing(), "needs tcp_sendmsg_locked: Linux 6.16");
    let Some((_redis, port)) = redis() else { skip!("needs redis-server") };
    for (directions, hooks) in [("tx", HOOKS_TX), ("both", HOOKS_TX + HOOKS - HOOKS_OF_BOTH)] {
        let dir = out();
        let child = watching_with(hooks, &format!("{directions} --port {port} --json"), dir.path());
        ask(port);
        let record = record(&interrupted(child));
        let result = result(&record);
        let send = result.send.as_ref().unwrap();
        let account = &send.account;
        assert!(ALMOST_ALL.contains(&account.seen), "{account:?}");
        assert_eq!((account.seen, account.unsent()), (account.timed + account.missed, 0), "{account:?}");
        assert!(account.missed * 20 <= account.seen, "{account:?}");
        assert_eq!(result.reader.as_ref().map(|reader| reader.name.as_str()), Some("redis-server"));
        let expected = if directions == "both" { ALMOST_ALL } else { 0..1 };
        assert!(expected.contains(&result.account.seen), "{:?}", result.account);
    }
}
