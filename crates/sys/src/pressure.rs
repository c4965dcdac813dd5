//! For how long tasks stood still for want of something: PSI, machine-wide, from
//! `/proc/pressure`.

use std::{fs, io};

/// Since the machine started, in nanoseconds (the kernel counts microseconds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// At least one task stood still.
    pub some_ns: u64,
    /// All tasks that had something to do stood still; `None` where the kernel does not tell, as
    /// it does not of the processors before Linux 5.13.
    pub full_ns: Option<u64>,
}

impl Stall {
    /// What was added since an earlier reading; these sums never shrink.
    pub fn since(&self, earlier: &Self) -> Self {
        let full_ns = self.full_ns.zip(earlier.full_ns).map(|(now, then)| now.saturating_sub(then));
        Self { some_ns: self.some_ns.saturating_sub(earlier.some_ns), full_ns }
    }
}

/// What tasks of the whole machine stood still for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    pub cpu: Stall,
    /// Memory: they waited for some to be freed, or for what had been thrown out.
    pub memory: Stall,
    pub io: Stall,
}

impl Pressure {
    /// What was added since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu.since(&earlier.cpu),
            memory: self.memory.since(&earlier.memory),
            io: self.io.since(&earlier.io),
        }
    }
}

refusal! {
    /// Why there is no such account.
    PressureError:
    libc::EOPNOTSUPP => "; the kernel was started without it: boot with psi=1",
    libc::ENOENT => "; this kernel was built without CONFIG_PSI",
}

/// Reads all three.
///
/// # Errors
/// When the kernel keeps no such account, and what would make it.
pub fn read() -> Result<Pressure, PressureError> {
    Ok(Pressure { cpu: stall("cpu")?, memory: stall("memory")?, io: stall("io")? })
}

fn stall(what: &str) -> Result<Stall, PressureError> {
    let path = format!("/proc/pressure/{what}");
    let read = fs::read_to_string(&path).and_then(|text| parse(&text));
    read.map_err(PressureError::new(format!("read {path}")))
}

/// Lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`.
fn parse(text: &str) -> io::Result<Stall> {
    let total_ns = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        let total = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?;
        total.parse::<u64>().ok()?.checked_mul(1_000)
    };
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, format!("unexpected content {text:?}"));
    Ok(Stall { some_ns: total_ns("some").ok_or_else(unknown)?, full_ns: total_ns("full") })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use netfathom_testkit::skip;

    use super::*;
    use crate::cpu::{allowed, pin, thread_time_ns};

    #[test]
    fn totals_are_taken_and_a_missing_one_is_none() {
        let text = "some avg10=0.04 avg60=0.35 avg300=4.12 total=19332\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let stall = parse(text).unwrap();
        assert_eq!(stall, Stall { some_ns: 19_332_000, full_ns: Some(7_000) });
        let old = parse(text.lines().next().unwrap()).unwrap();
        assert_eq!(old.full_ns, None);
        assert_eq!(stall.since(&old), Stall { some_ns: 0, full_ns: None });
        assert!(parse("some avg10=0.04\n").is_err() && parse("").is_err());
        assert!(PressureError::remedy(&io::Error::from_raw_os_error(libc::EOPNOTSUPP)).contains("psi=1"));
    }

    #[test]
    fn waiting_for_a_processor_is_pressure() {
        let before = match read() {
            Ok(before) => before,
            Err(error) => skip!("{error}"),
        };
        let cpu = *allowed().unwrap().last().unwrap();
        let contend = || {
            thread::spawn(move || {
                pin(cpu).unwrap();
                while thread_time_ns() < 150_000_000 {}
            })
        };
        [contend(), contend()].into_iter().for_each(|thread| thread.join().unwrap());
        // One of two waited about all the time that the other ran.
        let gained = read().unwrap().since(&before);
        assert!(gained.cpu.some_ns > 75_000_000, "{gained:?}");
    }
}
