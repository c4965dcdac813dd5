//! Connections, threads and other watches come and go beside a run, which takes no more memory for that, and leaves nothing.

use std::env::{current_exe, var, var_os};
use std::io;
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Instant;

use super::*;

const SAME: &str = "watch::soak::what_comes_and_goes_takes_no_memory_and_leaves_nothing";
/// How long, in seconds: a day is 86400.
const TIME: &str = "NETFATHOM_SOAK";
/// This process comes and goes.
const CHURNS: &str = "NETFATHOM_CHURNS";
/// More of it at the end is a leak. A socket that is not forgotten leaves some 10 KB, and hundreds die in a second.
const LEAK: u64 = 2 << 20;
const UDP_PORTS: u16 = 12_000;

fn time() -> Duration {
    Duration::from_secs(var(TIME).map_or(8, |seconds| seconds.parse().unwrap()))
}

/// A connection lives and dies in one of several ways. A socket of Unix is used as one of TCP.
fn stream(
    client: impl Into<OwnedFd>,
    accept: impl FnOnce() -> io::Result<OwnedFd>,
    round: usize,
) -> io::Result<()> {
    let mut client = TcpStream::from(client.into());
    let mut message = [7; 64];
    if round.is_multiple_of(8) {
        drop(client);
        return accept().map(drop);
    }
    let mut server = TcpStream::from(accept()?);
    if round % 8 == 1 {
        // It sleeps until its message comes, and no thread is left that knows it.
        return thread::scope(|scope| {
            scope.spawn(move || server.read(&mut [0; 64]).and_then(|_| server.write_all(&[0; 64])));
            client.write_all(&message)?;
            client.read_exact(&mut message)
        });
    }
    client.write_all(&message)?;
    match round % 8 {
        // Nothing is read.
        2 => drop(server),
        3 => drop(client),
        4 => {
            let _ = client.shutdown(Shutdown::Write);
            while server.read(&mut message)? > 0 {}
            server.write_all(&message)?;
            client.read_exact(&mut message)?;
        }
        5 => {
            server.read_exact(&mut message[..10])?;
            drop(client);
        }
        6 => {
            // Until the buffers of both ends are full.
            client.set_nonblocking(true)?;
            while client.write(&[0; 65_536]).is_ok() {}
        }
        _ => {
            for _ in 0..3 {
                server.read_exact(&mut message)?;
                server.write_all(&message)?;
                client.read_exact(&mut message)?;
                client.write_all(&message)?;
            }
        }
    }
    Ok(())
}

fn tcp(listener: &TcpListener, round: usize) -> io::Result<()> {
    let at = listener.local_addr()?;
    if round.is_multiple_of(50) {
        // Refused.
        let gone = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let _ = TcpStream::connect(gone);
    }
    let client = TcpStream::connect(at)?;
    stream(client, || listener.accept().map(|of| of.0.into()), round)
}

fn unix(listener: &UnixListener, round: usize) -> io::Result<()> {
    let (near, far) = UnixDatagram::pair()?;
    near.send(&[7; 64])?;
    if round.is_multiple_of(2) {
        far.recv(&mut [0; 64])?;
        far.send(&[0; 64])?;
    }
    let client = UnixStream::connect_addr(&listener.local_addr()?)?;
    stream(client, || listener.accept().map(|of| of.0.into()), round)
}

fn udp(server: &UdpSocket, round: usize) -> io::Result<()> {
    // The kernel gives no port below this range of its own accord, so none that another test watches.
    let client = UdpSocket::bind(("127.0.0.1", UDP_PORTS + (round % 10_000) as u16))?;
    client.connect(server.local_addr()?)?;
    client.send(&[7; 64])?;
    let (_, from) = server.recv_from(&mut [0; 64])?;
    // Its answer comes to a socket that nothing reads, or to none.
    if round.is_multiple_of(2) {
        drop(client);
    }
    server.send_to(&[0; 64], from).map(drop)
}

fn repeat(kind: &str, once: impl Fn(usize) -> io::Result<()>) {
    let end = Instant::now() + time() * 2 + Duration::from_secs(60);
    for round in 0.. {
        // Its death is what is wanted, and some of its calls find it dead.
        let _ = once(round);
        if round % 1000 == 0 {
            println!("{kind} {round}");
        }
        if Instant::now() > end {
            return;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

fn churn() {
    let tcp_at = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("netfathom-soak-{}", std::process::id());
    let unix_at = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    let udp_at = UdpSocket::bind("127.0.0.1:0").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| repeat("tcp", |round| tcp(&tcp_at, round)));
        scope.spawn(|| repeat("unix", |round| unix(&unix_at, round)));
        scope.spawn(|| repeat("udp", |round| udp(&udp_at, round)));
    });
}

/// A group of processes that the kernel counts memory of; `None` where there can be none.
fn group() -> Option<Group> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own: Vec<&str> = own.lines().filter_map(|line| line.split_once(':').map(|of| of.1)).collect();
    let path = |prefix| own.iter().find_map(|of| of.strip_prefix(prefix));
    let parent = match path("memory:") {
        Some(first) => format!("/sys/fs/cgroup/memory{first}"),
        None => format!("/sys/fs/cgroup{}", path(":")?),
    };
    let group = Group::below(parent, &format!("netfathom-soak-{}", std::process::id()))?;
    kernel(&group).map(|_| group)
}

/// What the kernel keeps for it: of its sockets and threads, the maps have that.
fn kernel(group: &Group) -> Option<u64> {
    let first = fs::read_to_string(group.path().join("memory.kmem.usage_in_bytes"));
    let of_line = |text: String| text.lines().find_map(|line| line.strip_prefix("kernel ")?.parse().ok());
    let second = || fs::read_to_string(group.path().join("memory.stat")).ok().and_then(of_line);
    first.ok().and_then(|text| text.trim().parse().ok()).or_else(second)
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kb = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    kb.unwrap().parse::<u64>().unwrap() * 1024
}

/// The last quarter against the second, by the least of each: what the kernel has yet to free (RCU) comes and goes, what leaks
/// stays.
fn is_flat(what: &str, sizes: &[u64]) {
    let quarter = sizes.len() / 4;
    let least = |of: &[u64]| *of.iter().min().unwrap();
    let (early, late) = (least(&sizes[quarter..2 * quarter]), least(&sizes[3 * quarter..]));
    println!("{what}: {early} bytes, then {late}");
    assert!(late < early + LEAK, "{what}: {early} bytes, then {late}");
}

#[test]
fn what_comes_and_goes_takes_no_memory_and_leaves_nothing() {
    if var_os(CHURNS).is_some() {
        return churn();
    }
    needs_root!();
    needs!(!tracepoint_is_missing(), "needs tcp_sendmsg_locked: Linux 6.16");
    let mut churns = Command::new(current_exe().unwrap());
    churns.args([SAME, "--exact", "--nocapture"]).env(CHURNS, "1").stdout(Stdio::piped());
    let mut churns = Killed(churns.spawn().unwrap());
    let lines = BufReader::new(churns.stdout.take().unwrap()).lines();
    let counted = thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
    let (dir, group) = (out(), group());
    let args = format!("watch both --unix --sockets --pid {} --json", churns.id());
    let watch = match &group {
        Some(group) => {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.path().join("cgroup.procs"));
            let netfathom = netfathom(&args);
            command.arg(netfathom.get_program()).args(netfathom.get_args());
            start(command.arg("--out").arg(dir.path()))
        }
        None => start(netfathom(&args).arg("--out").arg(dir.path())),
    };
    let hooks = HOOKS + HOOKS_TX - HOOKS_OF_BOTH + HOOKS_UDP;
    await_programs(&watch, hooks);
    let (mut residents, mut kernels) = (Vec::new(), Vec::new());
    let (begin, other_out) = (Instant::now(), out());
    for number in 0.. {
        let args = format!("watch both --unix --budget 10% --pid {}", churns.id());
        let mut other = start(netfathom(&args).arg("--out").arg(other_out.path()));
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(200));
            residents.push(resident(watch.id()));
            kernels.extend(group.as_ref().and_then(kernel));
        }
        if number % 2 == 0 {
            kill(&mut other);
        } else {
            interrupted(other);
        }
        if begin.elapsed() > time() {
            break;
        }
    }
    let held = Held::by(watch.id());
    assert!(!held.is_gone(), "this test cannot see {held:?}");
    let record = record(&interrupted(watch));
    until_holds("the kernel to clean up", || held.is_gone());
    drop(churns);
    let rounds = counted.join().unwrap();
    println!("{:?}", rounds.iter().rev().take(3).collect::<Vec<_>>());
    let (account, send) = (&result(&record).account, result(&record).send.as_ref().unwrap());
    println!("{account:?} {:?}", send.account);
    assert!(account.timed > 0 && account.unread() >= 0, "{account:?}");
    assert!(send.account.timed > 0 && send.account.unsent() >= 0, "{:?}", send.account);
    is_flat("resident", &residents);
    needs!(!kernels.is_empty(), "kernel memory: needs a group of processes with a count of it");
    is_flat("kernel", &kernels);
}
