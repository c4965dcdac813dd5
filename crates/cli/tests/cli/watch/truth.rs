//! Servers that others wrote: the requests that a client counts are messages, and the time that it sees is that of the
//! stages of both ends.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use netfathom_model::record::{Distribution, WatchedStage};
use netfathom_sys::cpu::{before_all_others, machine_usage, scheduling, thread_id};
use netfathom_testkit::{nearly, needs, needs_root, test_name};

use super::*;

/// What a client writes, and how the answer ends.
type Request = (&'static str, &'static str);

struct Server {
    /// Of its process.
    name: &'static str,
    needs: &'static str,
    /// For a shell, with `$PORT`, `$DIR` and `$HERE`, the directory of this file; 77 is the status of what is not installed.
    start: &'static str,
    /// What comes first on each connection.
    hello: &'static [Request],
    request: Request,
    /// Messages of an answer.
    sends: u64,
    /// One after the other, which are accepted while the server is watched by its process. Otherwise one, which is there
    /// before its port is watched.
    connections: Option<u64>,
    udp: bool,
    /// At `$DIR/socket`; it is watched by its process.
    unix: bool,
    /// An answer takes so long that what no hook sees is nothing to it: the way into a system call and out of it, some 10 us
    /// with the programs of both, three times that on a slow machine.
    is_slow: bool,
}

const REQUESTS: u64 = 400;
/// The status of a program that needs what is not there.
const LACKS: i32 = 77;

/// Answers each message with itself, after the time that it begins with.
const ASYNCIO: Server = Server {
    name: "python3",
    needs: "needs /usr/bin/python3",
    start: "[ -x /usr/bin/python3 ] || exit 77; exec /usr/bin/python3 -c '
import asyncio, os
async def serve(reader, writer):
    while message := await reader.read(4096):
        await asyncio.sleep(float(message))
        writer.write(message)
async def main():
    server = await asyncio.start_server(serve, \"127.0.0.1\", int(os.environ[\"PORT\"]))
    await server.serve_forever()
asyncio.run(main())'",
    hello: &[],
    request: ("0.004\n", "\n"),
    sends: 1,
    connections: None,
    udp: false,
    unix: false,
    is_slow: true,
};

const MULTISHOT: Server = Server {
    name: "uring",
    needs: "needs gcc, liburing-dev and Linux 6.0",
    start: "gcc -O1 -o $DIR/uring $HERE/uring.c -luring || exit 77; exec $DIR/uring $PORT multishot",
    ..ASYNCIO
};

const MEMCACHED: Server = Server {
    name: "memcached",
    needs: "needs memcached",
    start: "command -v memcached || exit 77; exec memcached -l 127.0.0.1 -p $PORT -U $PORT -u nobody -t 2",
    request: ("version\r\n", "\r\n"),
    is_slow: false,
    ..ASYNCIO
};

const NGINX: Server = Server {
    name: "nginx",
    needs: "needs nginx-light",
    start: "command -v nginx || exit 77
head -c 500000 /dev/zero > $DIR/long; echo short > $DIR/short
echo \"user root; worker_processes 2; daemon off; pid $DIR/pid; error_log $DIR/errors; events {}
http { access_log off; sendfile on; gzip on; gzip_types *; keepalive_requests 100000;
client_body_temp_path $DIR/1; proxy_temp_path $DIR/2; fastcgi_temp_path $DIR/3; uwsgi_temp_path $DIR/4;
scgi_temp_path $DIR/5; server { listen 127.0.0.1:$PORT; root $DIR; } }\" > $DIR/conf
exec nginx -c $DIR/conf -e $DIR/errors",
    request: ("GET /short HTTP/1.1\r\nHost: here\r\n\r\n", "short\n"),
    // The header, and the file by sendfile.
    sends: 2,
    is_slow: false,
    ..ASYNCIO
};

/// It refuses to be root's.
const POSTGRES: Server = Server {
    name: "postgres",
    needs: "needs postgresql and setpriv",
    start: "PATH=$PATH:$(echo /usr/lib/postgresql/*/bin); command -v initdb setpriv || exit 77
chown nobody $DIR; nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
$nobody initdb -N -U postgres -A trust -D $DIR/data; ln -s .s.PGSQL.$PORT $DIR/socket
exec $nobody postgres -D $DIR/data -F -p $PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$DIR",
    hello: &[("\0\0\0\x17\0\x03\0\0user\0postgres\0\0", "Z\0\0\0\x05I")],
    request: ("Q\0\0\0\x1bselect pg_sleep(0.004)\0", "Z\0\0\0\x05I"),
    ..ASYNCIO
};

macro_rules! tests {
    ($($test:ident: $server:expr;)*) => {
        $(#[test]
        fn $test() {
            holds(concat!("cli::watch::truth::", stringify!($test)), &$server);
        })*
    };
}

const REDIS: Server = Server {
    name: "redis-server",
    needs: "needs redis-server",
    start:
        "command -v redis-server || exit 77; cd $DIR
exec redis-server --save '' --bind 127.0.0.1 --port $PORT --unixsocket $DIR/socket --enable-debug-command yes",
    request: ("debug sleep 0.004\r\n", "+OK\r\n"),
    ..ASYNCIO
};

tests! {
    redis: REDIS;
    redis_over_unix: Server { unix: true, connections: Some(100), ..REDIS };
    memcached: MEMCACHED;
    // A header of eight bytes precedes each request.
    memcached_over_udp: Server { udp: true, request: ("\0\0\0\0\0\x01\0\0version\r\n", "\r\n"), ..MEMCACHED };
    // It compresses each answer.
    nginx: Server {
        request: ("GET /long HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n", "0\r\n\r\n"),
        sends: 1,
        is_slow: true,
        ..NGINX
    };
    nginx_in_several_processes: Server { connections: Some(100), ..NGINX };
    postgres: POSTGRES;
    postgres_with_a_process_for_each_connection: Server { connections: Some(40), ..POSTGRES };
    postgres_over_unix: Server { unix: true, connections: Some(40), ..POSTGRES };
    python: ASYNCIO;
    uring_with_multishot: MULTISHOT;
    uring_with_registered_buffers: Server {
        start: "gcc -O1 -o $DIR/uring $HERE/uring.c -luring || exit 77; exec $DIR/uring $PORT fixed",
        ..MULTISHOT
    };
    uring_in_workers: Server {
        start: "gcc -O1 -o $DIR/uring $HERE/uring.c -luring || exit 77; exec $DIR/uring $PORT workers",
        ..MULTISHOT
    };
}

/// Ended with the test.
struct Running {
    child: Child,
    at: SocketAddr,
    dir: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that is not installed has ended. Postgres ends its processes at SIGINT.
        if self.child.try_wait().unwrap().is_none() {
            signal("INT", &self.child);
            let _ = self.child.wait();
        }
    }
}

impl Running {
    /// `None`, after saying so, where it is not installed.
    fn start(test: &str, server: &Server) -> Option<Self> {
        let (at, dir) = (TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap(), out());
        // Where a shell runs the tests in the background, SIGINT is ignored, and Python leaves it so.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT", "sh", "-ec", server.start])
            .env("PORT", at.port().to_string())
            .env("DIR", dir.path());
        command.env("HERE", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/watch")).current_dir("/");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut running = Self { child, at, dir };
        let status = until(server.name, || match running.child.try_wait().unwrap() {
            Some(status) => Some(status.code()),
            // One that starts may refuse to speak.
            None => {
                connect(&running, server).and_then(|mut s| ask(&mut s, server.request)).ok().map(|_| None)
            }
        });
        match status {
            None => return Some(running),
            Some(LACKS) => skipped(test, server.needs),
            Some(status) => panic!("{} ended with {status}", server.name),
        }
        None
    }
}

/// A connection that is greeted. A socket of UDP, or of Unix, is read and written as one of TCP.
fn connect(running: &Running, server: &Server) -> io::Result<TcpStream> {
    let mut socket = if server.udp {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(running.at)?;
        TcpStream::from(OwnedFd::from(socket))
    } else if server.unix {
        TcpStream::from(OwnedFd::from(UnixStream::connect(running.dir.path().join("socket"))?))
    } else {
        let socket = TcpStream::connect(running.at)?;
        socket.set_nodelay(true)?;
        socket
    };
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    server.hello.iter().try_for_each(|&hello| ask(&mut socket, hello).map(drop))?;
    Ok(socket)
}

/// From the call that writes the request until the answer is there.
fn ask(socket: &mut TcpStream, (request, end): Request) -> io::Result<Duration> {
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    let since = Instant::now();
    socket.write_all(request.as_bytes())?;
    while !answer.ends_with(end.as_bytes()) {
        match socket.read(&mut buffer)? {
            0 => return Err(io::Error::other(String::from_utf8_lossy(&answer))),
            n => answer.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(since.elapsed())
}

fn waited_ns() -> u64 {
    scheduling(thread_id()).unwrap().run_delay_ns
}

/// The client asks one request after the other, and counts.
fn holds(test: &str, server: &Server) {
    if !privileged(test) {
        return;
    }
    if tracepoint_is_missing() {
        return skipped(test, "needs tcp_sendmsg_locked: Linux 6.16");
    }
    let Some(running) = Running::start(test, server) else { return };
    let (pid, port) = (running.child.id(), running.at.port());
    let mut socket = connect(&running, server).unwrap();
    let hooks = HOOKS + HOOKS_TX - HOOKS_OF_BOTH;
    let both = hooks + if server.udp || server.unix { HOOKS_UDP } else { 0 };
    let (dir, of_client) = (out(), out());
    let watch = match server.connections {
        None => watching_with(both, &format!("both --port {port} --json"), dir.path()),
        Some(_) => {
            let unix = if server.unix { "--unix " } else { "" };
            watching_with(both, &format!("both {unix}--pid {pid} --json"), dir.path())
        }
    };
    let own = (server.is_slow && server.connections.is_none()).then(|| {
        let own = socket.local_addr().unwrap();
        let target = format!("both --flow {own}:{} --json", running.at);
        watching_with(hooks, &target, of_client.path())
    });
    // Sockets of a process are sought once the programs are at their hooks.
    thread::sleep(Duration::from_millis(300));
    if server.connections.is_none() {
        // The first message of a thread has no times.
        ask(&mut socket, server.request).unwrap();
    }
    // A client that waits for a CPU both as a reader and otherwise hides the one behind the other: woken by another CPU, a
    // reader waits for longer than its run queue knows. Where a real-time policy is refused, that is so.
    let _ = before_all_others();
    let (waited_before, taken_before) = (waited_ns(), machine_usage().unwrap());
    let (mut connections, mut asked) = (0, Duration::ZERO);
    for request in 0..REQUESTS {
        if server.connections.is_some_and(|n| request * n / REQUESTS >= connections) {
            socket = connect(&running, server).unwrap();
            connections += 1;
        }
        asked += ask(&mut socket, server.request).unwrap();
    }
    let (elapsed_ns, waited_ns) = (asked.as_nanos() as f64, waited_ns() - waited_before);
    let stolen_ns = machine_usage().unwrap().since(&taken_before).times.steal_ns as f64;
    let record_of = record(&interrupted(watch));
    let served = result(&record_of);
    let (account, send) = (&served.account, served.send.as_ref().unwrap());
    println!("{account:?} {:?}", send.account);
    let messages = REQUESTS + connections * server.hello.len() as u64 + u64::from(connections == 0);
    assert!(nearly(account.seen, messages), "{account:?}");
    assert!(nearly(account.timed + 4, account.seen + 4), "{account:?}");
    assert_eq!(account.unread(), 0, "{account:?}");
    let sent = if server.unix { 0 } else { messages * server.sends };
    assert!(nearly(send.account.seen, sent), "{:?}", send.account);
    assert_eq!(send.account.seen, send.account.timed + send.account.missed, "{:?}", send.account);
    // memcached has its port by both; each of its datagrams answers a request.
    assert_eq!(send.datagram_calls.is_some(), server.name == MEMCACHED.name);
    let over_unix = if server.unix { messages * server.sends } else { 0 };
    assert!(nearly(send.account.unix.map_or(0, |sent| sent.messages), over_unix), "{:?}", send.account);
    if server.udp {
        assert_eq!(send.account.dropped, Some(0));
    }
    if server.udp || server.unix {
        let application = served.application.as_ref().unwrap();
        assert!(nearly(application.n, messages) && application.min_ns > 0, "{application:?}");
    }
    let programs = served.programs.expect("root may have the kernel count");
    let some = u64::from(programs.messages > 0);
    assert!(
        programs.sampled_ns > 0 && programs.runs >= programs.messages && programs.ns >= some,
        "{programs:?}"
    );
    assert_eq!(served.reader.as_ref().map(|reader| reader.name.as_str()), Some(server.name));
    assert_eq!(served.answer.as_ref().map_or(0, |answer| answer.n), 0, "a server has no answers");
    let Some(own) = own else { return };
    let record_of = record(&interrupted(own));
    let own = result(&record_of);
    assert!(nearly(own.answer.as_ref().unwrap().n, messages) && own.same_host, "{:?}", own.answer);
    let mean = |times: &Distribution| times.mean_ns;
    let ends = [&served.total, &send.total, &own.total, &own.send.as_ref().unwrap().total].map(mean);
    let staged = ends.iter().sum::<f64>() + mean(served.application.as_ref().unwrap());
    // Where the client waited for a CPU otherwise than as a reader, no stage has it.
    let of_reader = |of: &&WatchedStage| matches!(of.stage, WatchStage::Runqueue | WatchStage::Wakeup);
    let of_reader: i64 = own.stages.iter().filter(of_reader).map(|of| of.times.sum_ns).sum();
    let beside = (waited_ns as f64 - of_reader as f64).max(0.0);
    println!("{staged} ns of {}, and {} ns", elapsed_ns / REQUESTS as f64, beside / REQUESTS as f64);
    let whole = (staged * REQUESTS as f64 + beside) / elapsed_ns;
    // What the hypervisor takes from a client or a softirq that runs is in no stage, and in no account of waits. It never
    // makes the stages longer than the client's time.
    let missing_ns = (1.0 - whole) * elapsed_ns;
    if missing_ns >= 0.02 * elapsed_ns && stolen_ns >= missing_ns {
        return skipped(
            test,
            &format!("disturbed: the hypervisor took {stolen_ns} ns, {missing_ns} ns are in no stage"),
        );
    }
    assert!(
        missing_ns.abs() < 0.02 * elapsed_ns,
        "the stages of both ends are {whole} of the client's {elapsed_ns} ns; the hypervisor took {stolen_ns} ns; it \
         waited {waited_ns} ns, {of_reader} as a reader; means {ends:?}; server {account:?} {:?}; client {:?} {:?}",
        send.account,
        own.account,
        own.send.as_ref().unwrap().account
    );
}

/// Of bulk data, what is sent by a call is a message, and all that is received has times.
#[test]
fn iperf3() {
    const WRITES: u64 = 1000;
    const WRITE: u64 = 128 << 10;
    /// Of its other connection, and what a server that sends has sent when its client has enough.
    const BESIDE: u64 = 100;
    let server = Server {
        name: "iperf3",
        needs: "needs iperf3",
        start: "command -v iperf3 || exit 77; exec iperf3 -s -B 127.0.0.1 -p $PORT",
        request: ("", ""),
        ..ASYNCIO
    };
    needs_root!();
    needs!(!tracepoint_is_missing(), "needs tcp_sendmsg_locked: Linux 6.16");
    let Some(running) = Running::start(test_name!(), &server) else { return };
    for reverse in [false, true] {
        let dir = out();
        let target = format!("both --port {} --json", running.at.port());
        let watch = watching_with(HOOKS + HOOKS_TX - HOOKS_OF_BOTH, &target, dir.path());
        let mut client = Command::new("iperf3");
        let args = format!("-c 127.0.0.1 -p {} -J -k {WRITES}", running.at.port());
        let client = client.args(args.split(' ')).args(reverse.then_some("-R")).output().unwrap();
        let client: serde_json::Value = serde_json::from_slice(&client.stdout).unwrap();
        let record = record(&interrupted(watch));
        let (account, send) = (&result(&record).account, result(&record).send.as_ref().unwrap());
        println!("{account:?} {:?}", send.account);
        if reverse {
            let sent = client["end"]["sum_sent"]["bytes"].as_u64().unwrap();
            let (seen, timed) = (send.account.seen, send.account.timed + send.account.merged);
            assert!((sent / WRITE..=sent / WRITE + BESIDE).contains(&seen), "{:?}", send.account);
            assert!(nearly(timed + send.account.unsent().unsigned_abs(), seen), "{:?}", send.account);
        } else {
            let bytes = client["end"]["sum_received"]["bytes"].as_u64().unwrap();
            assert!((bytes..=bytes + BESIDE * 100).contains(&account.bytes_read), "{account:?}");
            assert!(nearly(account.bytes_timed, account.bytes_read), "{account:?}");
        }
    }
}

/// Its request was read before the run began.
#[test]
fn a_server_that_is_met_before_its_answer_is_no_client() {
    needs_root!();
    let Some(running) = Running::start(test_name!(), &ASYNCIO) else { return };
    let mut socket = connect(&running, &ASYNCIO).unwrap();
    socket.write_all(b"2.5\n").unwrap();
    let dir = out();
    let watch = watching_with(HOOKS, &format!("--pid {} --json", running.child.id()), dir.path());
    ask(&mut socket, ("", "2.5\n")).unwrap();
    for _ in 0..20 {
        ask(&mut socket, ASYNCIO.request).unwrap();
    }
    let record = record(&interrupted(watch));
    let result = result(&record);
    println!("{:?} {:?}", result.account, result.answer);
    assert!(nearly(result.account.seen, 20), "{:?}", result.account);
    assert_eq!(result.answer.as_ref().map_or(0, |answer| answer.n), 0);
}
