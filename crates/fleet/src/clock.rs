//! How far the clock of another host is ahead: exchanges of datagrams. The one with the shortest round
//! trip counts (RFC 5905, the clock filter).

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_measure::load::allow::Allowed;
use netfathom_model::record::FleetClock;
use netfathom_sys::clock::realtime_ns;

const MAGIC: [u8; 8] = *b"nfclock1";
/// Magic, the asker's time, and two of the answerer.
const BYTES: usize = 32;
const EXCHANGES: usize = 48;
const WITHIN: Duration = Duration::from_millis(100);

/// Answers those that are allowed until it is stopped.
pub fn serve(socket: &UdpSocket, allowed: &Allowed, stop: &AtomicBool) -> io::Result<()> {
    socket.set_read_timeout(Some(WITHIN))?;
    let mut buffer = [0; BYTES + 1];
    while !stop.load(Relaxed) {
        // Whatever a datagram or an ICMP error was: the next one may be good.
        let Ok((BYTES, from)) = socket.recv_from(&mut buffer) else { continue };
        // An answer is no question: two clocks would answer each other without end.
        let is_question = buffer[..8] == MAGIC && buffer[16..BYTES].iter().all(|&byte| byte == 0);
        if is_question && allowed.check(from.ip().to_canonical()).is_ok() {
            let now = realtime_ns().to_le_bytes();
            buffer[16..24].copy_from_slice(&now);
            buffer[24..32].copy_from_slice(&realtime_ns().to_le_bytes());
            let _ = socket.send_to(&buffer[..BYTES], from);
        }
    }
    Ok(())
}

/// A socket that sends nothing by itself.
pub fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    Ok(socket)
}

/// How far the own clock stands ahead of the one over there.
pub fn compare(with: SocketAddr, stop: &AtomicBool) -> io::Result<FleetClock> {
    let socket = connected(with)?;
    socket.set_read_timeout(Some(WITHIN))?;
    let mut best: Option<(u64, i64)> = None;
    let mut missed = 0;
    for _ in 0..EXCHANGES {
        if stop.load(Relaxed) || missed > 10 {
            break;
        }
        match exchange(&socket) {
            Ok(seen) => best = Some(best.map_or(seen, |known| known.min(seen))),
            Err(_) => missed += 1,
        }
    }
    let (round_trip_ns, offset_ns) = best.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer from {with} by UDP: is a firewall in between?"),
        )
    })?;
    Ok(FleetClock { offset_ns, bound_ns: round_trip_ns.div_ceil(2) })
}

fn exchange(socket: &UdpSocket) -> io::Result<(u64, i64)> {
    let mut buffer = [0; BYTES];
    buffer[..8].copy_from_slice(&MAGIC);
    let sent_ns = realtime_ns();
    buffer[8..16].copy_from_slice(&sent_ns.to_le_bytes());
    socket.send(&buffer)?;
    let until = Instant::now() + WITHIN;
    while Instant::now() < until {
        let n = socket.recv(&mut buffer)?;
        let back_ns = realtime_ns();
        let at = |i: usize| u64::from_le_bytes(buffer[i..i + 8].try_into().unwrap_or_default());
        // An answer to an earlier question has come late.
        if n == BYTES && buffer[..8] == MAGIC && at(8) == sent_ns {
            return Ok(offset([sent_ns, at(16), at(24), back_ns]));
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// The round trip without the time over there, and how far the own clock is ahead.
fn offset([t1, t2, t3, t4]: [u64; 4]) -> (u64, i64) {
    let away = t4.wrapping_sub(t1) as i64;
    let there = t3.wrapping_sub(t2) as i64;
    let ahead = (i128::from(t1) - i128::from(t2) + i128::from(t4) - i128::from(t3)) / 2;
    ((away - there).max(0) as u64, ahead as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_is_found_within_its_bound() {
        // The other clock is 5,000 behind; 300 there, 100 back.
        assert_eq!(offset([10_000, 5_300, 5_350, 10_450]), (400, 4_900));
        let (round_trip, ahead) = offset([10_000, 5_300, 5_350, 10_450]);
        assert!((ahead - 5_000).unsigned_abs() <= round_trip / 2);
    }

    #[test]
    fn an_answer_is_no_question() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (at, stop) = (socket.local_addr().unwrap(), AtomicBool::new(false));
        let asker = UdpSocket::bind("127.0.0.1:0").unwrap();
        asker.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut datagram = [0; BYTES];
        datagram[..8].copy_from_slice(&MAGIC);
        std::thread::scope(|scope| {
            scope.spawn(|| serve(&socket, &Allowed::new(&[]), &stop).unwrap());
            asker.send_to(&datagram, at).unwrap();
            asker.recv(&mut datagram).unwrap();
            // The answer, sent back, has none; what is asked after it has.
            asker.send_to(&datagram, at).unwrap();
            datagram[8..].fill(0);
            datagram[8] = 7;
            asker.send_to(&datagram, at).unwrap();
            asker.recv(&mut datagram).unwrap();
            stop.store(true, Relaxed);
        });
        assert_eq!(datagram[8], 7);
    }

    #[test]
    fn a_clock_agrees_with_itself() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (at, stop) = (socket.local_addr().unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| serve(&socket, &Allowed::new(&[]), &stop).unwrap());
            // Garbage has no effect on it.
            UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[0xff; 40], at).unwrap();
            let clock = compare(at, &stop).unwrap();
            stop.store(true, Relaxed);
            assert!(clock.offset_ns.unsigned_abs() <= clock.bound_ns, "{clock:?}");
        });
    }
}
