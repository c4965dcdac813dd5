//! How fast `netfathom ttcp` moves bytes, as ratios within one run, beside the programs that
//! others use for it. Prints a table in Markdown; words behind `--` choose the rows that have them
//! in their names.
//!
//! Every contender is a pair of programs, those of the sender on one processor and those of the
//! receiver on another. What they move is what the kernel counts at the receiving end in a
//! stretch of the run, whoever they are. Contenders take turns, in an order that is mirrored
//! each round; medians over the rounds, with the interval of the sign test.

use std::collections::BTreeMap;

use netfathom_stats::median;

mod contender;
mod ends;
mod place;
mod rows;
mod turn;

use contender::Contender;
use place::Place;
use rows::Row;

const ROUNDS: usize = 8;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    if ends::is_wanted() {
        return ends::run();
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("| what | measured | target |\n|---|---|---|");
    for place in [Place::loopback()?, Place::lab()?] {
        for row in rows::all() {
            let name = format!("{}, {}", row.what, place.name);
            if wanted.iter().all(|word| name.contains(word.as_str())) {
                compare(&row, &name, &place)?;
            }
        }
    }
    Ok(())
}

/// Bits a second of every contender, round by round; who is not installed is left out.
fn rates(row: &Row, place: &Place) -> Result<BTreeMap<usize, Vec<f64>>, Failure> {
    let here: Vec<usize> = (0..row.contenders.len()).filter(|&i| row.contenders[i].is_here()).collect();
    let mut rates: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut order = here.clone();
        if round % 2 == 1 {
            order.reverse();
        }
        for i in order {
            let contender = &row.contenders[i];
            let rate = turn::rate(contender, place, row).map_err(|e| format!("{}: {e}", contender.name))?;
            eprintln!(
                "{}, {}, round {round}: {} {:.3} Gb/s",
                row.what,
                place.name,
                contender.name,
                rate / 1e9
            );
            rates.entry(i).or_default().push(rate);
        }
    }
    Ok(rates)
}

fn middle(rates: &[f64]) -> f64 {
    median(rates).map_or(0.0, |m| m.value)
}

/// Prints what ours make of it, each beside the fastest of the others, or beside each of them.
fn compare(row: &Row, name: &str, place: &Place) -> Result<(), Failure> {
    let rates = rates(row, place)?;
    let is_own = |i: &usize| row.contenders[*i].target.is_none();
    let (own, mut others): (Vec<usize>, Vec<usize>) = rates.keys().copied().partition(is_own);
    others.sort_by(|a, b| middle(&rates[b]).total_cmp(&middle(&rates[a])));
    let missing: Vec<&str> = row.contenders.iter().filter(|c| !c.is_here()).map(|c| &*c.name).collect();
    let missing =
        if missing.is_empty() { String::new() } else { format!("; without {}", missing.join(", ")) };
    if row.best_only {
        others.truncate(1);
    }
    for own in own {
        for &other in &others {
            let pairs = rates[&own].iter().zip(&rates[&other]);
            let ratio = median(&pairs.map(|(a, b)| a / b).collect::<Vec<f64>>()).ok_or("too few rounds")?;
            let (ours, theirs): (&Contender, &Contender) = (&row.contenders[own], &row.contenders[other]);
            println!(
                "| {name}: {} | {:.2} times {} ({:.2} to {:.2}); {:.1} Gb/s{missing} | at least {:.1} |",
                ours.name,
                ratio.value,
                theirs.name,
                ratio.low,
                ratio.high,
                middle(&rates[&own]) / 1e9,
                theirs.target.unwrap_or(1.0)
            );
        }
        if others.is_empty() {
            println!("| {name}: {} | nothing to compare with{missing} | |", ours_alone(row, own, &rates));
        }
    }
    Ok(())
}

fn ours_alone(row: &Row, own: usize, rates: &BTreeMap<usize, Vec<f64>>) -> String {
    format!("{}, {:.1} Gb/s", row.contenders[own].name, middle(&rates[&own]) / 1e9)
}
