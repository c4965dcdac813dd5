//! How the message library does beside bare sockets, within one run, and beside other projects' libraries, in turns,
//! as ratios. Prints a table in Markdown; words behind `--` choose the rows that have
//! them in their names.
//!
//! The measurement is `netfathom message` itself: its layers are interleaved in an order that each round
//! shuffles anew; what is printed is made of its record alone: the ratio within each round, the
//! median over the rounds with the interval of the sign test. sockperf, libzmq and nng have rows of their own, in which
//! they and the library take turns as whole programs.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::MessageTest;
use netfathom_model::record::{MessageCell, MessageResult, MessageTrial};
use netfathom_stats::{Median, median};

mod pairs;
mod run;
mod sockperf;

const ROUNDS: u32 = 8;
/// Times may be so much longer than those of another program.
const AS_GOOD: f64 = 1.0;

type Failure = Box<dyn std::error::Error>;

/// What a row compares: a number of a trial.
struct Figure {
    name: &'static str,
    of: fn(&MessageTrial) -> Option<f64>,
}

const RATE: Figure = Figure { name: "rate", of: MessageTrial::per_s };
const MIDDLE: Figure = Figure { name: "median", of: |t| Some(t.p50_ns as f64) };
const TAIL: Figure = Figure { name: "p99", of: |t| Some(t.p99_ns as f64) };

fn main() -> Result<(), Failure> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("| what | measured | target |\n|---|---|---|");
    let tests: [(MessageTest, &str, &[Figure]); 3] = [
        (MessageTest::Oneway, "4,64,1024,16384", &[RATE]),
        (MessageTest::Pingpong, "4,64,256,1024", &[MIDDLE, TAIL]),
        (MessageTest::Post, "1k,8k,64k", &[RATE]),
    ];
    for (test, sizes, figures) in tests {
        if wanted.is_empty() || wanted.iter().any(|word| test.name().contains(word.as_str())) {
            compare(&run::layers(test, sizes, ROUNDS)?, figures);
            pairs::compare(test, sizes, figures, ROUNDS)?;
        }
    }
    if wanted.is_empty() || wanted.iter().any(|word| word == "sockperf") {
        sockperf::compare(ROUNDS)?;
    }
    Ok(())
}

/// Prints the library, as it is by itself, beside each of the others.
fn compare(result: &MessageResult, figures: &[Figure]) {
    let own = Layer::Library { strategy: Strategy::Adaptive };
    for ours in result.cells.iter().filter(|cell| cell.layer == own) {
        let point = |cell: &&MessageCell| (cell.bytes, cell.pair) == (ours.bytes, ours.pair);
        for theirs in result.cells.iter().filter(point).filter(|cell| cell.layer != own) {
            for figure in figures {
                println!("{}", row(result, ours, theirs, figure));
            }
        }
    }
}

fn row(result: &MessageResult, ours: &MessageCell, theirs: &MessageCell, figure: &Figure) -> String {
    let pair = result.pairs[ours.pair];
    let what =
        format!("{}, {} B, {}: {}", result.plan.test.name(), ours.bytes, pair.shares.name(), figure.name);
    let aim = aim(result.plan.test, ours.bytes, &theirs.layer);
    match ratio(ours, theirs, figure.of) {
        Some(ratio) => format!(
            "| {what} | {:.2} times {} ({:.2} to {:.2}) | {aim} |",
            ratio.value, theirs.layer, ratio.low, ratio.high
        ),
        None => format!("| {what} | too few rounds beside {} | {aim} |", theirs.layer),
    }
}

/// What we want of it; nothing is asked where the sending thread stands beside it.
fn aim(test: MessageTest, bytes: u64, theirs: &Layer) -> &'static str {
    match (test, bytes) {
        (MessageTest::Oneway, 4) if theirs.is_bare() => "at least 5",
        (MessageTest::Oneway, _) if theirs.is_bare() => "at least 1.0",
        (MessageTest::Pingpong, _) if theirs.is_bare() => "at most 1.05",
        (MessageTest::Post, 1024) if theirs.is_bare() => "at least 0.90",
        (MessageTest::Post, _) if theirs.is_bare() => "at least 0.98",
        _ => "",
    }
}

/// Ours as a multiple of theirs, round by round.
fn ratio(ours: &MessageCell, theirs: &MessageCell, of: fn(&MessageTrial) -> Option<f64>) -> Option<Median> {
    let of_round = |round| theirs.trials.iter().find(|t| t.round == round).and_then(of);
    let ratios: Vec<f64> =
        ours.trials.iter().filter_map(|trial| Some(of(trial)? / of_round(trial.round)?)).collect();
    median(&ratios)
}
