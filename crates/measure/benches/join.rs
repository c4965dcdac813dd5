//! How fast a capture and a log are joined, as ratios within one run, compared with other programs that
//! read captures. Prints a table in Markdown.
//!
//! Each contender is a process of its own on one CPU, with its files in the page cache. The order of
//! the contenders is mirrored each round. Results are medians over the rounds, with the interval of the
//! sign test.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use netfathom_capture::log::{Columns, LogEntry, LogFormat, LogWriter};
use netfathom_capture::packet::LinkType;
use netfathom_capture::write::PcapWriter;
use netfathom_measure::kind::join;
use netfathom_model::message::Header;
use netfathom_model::plan::{ClockChoice, JoinPlan, Numbering};
use netfathom_model::record::PacketKind;
use netfathom_stats::median;
use netfathom_sys::cpu;

const ROUNDS: usize = 7;
const MANY: u64 = 5_000_000;
const FEW: u64 = 1_000_000;
/// tshark would take minutes for all.
const SLICE: u64 = 200_000;
/// Names this program as the contender that joins.
const CHILD: &str = "NETFATHOM_BENCH_JOIN";
const AHEAD_NS: u64 = 1_763_000_000_000_000_000;
/// Ethernet, IPv4, UDP, and a payload of 64 bytes.
const FRAME_BYTES: usize = 106;
/// The size of a block, as the load writes them.
const BLOCK: u64 = 4096;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    if let Some(dir) = std::env::var_os(CHILD) {
        return contender(Path::new(&dir));
    }
    let cpus = cpu::allowed()?;
    cpu::pin(*cpus.last().ok_or("no processor")?)?;
    let dir = tempfile::tempdir()?;
    for n in [MANY, FEW, SLICE] {
        make(&dir.path().join(n.to_string()), n)?;
    }
    println!("| what | measured | target |\n|---|---|---|");
    let at = |n: u64| dir.path().join(n.to_string());
    against_tcpdump(&at(MANY))?;
    against_tshark(&at(SLICE))?;
    memory(&at(MANY), &at(FEW))
}

/// Writes a capture and a log of `n` messages, 1 us apart.
fn make(dir: &Path, n: u64) -> Result<(), Failure> {
    fs::create_dir(dir)?;
    let capture = BufWriter::with_capacity(1 << 20, File::create(dir.join("capture.pcap"))?);
    let mut capture = PcapWriter::new(capture, LinkType::Ethernet, 128)?;
    let mut log = LogWriter::new(File::create(dir.join("messages.log"))?, LogFormat::Binary, Columns::SENT)?;
    let mut frame = [0; FRAME_BYTES];
    frame[..42].copy_from_slice(&headers());
    let mut block = Vec::new();
    for sequence in 0..n {
        let sent_ns = 1_000_000_000 + 1000 * sequence;
        Header { flow: 7, sequence, intended_ns: sent_ns, sent_ns }.write(&mut frame[42..]);
        // Stack times of 2 to 4 us, with a tail.
        let noise = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let took_ns = 2_000 + noise % 2_000 + if noise % 1000 == 0 { 300_000 } else { 0 };
        capture.packet(AHEAD_NS + sent_ns + took_ns, FRAME_BYTES as u32, &frame)?;
        block.push(LogEntry { sequence, intended_ns: sent_ns, sent_ns, received_ns: 0 });
        if block.len() as u64 == BLOCK || sequence + 1 == n {
            log.write_clock(sent_ns, AHEAD_NS as i64)?;
            log.write_block(7, &block)?;
            block.clear();
        }
    }
    capture.finish()?;
    log.finish()?;
    Ok(())
}

/// Ethernet, IPv4 and UDP of a message of 64 bytes.
fn headers() -> [u8; 42] {
    let mut headers = [0; 42];
    headers[12..14].copy_from_slice(&[0x08, 0x00]);
    headers[14..34].copy_from_slice(&[0x45, 0, 0, 92, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    headers[34..42].copy_from_slice(&[0x10, 0, 0x23, 0x28, 0, 72, 0, 0]);
    headers
}

fn joining(dir: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(CHILD, dir);
    Ok(command)
}

fn tcpdump(dir: &Path) -> Command {
    let mut command = Command::new("tcpdump");
    command.arg("-r").arg(dir.join("capture.pcap")).args(["-w", "/dev/null"]);
    command
}

fn tshark(dir: &Path) -> Command {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(dir.join("capture.pcap")).args(["-n", "-T", "fields"]);
    for field in ["frame.time_epoch", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.payload"] {
        command.args(["-e", field]);
    }
    command
}

/// Seconds that a process takes; `None` where there is no such program.
fn seconds(command: &mut Command) -> Result<Option<f64>, Failure> {
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(Some(started.elapsed().as_secs_f64())),
        Ok(status) => Err(format!("{command:?}: {status}").into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// How many times longer the second takes than the first, round by round, and the seconds of both.
fn compare(mut own: Command, mut other: Command) -> Result<Option<[Vec<f64>; 3]>, Failure> {
    let [mut ratios, mut owns, mut others] = [const { Vec::new() }; 3];
    // The first of each finds its program and its files in no cache.
    seconds(&mut own)?;
    seconds(&mut other)?;
    for round in 0..ROUNDS {
        let first = if round % 2 == 0 { seconds(&mut own)? } else { None };
        let Some(b) = seconds(&mut other)? else { return Ok(None) };
        let a = if first.is_none() { seconds(&mut own)? } else { first };
        let a = a.ok_or("this program is gone")?;
        eprintln!("round {round}: own {a:.3} s, other {b:.3} s");
        ratios.push(b / a);
        owns.push(a);
        others.push(b);
    }
    Ok(Some([ratios, owns, others]))
}

fn print_ratio(what: &str, ratios: &[f64], than: &str, target: &str) {
    let ratio = median(ratios).map_or_else(
        || "too few rounds".into(),
        |m| format!("{:.2} times {than} ({:.2} to {:.2})", m.value, m.low, m.high),
    );
    println!("| {what} | {ratio} | {target} |");
}

fn middle(values: &[f64]) -> f64 {
    median(values).map_or(0.0, |m| m.value)
}

fn against_tcpdump(dir: &Path) -> Result<(), Failure> {
    let Some([ratios, own, other]) = compare(joining(dir)?, tcpdump(dir))? else {
        println!("| join, 5 M packets | tcpdump is not installed | |");
        return Ok(());
    };
    print_ratio("join, 5 M packets a second", &ratios, "tcpdump -r -w /dev/null", "at least 1.0");
    let ns = |seconds: &[f64]| 1e9 * middle(seconds) / MANY as f64;
    println!("| time a packet | {:.0} ns; tcpdump {:.0} ns | |", ns(&own), ns(&other));
    Ok(())
}

fn against_tshark(dir: &Path) -> Result<(), Failure> {
    match compare(joining(dir)?, tshark(dir))? {
        Some([ratios, ..]) => {
            print_ratio("join, 200,000 packets a second", &ratios, "tshark -T fields", "at least 100")
        }
        None => println!("| join, 200,000 packets | tshark is not installed | |"),
    }
    Ok(())
}

fn memory(many: &Path, few: &Path) -> Result<(), Failure> {
    let peak = |dir: &Path| -> Result<f64, Failure> {
        let out = joining(dir)?.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        Ok(String::from_utf8(out.stdout)?.trim().parse()?)
    };
    let (many, few) = (peak(many)?, peak(few)?);
    println!(
        "| peak memory, 5 M packets | {:.2} times that of 1 M ({:.1} MB) | about 1 |",
        many / few,
        few / 1000.0
    );
    Ok(())
}

/// Joins, as `netfathom join` does, and prints the peak of its own memory in kB.
fn contender(dir: &Path) -> Result<(), Failure> {
    let name = |file: &str| dir.join(file).display().to_string();
    let plan = JoinPlan {
        captures: vec![name("capture.pcap")],
        logs: vec![name("messages.log")],
        numbering: Numbering::Netfathom,
        port: None,
        clock: ClockChoice::Stated,
        window: 65_536,
    };
    let done = join::run(&plan.validated()?, &mut (), &AtomicBool::new(false))?;
    let capture = &done.result.captures[0];
    let joined: u64 = capture.kinds.iter().filter(|k| k.kind == PacketKind::Joined).map(|k| k.count).sum();
    if joined != capture.packets || done.result.spans[0].times.n != joined {
        return Err(format!("only {joined} of {} packets were joined", capture.packets).into());
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    println!("{}", peak.trim().trim_end_matches(" kB"));
    Ok(())
}
