//! sockperf, a program that measures round trips: it and the library take turns.

use std::io::ErrorKind;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use netfathom_measure::ground::processors::spread;
use netfathom_model::plan::MessageTest;
use netfathom_sys::cpu;
use netfathom_testkit::Killed;

use super::{AS_GOOD, Failure, run};

const PORT: &str = "19871";
const HOST: &str = "127.0.0.1";
/// Its shortest message has 14 bytes. As with bare sockets, four are the header of a body.
const SIZES: [u32; 3] = [64, 256, 1024];
const HEADER_BYTES: u32 = 4;
/// Its server says nothing when it listens.
const SETTLE: Duration = Duration::from_millis(500);

/// Prints the library's times beside sockperf's, each end on a processor of its own.
pub fn compare(rounds: u32) -> Result<(), Failure> {
    let cpus = spread(1)?;
    let server = start(cpus.reader, &["server", "--tcp", "-i", HOST, "-p", PORT]);
    let server = match server {
        Ok(child) => Killed(child),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("without sockperf: it is not installed (apt install sockperf)");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    thread::sleep(SETTLE);
    for bytes in SIZES {
        let ratios = run::take_turns(rounds, || ours(bytes), || theirs(cpus.senders[0], bytes))?;
        for (name, ratio) in ["median", "p99"].into_iter().zip(ratios) {
            println!(
                "| pingpong, {bytes} B, each end on a processor of its own: {name} | {:.2} times sockperf ({:.2} to {:.2}) | at most {AS_GOOD:.1} |",
                ratio.value, ratio.low, ratio.high
            );
        }
    }
    drop(server);
    Ok(())
}

/// Starts sockperf on a processor, which it inherits.
fn start(processor: usize, words: &[&str]) -> std::io::Result<Child> {
    thread::scope(|scope| {
        let start = || {
            cpu::pin(processor).map_err(std::io::Error::other)?;
            Command::new("sockperf")
                .args(words)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        };
        scope.spawn(start).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Median and 99th percentile of a round trip with the library, in microseconds.
fn ours(bytes: u32) -> Result<Vec<f64>, Failure> {
    let bytes = bytes.to_string();
    let options = [
        "--layers",
        "adaptive",
        "--sizes",
        &bytes,
        "--trials",
        "1",
        "--min-time",
        "500ms",
        "--cpu-pairs",
        "cross",
    ];
    let result = run::message(MessageTest::Pingpong, &options)?;
    let trial = result.cells.first().and_then(|cell| cell.trials.first()).ok_or("no trial")?;
    Ok([trial.p50_ns, trial.p99_ns].map(|ns| ns as f64 / 1e3).into())
}

/// The same with sockperf, which by itself halves them: --full-rtt has it not.
fn theirs(processor: usize, bytes: u32) -> Result<Vec<f64>, Failure> {
    let size = (bytes + HEADER_BYTES).to_string();
    let words = ["ping-pong", "--tcp", "--full-rtt", "-i", HOST, "-p", PORT, "-t", "1", "-m", &size];
    let output = start(processor, &words)?.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let percentile = |name: &str| -> Result<f64, Failure> {
        let line = text
            .lines()
            .find(|line| line.contains(name))
            .ok_or_else(|| format!("sockperf says no {name}"))?;
        Ok(line.rsplit('=').next().unwrap_or_default().trim().parse()?)
    };
    Ok(vec![percentile("percentile 50.000")?, percentile("percentile 99.000")?])
}
