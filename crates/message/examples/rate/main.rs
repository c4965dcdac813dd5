//! What the library costs beside bare TCP sockets, on this machine, in one run: messages one way,
//! there and back, posts, and what comes late at low rates. Bare sockets write header and body of a
//! message with one call, with TCP_NODELAY; a bare receiver of one-way messages only reads.
//!
//!     cargo run --release -p netfathom-message --example rate -- \
//!         [strategy=adaptive] [place=one|own] [rounds=7] [size=4]... [one-way|trips|requests|bulk|late]...
//!
//! Both ends share a processor (`one`) or have one each (`own`). A round is bare, library, library,
//! bare; its ratio is library to bare, so above 1 is faster where rates are compared and slower
//! where times or CPU time are. Shown are the median of the rounds and, in brackets, the least and
//! the most; and the system calls of both ends of the library together, a message.

mod bare;
mod compare;
mod counted;
mod late;
mod library;
mod place;

use std::time::Duration;

use compare::{cpu_time, rounds};
use counted::Calls;
use netfathom_message::strategy::Choice;
use place::Place;

/// What is asked for.
struct Plan {
    choice: Choice,
    rounds: usize,
    sizes: Vec<usize>,
    places: Vec<Place>,
    tests: Vec<String>,
}

impl Plan {
    fn read() -> Result<Self, String> {
        let places = Place::all();
        let mut plan =
            Self { choice: Choice::Adaptive, rounds: 7, sizes: vec![], places: vec![], tests: vec![] };
        for argument in std::env::args().skip(1) {
            let number = |text: &str| text.parse().map_err(|_| format!("{argument}: not a number"));
            match argument.split_once('=') {
                Some(("strategy", name)) => plan.choice = name.parse()?,
                Some(("rounds", text)) => plan.rounds = number(text)?,
                Some(("size", text)) => plan.sizes.push(number(text)?),
                Some(("place", name)) => {
                    let found = places.iter().find(|place| place.name == name);
                    plan.places.push(*found.ok_or(format!("no place {name:?} here"))?);
                }
                Some(_) => return Err(format!("{argument}: unknown")),
                None => plan.tests.push(argument),
            }
        }
        if plan.places.is_empty() {
            plan.places = places;
        }
        Ok(plan)
    }

    fn wants(&self, test: &str) -> bool {
        self.tests.is_empty() || self.tests.iter().any(|wanted| wanted == test)
    }

    fn sizes(&self, usual: &[usize]) -> Vec<usize> {
        if self.sizes.is_empty() { usual.to_vec() } else { self.sizes.clone() }
    }
}

fn one_ways(plan: &Plan, place: Place) {
    println!("\none way, {}: rate library/bare, CPU time a message library/bare", place.name);
    for size in plan.sizes(&[4, 16, 64, 256, 1024, 4096, 16_384, 65_536]) {
        let calls = Calls::default();
        let run = rounds(
            plan.rounds,
            || bare::one_way(place, size),
            || library::one_way(place, size, plan.choice, &calls),
        );
        println!("{size:>8} B {}", run.show(&calls));
    }
}

/// Trips of both kinds in turn, in blocks so small that what disturbs the one disturbs the other, and
/// so large that the first of each, which finds the caches filled by the other kind, are no percent.
fn interleaved(
    plan: &Plan,
    blocks: usize,
    calls: &Calls,
    mut bare: impl FnMut(),
    mut here: impl FnMut(),
) -> compare::Trips {
    const BLOCK: usize = 250;
    let mut trips = compare::Trips::default();
    for once in [&mut bare as &mut dyn FnMut(), &mut here] {
        (0..BLOCK).for_each(|_| once());
    }
    for _ in 0..plan.rounds {
        let mut round = [Vec::new(), Vec::new()];
        let mut spent = [Duration::ZERO; 2];
        for kind in [0, 1, 1, 0].into_iter().cycle().take(4 * blocks) {
            let before = cpu_time();
            let once: &mut dyn FnMut() = if kind == 0 { &mut bare } else { &mut here };
            round[kind].extend((0..BLOCK).map(|_| compare::timed(&mut *once)));
            spent[kind] += cpu_time() - before;
        }
        trips.add(round, spent);
    }
    calls.units((BLOCK + plan.rounds * 2 * blocks * BLOCK) as u64);
    trips
}

fn trips(plan: &Plan, place: Place) {
    println!("\nthere and back, {}: time library/bare at p50 and p99, CPU time library/bare", place.name);
    for size in plan.sizes(&[4, 16, 64, 256, 1024, 16_384]) {
        let calls = Calls::default();
        let bare = bare::trips(place, size);
        let here = library::trips(place, size, plan.choice, &calls);
        println!("{size:>8} B {}", interleaved(plan, 5, &calls, bare, here).show(&calls));
    }
}

fn requests(plan: &Plan, place: Place) {
    println!("\nposts on request, {}: time library/bare at p50 and p99, rate, CPU time", place.name);
    for size in plan.sizes(&[1024, 4096, 8192, 16_384, 32_768, 65_536]) {
        let calls = Calls::default();
        let bare = bare::requests(place, size);
        let here = library::requests(place, size, plan.choice, &calls);
        println!("{size:>8} B {}", interleaved(plan, 2, &calls, bare, here).show(&calls));
    }
}

fn bulk(plan: &Plan, place: Place) {
    println!("\nposts one after another, {}: rate library/bare, CPU time library/bare", place.name);
    for size in plan.sizes(&[1024, 8192, 16_384, 65_536, 1 << 20]) {
        let calls = Calls::default();
        let run = rounds(
            plan.rounds,
            || bare::bulk(place, size),
            || library::bulk(place, size, plan.choice, &calls),
        );
        println!("{size:>8} B {}", run.show(&calls));
    }
}

fn main() -> Result<(), String> {
    let plan = Plan::read()?;
    for place in plan.places.clone() {
        if plan.wants("one-way") {
            one_ways(&plan, place);
        }
        if plan.wants("trips") {
            trips(&plan, place);
        }
        if plan.wants("requests") {
            requests(&plan, place);
        }
        if plan.wants("bulk") {
            bulk(&plan, place);
        }
        if plan.wants("late") {
            late::all(place, plan.choice);
        }
    }
    Ok(())
}
