//! How late messages are at low rates: sent at moments that were fixed before, one by one or a few
//! at once, by a sender that does nothing else; from before the call that sends to the arrival.

use std::{
    io::{Read, Write},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use netfathom_message::{Arrival, Connection, Wait, strategy::Choice};

use crate::{
    bare::{HEADER, streams},
    counted::Calls,
    library,
    place::{Place, pin},
};

const FOR: Duration = Duration::from_millis(300);
const ROUNDS: usize = 7;
/// What is sent holds when, in nanoseconds since the begin.
const SIZE: usize = 16;

fn late_us(begin: Instant, body: &[u8]) -> f64 {
    let sent: [u8; 8] = body[..8].try_into().expect("16 bytes");
    (begin.elapsed().as_nanos() as f64 - u64::from_le_bytes(sent) as f64) / 1000.0
}

/// Sends bursts at their moments; says how many messages that were.
fn paced(begin: Instant, per_s: u32, burst: u32, mut send: impl FnMut(&[u8])) -> u32 {
    let gap = Duration::from_secs(1) * burst / per_s;
    let count = (FOR.as_nanos() / gap.as_nanos()) as u32;
    let from = Instant::now();
    for number in 0..count {
        // It sleeps instead of spinning: if there is only one CPU, the receiver needs it.
        thread::sleep((from + gap * number).saturating_duration_since(Instant::now()));
        for _ in 0..burst {
            let mut body = [0; SIZE];
            body[..8].copy_from_slice(&(begin.elapsed().as_nanos() as u64).to_le_bytes());
            send(&body);
        }
    }
    count * burst
}

fn bare(place: Place, per_s: u32, burst: u32) -> Vec<f64> {
    let (mut here, mut there) = streams();
    let begin = Instant::now();
    let receiver = thread::spawn(move || {
        pin(place.there);
        let (mut frame, mut times) = ([0; HEADER + SIZE], Vec::new());
        while there.read_exact(&mut frame).is_ok() {
            times.push(late_us(begin, &frame[HEADER..]));
        }
        times
    });
    pin(place.here);
    let send = |body: &[u8]| here.write_all(&[&[0; HEADER], body].concat()).expect("write");
    paced(begin, per_s, burst, send);
    drop(here);
    receiver.join().expect("no panic")
}

fn here(place: Place, per_s: u32, burst: u32, choice: Choice, calls: &Calls) -> Vec<f64> {
    let begin = Instant::now();
    let (tell, times) = mpsc::channel();
    let receive = move |there: Connection| {
        let mut times = Vec::new();
        let mut take = |arrival: Arrival<'_>| {
            if let Arrival::Message { body, .. } = arrival {
                times.push(late_us(begin, body));
            }
        };
        while there.poll(Wait::Forever, &mut take).is_ok() {}
        tell.send(times).expect("the sender waits");
        Ok(())
    };
    let (here, _) = library::ends(place, choice, calls, receive);
    let count = paced(begin, per_s, burst, |body| here.send(0, body).expect("send"));
    calls.units(count.into());
    here.close(Duration::from_secs(5)).expect("close");
    times.recv().expect("no panic")
}

fn show(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let shelf = times.iter().filter(|time| (45.0..75.0).contains(*time)).count();
    let shelf = 100.0 * shelf as f64 / times.len() as f64;
    format!(
        "p50 {:>5.1} p90 {:>5.1} p99 {:>6.1} p99.9 {:>7.1} us, {shelf:>5.2} % in 45 to 75 us",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999)
    )
}

pub fn all(place: Place, choice: Choice) {
    // Sleeps would be 50 us late themselves.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    println!("\nfrom send to arrival, {}", place.name);
    for (per_s, burst) in [(1000, 1), (1000, 2), (1000, 3), (20_000, 1), (20_000, 2), (20_000, 3)] {
        let calls = Calls::default();
        let (mut bares, mut heres) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bares.extend(bare(place, per_s, burst));
            heres.extend(here(place, per_s, burst, choice, &calls));
            heres.extend(here(place, per_s, burst, choice, &calls));
            bares.extend(bare(place, per_s, burst));
        }
        println!("{per_s:>6}/s by {burst}: bare    {}", show(bares));
        let writes = calls.writes_a_unit();
        println!("               library {}, {writes:.3} writes a message", show(heres));
    }
}
