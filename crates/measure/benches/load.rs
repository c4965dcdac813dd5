//! How many messages the engines send, as ratios within one run, beside the generators that
//! Debian packages. Prints a table in Markdown.
//!
//! Every rate is that of the packets which the receiving device counts in a stretch of the
//! run, whoever sends them. Contenders take turns, in an order that is mirrored each round,
//! so that what drifts on the machine drifts for all; medians over the rounds, with the
//! interval of the sign test.

use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::ground::lab::Role;
use netfathom_measure::ground::observer::Live;
use netfathom_measure::ground::processors::{Cpus, spread};
use netfathom_measure::ground::rig::Rig;
use netfathom_measure::load::engine;
use netfathom_measure::load::flight::Departures;
use netfathom_measure::load::sender::{SenderPlan, SenderTask, send_all};
use netfathom_measure::load::shot::{Shot, ShotOutcome};
use netfathom_measure::load::window::Windows;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::message::Header;
use netfathom_model::plan::{Family, Place, Spin, Transport};
use netfathom_model::profile::Profile;
use netfathom_stats::{Median, median};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::{counters, cpu};

const ROUNDS: usize = 8;
const SIZE: usize = 64;
/// A contender has started once this many packets arrived, within this time.
const BEGUN: u64 = 2000;
const PATIENCE: Duration = Duration::from_secs(6);
/// From there to the stretch that counts, and that stretch.
const RUN_UP: Duration = Duration::from_millis(300);
const COUNTED: Duration = Duration::from_millis(600);

/// Length of a burst of the bookkeeping's comparison.
const BURST_NS: u64 = 300_000_000;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    println!("| what | measured | target |\n|---|---|---|");
    let bench = Bench { rig: Rig::build(Place::Lab, Family::Ipv4)?, cpus: spread(1)? };
    let rates = bench.rounds()?;
    against_peers(&rates);
    against_send(&rates);
    bench.start_error()?;
    bench.bookkeeping()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Contender {
    Own(Engine),
    Iperf3,
    Sockperf,
    Nuttcp,
}

const CONTENDERS: [Contender; 8] = [
    Contender::Own(Engine::Send),
    Contender::Own(Engine::Sendmmsg),
    Contender::Own(Engine::Gso),
    Contender::Own(Engine::AfXdp),
    Contender::Own(Engine::Xdp),
    Contender::Iperf3,
    Contender::Sockperf,
    Contender::Nuttcp,
];

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::Own(engine) => engine.name(),
            Self::Iperf3 => "iperf3 -u",
            Self::Sockperf => "sockperf tp",
            Self::Nuttcp => "nuttcp -u",
        }
    }

    /// The commands of a peer at the receiving and at the sending host; `None` of our own.
    fn commands(self) -> Option<(Vec<&'static str>, Vec<&'static str>)> {
        let split = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        Some(match self {
            Self::Own(_) => return None,
            Self::Iperf3 => (split("iperf3 -s -1"), split("iperf3 -c 198.18.0.2 -u -b 0 -l 64 -t 9")),
            Self::Sockperf => (
                split("sockperf sr -i 198.18.0.2 -p 11111"),
                split("sockperf tp -i 198.18.0.2 -p 11111 -m 64 -t 9"),
            ),
            Self::Nuttcp => (split("nuttcp -1"), split("nuttcp -u -Ru -l64 -T9 198.18.0.2")),
        })
    }
}

/// Rates of one contender, round by round; `None` where it is not installed.
struct Rates(Vec<(Contender, Option<Vec<f64>>)>);

impl Rates {
    fn of(&self, contender: Contender) -> Option<&[f64]> {
        self.0.iter().find(|(c, _)| *c == contender)?.1.as_deref()
    }

    fn ratio(&self, a: Contender, b: Contender) -> Option<Median> {
        let ratios: Vec<f64> = self.of(a)?.iter().zip(self.of(b)?).map(|(a, b)| a / b).collect();
        median(&ratios)
    }
}

fn shown(ratio: Option<Median>, to: &str) -> String {
    ratio.map_or_else(
        || "not measured".into(),
        |r| format!("{:.2} times {to} ({:.2} to {:.2})", r.value, r.low, r.high),
    )
}

fn against_peers(rates: &Rates) {
    let peers = [Contender::Iperf3, Contender::Sockperf, Contender::Nuttcp];
    let middle = |c: &Contender| rates.of(*c).and_then(median).map_or(0.0, |m| m.value);
    let best = peers.into_iter().max_by(|a, b| middle(a).total_cmp(&middle(b)));
    for engine in [Engine::Send, Engine::Sendmmsg] {
        let own = Contender::Own(engine);
        for peer in peers {
            let target = if Some(peer) == best { "at least 1.0, the best of them" } else { "" };
            let absent = rates.of(peer).is_none();
            let ratio =
                if absent { "not installed".into() } else { shown(rates.ratio(own, peer), peer.name()) };
            println!("| {}, {SIZE} B | {ratio} | {target} |", engine.name());
        }
    }
}

fn against_send(rates: &Rates) {
    let send = Contender::Own(Engine::Send);
    for (engine, target) in [
        (Engine::Sendmmsg, ""),
        (Engine::Gso, "at least 2.5"),
        (Engine::AfXdp, "at least 2"),
        (Engine::Xdp, "at least 4"),
    ] {
        let own = Contender::Own(engine);
        println!("| {}, {SIZE} B | {} | {target} |", engine.name(), shown(rates.ratio(own, send), "send"));
    }
    let middle = rates.of(send).and_then(median).map_or(0.0, |m| m.value);
    println!("| send, {SIZE} B | {middle:.0} messages a second here | |");
}

struct Bench {
    rig: Rig,
    cpus: Cpus,
}

impl Bench {
    fn rounds(&self) -> Result<Rates, Failure> {
        let mut rates: Vec<(Contender, Option<Vec<f64>>)> =
            CONTENDERS.into_iter().map(|c| (c, is_here(c).then(Vec::new))).collect();
        for round in 0..ROUNDS {
            let mut order: Vec<usize> = (0..rates.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for i in order {
                let contender = rates[i].0;
                if let Some(list) = &mut rates[i].1 {
                    list.push(self.rate(contender)?);
                    eprintln!("round {round}: {} {:.0}", contender.name(), list[list.len() - 1]);
                }
            }
        }
        Ok(Rates(rates))
    }

    fn rate(&self, contender: Contender) -> Result<f64, Failure> {
        let Some((server, client)) = contender.commands() else {
            let Contender::Own(engine) = contender else { unreachable!("peers have commands") };
            return self.own_rate(engine);
        };
        let mut server = Guard(self.start(Role::Reader, &server)?);
        thread::sleep(Duration::from_millis(300));
        let mut client = Guard(self.start(Role::Sender, &client)?);
        let rate = self.counted();
        client.end();
        server.end();
        rate
    }

    fn own_rate(&self, engine: Engine) -> Result<f64, Failure> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let flying = scope.spawn(|| self.fly(engine, Departures::FlatOut, 9_000_000_000, &stop));
            let rate = self.counted();
            stop.store(true, Relaxed);
            flying.join().map_err(|_| "the flight panicked")?.map_err(|e| e.to_string())?;
            rate
        })
    }

    fn fly(
        &self,
        engine: Engine,
        departures: Departures<'_>,
        duration_ns: u64,
        stop: &AtomicBool,
    ) -> Result<ShotOutcome, netfathom_measure::load::error::FlightError> {
        let live = Live::default();
        let shot = self.shot(engine, engine.matching_receive(), stop, &live);
        shot.fly(duration_ns, departures)
    }

    /// Packets a second that the receiving device counts in the stretch.
    fn counted(&self) -> Result<f64, Failure> {
        // Some warm up for seconds before they send.
        let (first, deadline) = (self.packets_in()?, Instant::now() + PATIENCE);
        while self.packets_in()? < first + BEGUN && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(RUN_UP);
        let before = (Instant::now(), self.packets_in()?);
        thread::sleep(COUNTED);
        let after = (Instant::now(), self.packets_in()?);
        Ok((after.1 - before.1) as f64 / (after.0 - before.0).as_secs_f64())
    }

    fn packets_in(&self) -> Result<u64, Failure> {
        let name = self.rig.device_names().1.ok_or("no device")?;
        let all = self.rig.at(Role::Reader, counters::read)??;
        Ok(all.devices.get(&name).ok_or("no counters")?.rx_packets)
    }

    /// A peer's program at one of the hosts, on the processor that ours would have.
    fn start(&self, role: Role, command: &[&str]) -> Result<Child, Failure> {
        let cpu = if role == Role::Sender { self.cpus.senders[0] } else { self.cpus.reader };
        let started = self.rig.at(role, || -> std::io::Result<Child> {
            // The child inherits both from this thread.
            cpu::pin(cpu).map_err(std::io::Error::other)?;
            Command::new(command[0])
                .args(&command[1..])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        })?;
        Ok(started?)
    }

    /// How late messages leave at 100,000 a second, and whether all do.
    fn start_error(&self) -> Result<(), Failure> {
        let profile: Profile = "constant:100k/3s".parse()?;
        let stop = AtomicBool::new(false);
        let outcome =
            self.fly(Engine::Send, Departures::Planned(&profile, 1), profile.duration_ns(), &stop)?;
        let lag = &outcome.sent.lag.distribution;
        let quantile = |q| lag.quantile(q).unwrap_or(0);
        println!(
            "| start error at 100,000 a second | p50 {} ns, p99 {} ns | p50 under 200 ns, p99 under 2 us |",
            quantile(0.5),
            quantile(0.99)
        );
        println!(
            "| rate reached of 100,000 a second planned | {:.3} % | within 0.1 % |",
            outcome.sent.per_s() / 1000.0
        );
        Ok(())
    }

    /// What the sender's own work costs: schedule, stamps and histograms, against a loop that
    /// does nothing but send.
    fn bookkeeping(&self) -> Result<(), Failure> {
        for engine in [Engine::Send, Engine::Xdp] {
            let mut ratios = Vec::new();
            for round in 0..2 * ROUNDS {
                let [first, second] = if round % 2 == 0 { [false, true] } else { [true, false] };
                let (a, b) = (self.flat_out(engine, first)?, self.flat_out(engine, second)?);
                ratios.push(if first { a / b } else { b / a });
            }
            let kept = median(&ratios).ok_or("too few rounds")?;
            println!(
                "| schedule, stamps and histograms, engine {} | {:.1} % of the bare rate ({:.1} to {:.1}) | under 5 % |",
                engine.name(),
                100.0 * (1.0 - kept.value),
                100.0 * (1.0 - kept.high),
                100.0 * (1.0 - kept.low)
            );
        }
        Ok(())
    }

    /// Messages a second without pauses, by the sender's loop or by a bare one. No program reads them,
    /// so only the sender counts.
    fn flat_out(&self, engine: Engine, kept: bool) -> Result<f64, Failure> {
        let (stop, live) = (AtomicBool::new(false), Live::default());
        let receive = if engine == Engine::Xdp { Receive::Xdp } else { Receive::Recvmmsg };
        let shot = self.shot(engine, receive, &stop, &live);
        let reader = self.rig.reader_socket(0)?;
        let address = reader.local_addr()?;
        let _far = shot.far_end(reader, u64::MAX >> 1)?;
        let socket = self.rig.sender_socket(address)?;
        let mut engine = shot.engine(0, &socket, address)?;
        let cpu = self.cpus.senders[0];
        thread::scope(|scope| {
            let sending = scope.spawn(move || {
                cpu::pin(cpu).map_err(|e| e.to_string())?;
                Ok::<f64, String>(if kept {
                    kept_loop(&mut *engine)
                } else {
                    bare_loop(&mut *engine, &socket)
                })
            });
            Ok(sending.join().map_err(|_| "the sender panicked")??)
        })
    }

    fn shot<'a>(
        &'a self,
        engine: Engine,
        receive: Receive,
        stop: &'a AtomicBool,
        live: &'a Live,
    ) -> Shot<'a> {
        Shot {
            rig: &self.rig,
            engine,
            transport: Transport::Udp,
            receive,
            cpus: &self.cpus,
            size: SIZE,
            port: 0,
            spin: Spin::Auto,
            echo: false,
            flow: 7,
            stop,
            live,
            log: None,
            contention: None,
        }
    }
}

fn kept_loop(engine: &mut dyn engine::Engine) -> f64 {
    let windows = Windows { start_ns: monotonic_ns(), shift: Windows::shift_for(BURST_NS) };
    let [stop, gone] = [const { AtomicBool::new(false) }; 2];
    let plan = SenderPlan::single(7, windows, windows.start_ns + BURST_NS, Spin::Auto);
    let task = SenderTask { plan, stop: &stop, gone: &gone, live: &Live::default() };
    let sent = send_all(&task, std::iter::repeat_n(0, usize::MAX), engine, &mut ());
    sent.accepted as f64 * 1e9 / BURST_NS as f64
}

/// The clock is read once in 64 calls, for the end.
fn bare_loop(engine: &mut dyn engine::Engine, socket: &UdpSocket) -> f64 {
    let started_ns = monotonic_ns();
    let header = |sequence| Header { flow: 7, sequence, intended_ns: 0, sent_ns: 0 };
    let mut batch: Vec<Header> = (0..engine.most() as u64).map(header).collect();
    let payload = [0; SIZE];
    let mut sent = 0;
    while monotonic_ns() < started_ns + BURST_NS {
        for _ in 0..64 {
            if engine.most() == 1 {
                sent += usize::from(socket.send(&payload).is_ok());
            } else {
                sent += engine.send(&mut batch).accepted;
            }
        }
    }
    sent as f64 * 1e9 / (monotonic_ns() - started_ns) as f64
}

fn is_here(contender: Contender) -> bool {
    let Some((server, _)) = contender.commands() else { return true };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(server[0]).exists())
}

/// A program of ours that ends when it is not needed any more.
struct Guard(Child);

impl Guard {
    fn end(&mut self) {
        // One that has ended by itself is no error.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}
