//! Pairs of sockets of libzmq and nng: a program in C is made for each, which takes turns with the library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netfathom_model::plan::MessageTest;
use netfathom_model::record::ProcessorPair;

use super::{Failure, Figure, run};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/message/pairs.c");
/// The length of a trial, as long as that of the library's at least.
const LENGTH_MS: &str = "500";

struct Library {
    name: &'static str,
    file: &'static str,
    package: &'static str,
    option: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library { name: "libzmq", file: "-l:libzmq.so.5", package: "libzmq5", option: "-DZMQ" },
    Library { name: "nng", file: "-l:libnng.so.1", package: "libnng1", option: "-DNNG" },
];

/// Prints the library's figures beside those of each pair, on one processor and on two.
pub fn compare(test: MessageTest, sizes: &str, figures: &[Figure], rounds: u32) -> Result<(), Failure> {
    let made = tempfile::tempdir()?;
    for library in &LIBRARIES {
        let Some(program) = make(library, made.path())? else {
            eprintln!("without {}: it is not installed (apt install {})", library.name, library.package);
            continue;
        };
        for size in sizes.split(',') {
            for processors in ["same", "cross"] {
                beside(library, &program, test, size, processors, figures, rounds)?;
            }
        }
    }
    Ok(())
}

/// The program of a library; `None` where the library cannot be linked.
fn make(library: &Library, at: &Path) -> Result<Option<PathBuf>, Failure> {
    let program = at.join(library.name);
    let compiler = Command::new("cc")
        .args(["-O2", library.option, "-o"])
        .args([&program, Path::new(SOURCE)])
        .arg(library.file)
        .stderr(Stdio::null())
        .status()?;
    Ok(compiler.success().then_some(program))
}

fn beside(
    library: &Library,
    program: &Path,
    test: MessageTest,
    size: &str,
    processors: &str,
    figures: &[Figure],
    rounds: u32,
) -> Result<(), Failure> {
    let least = format!("{LENGTH_MS}ms");
    let options = [
        "--layers",
        "adaptive",
        "--sizes",
        size,
        "--trials",
        "1",
        "--no-remedies",
        "--cpu-pairs",
        processors,
    ];
    let options = [&options[..], &["--min-time", &least]].concat();
    let (bytes, pair) = match run::message(test, &options) {
        Ok(result) => (result.cells.first().map_or(0, |cell| cell.bytes), result.pairs[0]),
        // On a machine with one processor there is no other pair.
        Err(error) => {
            eprintln!("{}, {size} B, {processors}: {error}", test.name());
            return Ok(());
        }
    };
    let ours = || {
        let result = run::message(test, &options)?;
        let trial = result.cells.first().and_then(|cell| cell.trials.first()).ok_or("no trial")?;
        figures.iter().map(|figure| (figure.of)(trial).ok_or_else(|| "no figure".into())).collect()
    };
    let ratios = run::take_turns(rounds, ours, || theirs(program, test, bytes, pair))?;
    for (figure, ratio) in figures.iter().zip(ratios) {
        println!(
            "| {}, {bytes} B, {}: {} | {:.2} times {} ({:.2} to {:.2}) | {} |",
            test.name(),
            pair.shares.name(),
            figure.name,
            ratio.value,
            library.name,
            ratio.low,
            ratio.high,
            aim(test, bytes, library.name, figure.name)
        );
    }
    Ok(())
}

/// What a program prints: the rate, or median and 99th percentile.
fn theirs(program: &Path, test: MessageTest, bytes: u64, pair: ProcessorPair) -> Result<Vec<f64>, Failure> {
    let [bytes, client, server] = [bytes.to_string(), pair.client.to_string(), pair.server.to_string()];
    let words = [test.name(), &bytes, LENGTH_MS, &client, &server];
    let output = Command::new(program).args(words).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    if !output.status.success() {
        return Err(format!("{} ended: {}", program.display(), output.status).into());
    }
    Ok(figures?)
}

fn aim(test: MessageTest, bytes: u64, library: &str, figure: &str) -> &'static str {
    match (library, test, bytes, figure) {
        ("libzmq", MessageTest::Oneway, 4, _) => "at least 3",
        ("libzmq", MessageTest::Pingpong, _, "median") => "at most 0.33",
        _ => "",
    }
}
