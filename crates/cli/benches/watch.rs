//! What `netfathom watch` costs a server and its client: CPU time per request of both, and the p99 that the client has,
//! as ratios within one run. Prints a table in Markdown.
//!
//! The server has a CPU and its client another. Each round has every variant once, in an order that is mirrored each
//! round, beside a turn without `watch`; medians over the rounds, with the interval of the sign test.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use netfathom_measure::ground::processors::spread;
use netfathom_model::record::{Measured, Record, WatchResult};
use netfathom_stats::{Median, median};
use netfathom_sys::cpu::thread_time_ns;
use netfathom_sys::process::{reap, run_times};
use netfathom_sys::{child, cpu};
use netfathom_testkit::Killed;
use tempfile::TempDir;

const NETFATHOM: &str = env!("CARGO_BIN_EXE_netfathom");
const ROUNDS: usize = 8;
/// A program comes up within that.
const PATIENCE: Duration = Duration::from_secs(6);
/// Lost datagrams of one turn.
const MOST_AGAIN: u32 = 5;
const LOOK: Duration = Duration::from_millis(20);
/// From the first program at its hook to the last.
const ATTACHING: Duration = Duration::from_millis(500);
const CONNECTIONS: u32 = 20;
/// The header of a datagram, and a request without parameters.
const REQUEST: &[u8] = b"\0\0\0\0\0\x01\0\0version\r\n";

type Failure = Box<dyn std::error::Error>;

struct Load {
    name: &'static str,
    over: Over,
    requests: u32,
    pipelined: u32,
    variants: &'static [Variant],
}

#[derive(Clone, Copy, PartialEq)]
enum Over {
    Tcp,
    Udp,
    Unix,
}

struct Variant {
    name: &'static str,
    /// Without `watch` where there are none.
    args: &'static [&'static str],
    follows: Follows,
    target: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Follows {
    All,
    Samples,
    None,
}

const CONTROL: Variant = Variant {
    name: "nothing, as a control",
    args: &[],
    follows: Follows::None,
    target: "1 within its interval",
};
/// Of sockets that are not watched.
const BYSTANDER: &str = "at most 1.005";
const ALL: &[Variant] = &[
    CONTROL,
    Variant { name: "`watch rx`", args: &["rx"], follows: Follows::All, target: "at most 1.04 and 1.05" },
    Variant { name: "`watch both`", args: &["both"], follows: Follows::All, target: "at most 1.08 and 1.05" },
    Variant { name: "`watch rx` of another port", args: &["rx"], follows: Follows::None, target: "" },
    Variant {
        name: "`watch both` of another port",
        args: &["both"],
        follows: Follows::None,
        target: BYSTANDER,
    },
];
const SAMPLED: &[Variant] = &[
    CONTROL,
    Variant {
        name: "`watch both --budget 1%`",
        args: &["both", "--budget", "1%"],
        follows: Follows::Samples,
        target: "at most 1.01",
    },
    Variant {
        name: "`watch both --budget 1%` of another port",
        args: &["both", "--budget", "1%"],
        follows: Follows::None,
        target: BYSTANDER,
    },
];
const UDP: &[Variant] = &[
    CONTROL,
    Variant { name: "`watch rx`", args: &["rx"], follows: Follows::All, target: "" },
    Variant { name: "`watch both`", args: &["both"], follows: Follows::All, target: "" },
    Variant {
        name: "`watch both` of another UDP port",
        args: &["both"],
        follows: Follows::None,
        target: BYSTANDER,
    },
];
const UNIX: &[Variant] = &[
    CONTROL,
    Variant { name: "`watch rx --unix`", args: &["rx", "--unix"], follows: Follows::All, target: "" },
    Variant { name: "`watch both --unix`", args: &["both", "--unix"], follows: Follows::All, target: "" },
    Variant {
        name: "`watch both --unix` of another process",
        args: &["both", "--unix"],
        follows: Follows::None,
        target: BYSTANDER,
    },
];
/// The last one is long: with that budget a sample comes every few seconds.
const LOADS: [Load; 5] = [
    Load { name: "redis, GET", over: Over::Tcp, requests: 150_000, pipelined: 1, variants: ALL },
    Load { name: "redis, GET, -P 16", over: Over::Tcp, requests: 1_000_000, pipelined: 16, variants: ALL },
    Load {
        name: "redis, GET, Unix socket",
        over: Over::Unix,
        requests: 150_000,
        pipelined: 1,
        variants: UNIX,
    },
    Load { name: "memcached, version, UDP", over: Over::Udp, requests: 150_000, pipelined: 1, variants: UDP },
    Load {
        name: "redis, GET, turns of some 8 s",
        over: Over::Tcp,
        requests: 600_000,
        pipelined: 1,
        variants: SAMPLED,
    },
];

/// What a turn was like.
#[derive(Clone, Copy)]
struct Turn {
    cpu_ns: f64,
    p99: f64,
}

fn main() -> Result<(), Failure> {
    println!(
        "| load | beside it | CPU time per request, both ends | p99 of the client | target |\n|---|---|---|---|---|"
    );
    let cpus = spread(1)?;
    for load in &LOADS {
        match Server::start(load.over, cpus.reader)? {
            Some(server) => row(load, &server, cpus.senders[0])?,
            None => println!("| {}: the server is not installed | | | | |", load.name),
        }
    }
    Ok(())
}

/// The rows of a load, once all its rounds are over.
fn row(load: &Load, server: &Server, cpu: usize) -> Result<(), Failure> {
    let mut ratios = vec![(Vec::new(), Vec::new()); load.variants.len()];
    let mut bare_ns = Vec::new();
    for round in 0..ROUNDS {
        let mut order: Vec<Option<usize>> =
            [None].into_iter().chain((0..load.variants.len()).map(Some)).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        let mut turns = vec![None; order.len()];
        for variant in order {
            let turn = server.turn(load, variant.map(|at| &load.variants[at]), cpu)?;
            turns[variant.map_or(0, |at| at + 1)] = turn;
        }
        let Some(bare) = turns[0] else { continue };
        bare_ns.push(bare.cpu_ns);
        for (ratios, turn) in ratios.iter_mut().zip(&turns[1..]) {
            let Some(turn) = turn else { continue };
            ratios.0.push(turn.cpu_ns / bare.cpu_ns);
            ratios.1.push(turn.p99 / bare.p99);
        }
    }
    let bare_us = median(&bare_ns).ok_or("too few rounds")?.value / 1e3;
    for (variant, (cpu, p99)) in load.variants.iter().zip(&ratios) {
        let written = |m: Median| format!("{:.3} ({:.3} to {:.3})", m.value, m.low, m.high);
        let [cpu, p99] =
            [cpu, p99].map(|ratios| median(ratios).map_or_else(|| "too few turns".into(), written));
        println!(
            "| {} | {} | {cpu} of {bare_us:.1} µs | {p99} | {} |",
            load.name, variant.name, variant.target
        );
    }
    Ok(())
}

/// A server, ended with this value.
struct Server {
    child: Killed,
    port: u16,
    dir: TempDir,
    /// Of a port that is not the server's.
    other: UdpSocket,
}

impl Server {
    /// `None` where it is not installed.
    fn start(over: Over, cpu: usize) -> Result<Option<Self>, Failure> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let dir = tempfile::tempdir()?;
        let words = match over {
            Over::Udp => format!("memcached -l 127.0.0.1 -p {port} -U {port} -u nobody -t 1"),
            _ => format!("redis-server --bind 127.0.0.1 --port {port} --unixsocket socket --save"),
        };
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().ok_or("no server")?);
        command.args(words).args((over != Over::Udp).then_some("")).current_dir(&dir);
        let child = match pinned(cpu, command.stdout(Stdio::null())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            child => child?,
        };
        let server = Self { child: Killed(child), port, dir, other: UdpSocket::bind("127.0.0.1:0")? };
        until("the server", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())?;
        Ok(Some(server))
    }

    /// All requests of a load, on that CPU, with or without `watch` beside them; `None` where `watch` did not see what it
    /// was to see.
    fn turn(&self, load: &Load, beside: Option<&Variant>, cpu: usize) -> Result<Option<Turn>, Failure> {
        let kept = tempfile::tempdir()?;
        let watched = beside.filter(|variant| !variant.args.is_empty());
        let watch = watched.map(|variant| self.watch(load.over, variant, kept.path())).transpose()?;
        let before = self.cpu_ns()?;
        let client = if load.over == Over::Udp { self.ask(load, cpu)? } else { self.benchmark(load, cpu)? };
        let server_ns = self.cpu_ns()? - before;
        if let (Some(watch), Some(variant)) = (watch, watched) {
            let seen = watch.end()?;
            // Certain tasks of some machines keep programs off their CPU.
            let least = match variant.follows {
                Follows::All => u64::from(load.requests / load.pipelined) * 9 / 10,
                Follows::Samples => 1,
                Follows::None => 0,
            };
            if seen < least || variant.follows == Follows::None && seen > 0 {
                eprintln!("{}, {}: left out, {seen} messages were seen", load.name, variant.name);
                return Ok(None);
            }
        }
        let cpu_ns = (server_ns as f64 + client.cpu_ns) / f64::from(load.requests);
        Ok(Some(Turn { cpu_ns, ..client }))
    }

    /// Of all its threads.
    fn cpu_ns(&self) -> Result<u64, Failure> {
        let mut sum = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            sum += run_times(thread?.file_name().to_string_lossy().parse()?)?.on_cpu_ns;
        }
        Ok(sum)
    }

    fn benchmark(&self, load: &Load, cpu: usize) -> Result<Turn, Failure> {
        let mut client = Command::new("redis-benchmark");
        match load.over {
            Over::Unix => client.arg("-s").arg(self.dir.path().join("socket")),
            _ => client.args(["-p", &self.port.to_string()]),
        };
        client.args(["-t", "get", "-c", &CONNECTIONS.to_string(), "--csv", "--precision", "3"]);
        client.args(["-n", &load.requests.to_string(), "-P", &load.pipelined.to_string()]);
        let mut client = pinned(cpu, client.stdout(Stdio::piped()).stderr(Stdio::null()))?;
        let printed = io::read_to_string(client.stdout.take().ok_or("no output of the client")?)?;
        let usage = reap(client)?.usage;
        Ok(Turn { cpu_ns: (usage.user_ns + usage.system_ns) as f64, p99: p99(&printed)? })
    }

    /// No load generator for memcached speaks UDP: one request by each of several sockets, then the answers.
    fn ask(&self, load: &Load, cpu: usize) -> Result<Turn, Failure> {
        let ask = || -> io::Result<Turn> {
            cpu::pin(cpu).map_err(io::Error::other)?;
            let mut sockets = Vec::new();
            for _ in 0..CONNECTIONS {
                let socket = UdpSocket::bind("127.0.0.1:0")?;
                socket.connect((Ipv4Addr::LOCALHOST, self.port))?;
                socket.set_read_timeout(Some(PATIENCE))?;
                sockets.push(socket);
            }
            let (mut times, mut again, before) = (Vec::new(), 0, thread_time_ns());
            for _ in 0..load.requests / CONNECTIONS {
                let mut sent = Vec::new();
                for socket in &sockets {
                    sent.push(Instant::now());
                    socket.send(REQUEST)?;
                }
                for (socket, sent) in sockets.iter().zip(sent) {
                    while let Err(e) = socket.recv(&mut [0; 100]) {
                        // It was lost, or its answer.
                        if e.kind() != io::ErrorKind::WouldBlock || again == MOST_AGAIN {
                            return Err(e);
                        }
                        again += 1;
                        socket.send(REQUEST)?;
                    }
                    times.push(sent.elapsed().as_secs_f64() * 1e3);
                }
            }
            let cpu_ns = (thread_time_ns() - before) as f64;
            if again > 0 {
                eprintln!("{}: {again} requests were lost and sent again", load.name);
            }
            times.sort_by(f64::total_cmp);
            Ok(Turn { cpu_ns, p99: times[times.len() * 99 / 100] })
        };
        let asked = thread::scope(|scope| scope.spawn(ask).join());
        Ok(asked.map_err(|_| "the client ended")??)
    }

    fn watch(&self, over: Over, variant: &Variant, out: &Path) -> Result<Watch, Failure> {
        let own = variant.follows != Follows::None;
        let (target, of) = match over {
            Over::Unix => ("--pid", if own { self.child.id() } else { std::process::id() }),
            _ => ("--port", if own { self.port } else { self.other.local_addr()?.port() }.into()),
        };
        let mut command = Command::new(NETFATHOM);
        command.arg("watch").args(variant.args).args([target, &of.to_string(), "--json", "--out"]).arg(out);
        let watch = Watch(Killed(command.stdout(Stdio::piped()).spawn()?));
        until("the programs of watch", || watch.is_attached())?;
        thread::sleep(ATTACHING);
        Ok(watch)
    }
}

struct Watch(Killed);

impl Watch {
    /// Whether it has a program at a hook.
    fn is_attached(&self) -> bool {
        let infos = fs::read_dir(format!("/proc/{}/fdinfo", self.0.id())).into_iter().flatten().flatten();
        infos
            .into_iter()
            .any(|info| fs::read_to_string(info.path()).is_ok_and(|text| text.contains("link_id")))
    }

    /// How many messages it has seen.
    fn end(mut self) -> Result<u64, Failure> {
        child::interrupt(&mut self.0)?;
        let printed = io::read_to_string(self.0.stdout.take().ok_or("no output of watch")?)?;
        let record: Record = serde_json::from_str(&printed)?;
        let result = WatchResult::of(&record.measurement).ok_or("no record of watch")?;
        Ok(result.account.seen)
    }
}

/// The 99th percentile, in milliseconds: the seventh column of `--csv`, by its name.
fn p99(csv: &str) -> Result<f64, Failure> {
    let mut lines = csv.lines().map(|line| line.split(',').map(|word| word.trim_matches('"')));
    let at = lines.next().and_then(|mut names| names.position(|name| name == "p99_latency_ms"));
    let value = at.zip(lines.next()).and_then(|(at, mut values)| values.nth(at)?.parse().ok());
    value.ok_or_else(|| format!("no p99_latency_ms: {csv}").into())
}

/// Starts a program on a CPU, which it inherits from a thread.
fn pinned(cpu: usize, command: &mut Command) -> io::Result<Child> {
    let start = move || -> io::Result<Child> {
        cpu::pin(cpu).map_err(io::Error::other)?;
        command.spawn()
    };
    thread::scope(|scope| scope.spawn(start).join().map_err(|_| io::Error::other("a thread ended"))?)
}

fn until(what: &str, is: impl Fn() -> bool) -> Result<(), Failure> {
    let since = Instant::now();
    while !is() {
        if since.elapsed() > PATIENCE {
            return Err(format!("{what} did not come up").into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
