//! What the classic ttcp prints, line for line, on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::transfer::{Left, Step, TransferEvent};
use netfathom_model::plan::{Role, TransferPlan, Transport};
use netfathom_model::print;
use netfathom_model::record::{Served, TransferEnd, TransferResult, TransferStream};

use crate::args::RateFormat;
use crate::output;

mod cost;
mod findings;

const KB: f64 = 1024.0;
const BITS: f64 = 8.0;
/// Processor time that the classic takes for none: 16 MiB in 0.00 CPU seconds are 16384000 KB/cpu sec.
const LEAST_CPU_S: f64 = 0.001;

pub struct Classic<'a> {
    pub plan: &'a TransferPlan,
    pub format: RateFormat,
    pub verbose: bool,
}

impl Classic<'_> {
    fn say(&self, line: impl Display) {
        // In one piece, for both ends may write to one terminal; and not by eprintln, which panics
        // where there is no reader.
        let _ = io::stderr().write_all(self.line(line).as_bytes());
    }

    fn line(&self, line: impl Display) -> String {
        let end = match self.plan.role {
            Role::Transmit => 't',
            Role::Receive => 'r',
        };
        format!("ttcp-{end}: {line}\n")
    }

    pub fn report(&self, path: &Path) {
        self.say(format_args!("report: {}", output::harmless(&path.display().to_string())));
    }

    /// The options, before anything happens.
    pub fn header(&self) {
        let plan = self.plan;
        let socket_buffer =
            plan.socket_buffer_bytes.map_or_else(String::new, |bytes| format!(", sockbufsize={bytes}"));
        let to = match (plan.role, &plan.host) {
            (Role::Transmit, Some(host)) => format!(" -> {host}"),
            _ => String::new(),
        };
        self.say(format_args!(
            "buflen={}, nbuf={}, align={}/{}, port={}{socket_buffer} {}{to}",
            plan.buffer_bytes,
            plan.buffers,
            plan.align,
            plan.offset,
            plan.port,
            plan.protocol.name()
        ));
    }

    /// What happens before bytes go.
    pub fn event(&self, event: TransferEvent) {
        match event {
            TransferEvent::Socket => self.say("socket"),
            TransferEvent::SocketBuffer { sends: true, .. } => self.say("sndbuf"),
            TransferEvent::SocketBuffer { sends: false, .. } => self.say("rcvbuf"),
            TransferEvent::NoDelay => self.say("nodelay"),
            TransferEvent::Debug => self.say("debug"),
            TransferEvent::Connect(_) => self.say("connect"),
            // Of several streams the first has begun when the last comes, and so has the progress.
            TransferEvent::Accept(from) => self.say_over(format_args!("accept from {}", from.ip())),
            TransferEvent::Left(left) => self.left(&left),
            TransferEvent::TurnedAway { turned_away, most_clients } => {
                self.turned_away(turned_away, most_clients)
            }
            TransferEvent::Listening(_) => {}
            TransferEvent::Interval(step) => self.say_over(self.step(&step)),
        }
    }

    /// A line where the progress may be drawn, which is erased.
    fn say_over(&self, line: impl Display) {
        let erased = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
        let _ = io::stderr().write_all(format!("{erased}{}", self.line(line)).as_bytes());
    }

    /// How far a stream came in an interval.
    fn step(&self, step: &Step) -> String {
        let [from, to] = [step.from_ns, step.to_ns].map(|ns| ns as f64 / 1e9);
        let (rate, unit) = self.rate(step.bytes as f64 / (to - from).max(1e-6));
        let which = match step.stream {
            Some(_) if self.plan.streams == 1 && self.plan.serve.is_none() => String::new(),
            // As the figures count them.
            Some(number) => format!("[{:>3}] ", number + 1),
            None => "[sum] ".into(),
        };
        format!("{which}{from:6.2}-{to:<6.2} s {rate:10.2} {unit}/sec{}", self.of_tcp(step))
    }

    /// What this end knows of the connection: only a sender sends again, or has a congestion window
    /// that counts, and UDP has none of it.
    fn of_tcp(&self, step: &Step) -> String {
        if self.plan.protocol == Transport::Udp {
            return String::new();
        }
        let sends = self.plan.role == Role::Transmit;
        let again = sends.then(|| format!(", retr {}", step.retransmits));
        let rtt = step.rtt_us.map(|us| format!(", rtt {:.2} ms", f64::from(us) / 1e3));
        let cwnd = step.cwnd.filter(|_| sends).map(|segments| format!(", cwnd {segments}"));
        [again, rtt, cwnd].into_iter().flatten().collect()
    }

    /// The figures of a transfer that came to its end, and then what the classic knows nothing of.
    pub fn figures(&self, progressed: &Progressed<TransferResult>) {
        let result = &progressed.result;
        if matches!(result.end, TransferEnd::Interrupted | TransferEnd::Broken { .. }) {
            return;
        }
        if let Some(served) = &result.served {
            self.served(served);
            self.cost(result);
            self.found(progressed);
            return;
        }
        self.each_stream(result);
        let calls: u64 = result.streams.iter().map(|s| s.calls).sum();
        let real = seconds(result.duration_ns());
        self.say(self.real(result.bytes(), real));
        if self.verbose {
            let cpu = seconds(result.streams.iter().map(|s| s.user_ns + s.system_ns).sum());
            self.say(self.cpu(result.bytes(), cpu));
        }
        self.say(calls_line(calls, real));
        if self.plan.explain {
            self.say("in these lines, as in the classic, KB are 1024 bytes and Mb 2^20 bits; below, Gb/s are 10^9 bits/s");
        }
        if self.verbose {
            self.say(format_args!("buffer address {:#x}", result.buffer_address));
        }
        for checksum in result.streams.iter().filter_map(|stream| stream.checksum.as_ref()) {
            self.say(format_args!("sha256 {}, the same at both ends", checksum.sha256));
        }
        self.uncopied(result);
        self.packets(result);
        self.cost(result);
        self.found(progressed);
        // A datagram without a confirmation is the usual case.
        if result.end != TransferEnd::Unconfirmed {
            progressed.verdict.reasons.iter().for_each(|reason| self.tell(&reason.text));
        }
    }

    /// Of a receiver that serves: a line for each client.
    fn left(&self, left: &Left) {
        let from = left.peer.map_or_else(|| "an unknown peer".into(), |peer| peer.to_string());
        let figures = self.real(left.bytes, seconds(left.duration_ns));
        let how = match &left.end {
            TransferEnd::Broken { why } => format!("cut: {why}"),
            _ => "whole".into(),
        };
        self.say_over(format_args!("client {} from {from}: {figures}, {how}", left.number));
    }

    /// Somebody was cut off who came beyond.
    fn turned_away(&self, so_far: u64, most_clients: u32) {
        self.say_over(format_args!(
            "{so_far} turned away so far: {most_clients} clients may be there at once (--max-clients), each needs a \
             descriptor (ulimit -n) and a thread (ulimit -u)"
        ));
    }

    /// And their sums.
    fn served(&self, served: &Served) {
        let Served { whole, broken, too_long, turned_away, most_at_once, bytes } = served;
        self.say(format_args!(
            "{bytes} bytes from {}: {whole} whole, {broken} broken, {too_long} too long; {turned_away} turned away, \
             at most {most_at_once} at once",
            print::counted(whole + broken + too_long, "client")
        ));
    }

    /// Of several streams each one's own figures; those of one are the sum's.
    fn each_stream(&self, result: &TransferResult) {
        if result.streams.len() < 2 {
            return;
        }
        for (number, stream) in (1..).zip(&result.streams) {
            self.one_stream(number, stream);
        }
    }

    /// That all went without a copy; where it did not, a finding says so.
    fn uncopied(&self, result: &TransferResult) {
        let each = || result.streams.iter().filter_map(|stream| stream.zero_copy);
        let bytes: u64 = each().map(|z| z.uncopied_bytes).sum();
        if bytes > 0 && each().all(|z| z.copied_bytes + z.unknown_bytes == 0) {
            self.say(format_args!("all of {bytes} bytes went without a copy"));
        }
    }

    fn one_stream(&self, number: usize, stream: &TransferStream) {
        let real = seconds(stream.duration_ns);
        self.say(format_args!("stream {number}: {}", self.real(stream.bytes, real)));
        if self.verbose {
            let cpu = seconds(stream.user_ns + stream.system_ns);
            self.say(format_args!("stream {number}: {}", self.cpu(stream.bytes, cpu)));
            self.say(format_args!("stream {number}: {}", calls_line(stream.calls, real)));
        }
    }

    fn real(&self, bytes: u64, real: f64) -> String {
        let per_s = bytes as f64 / real;
        let (rate, unit) = self.rate(per_s);
        let mb = per_s * BITS / (KB * KB);
        format!("{bytes} bytes in {real:.6} real seconds = {rate:.6} {unit}/sec ({mb:.6} Mb/sec)")
    }

    fn cpu(&self, bytes: u64, cpu: f64) -> String {
        let cpu = cpu.max(LEAST_CPU_S);
        let (rate, unit) = self.rate(bytes as f64 / cpu);
        format!("{bytes} bytes in {cpu:.2} CPU seconds = {rate:.6} {unit}/cpu sec")
    }

    fn rate(&self, bytes_per_s: f64) -> (f64, &'static str) {
        match self.format {
            RateFormat::Kbit => (bytes_per_s * BITS / KB, "Kbit"),
            RateFormat::KByte => (bytes_per_s / KB, "KB"),
            RateFormat::Mbit => (bytes_per_s * BITS / (KB * KB), "Mbit"),
            RateFormat::MByte => (bytes_per_s / (KB * KB), "MB"),
            RateFormat::Gbit => (bytes_per_s * BITS / (KB * KB * KB), "Gbit"),
            RateFormat::GByte => (bytes_per_s / (KB * KB * KB), "GB"),
        }
    }
}

/// With the classic's quirk: its milliseconds are 1024 to the second.
fn calls_line(calls: u64, real: f64) -> String {
    let (each, rate) =
        if calls == 0 { (0.0, 0.0) } else { (1024.0 * real / calls as f64, calls as f64 / real) };
    format!("{calls} I/O calls, msec/call = {each:.2}, calls/sec = {rate:.2}")
}

/// Never nothing, for it is divided by.
fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e9).max(1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the book prints of its transfer.
    #[test]
    fn the_books_figures_come_out_to_the_printed_digit() {
        let plan = TransferPlan::classic(Role::Transmit);
        let line = |format| Classic { plan: &plan, format, verbose: true }.real(16_777_216, 1.341_030);
        assert_eq!(
            line(RateFormat::KByte),
            "16777216 bytes in 1.341030 real seconds = 12217.474628 KB/sec (95.449021 Mb/sec)"
        );
        let cpu = Classic { plan: &plan, format: RateFormat::KByte, verbose: true }.cpu(16_777_216, 1e-6);
        assert_eq!(cpu, "16777216 bytes in 0.00 CPU seconds = 16384000.000000 KB/cpu sec");
        assert!(line(RateFormat::Mbit).contains("= 95.449021 Mbit/sec (95.449021 Mb/sec)"));
        assert_eq!(calls_line(2048, 1.341_030), "2048 I/O calls, msec/call = 0.67, calls/sec = 1527.18");
        assert_eq!(calls_line(0, 1.0), "0 I/O calls, msec/call = 0.00, calls/sec = 0.00");
    }
}
