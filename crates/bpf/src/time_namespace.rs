//! The time namespace of this process. It shifts CLOCK_MONOTONIC for system calls, but not for `bpf_ktime_get_ns`.

use std::fs;

/// The namespaces of this process and of its children, and the shifts of the latter (since Linux 5.6, with CONFIG_TIME_NS).
const OWN: &str = "/proc/self/ns/time";
const OF_CHILDREN: &str = "/proc/self/ns/time_for_children";
const OFFSETS: &str = "/proc/self/timens_offsets";

/// How far it shifts that clock, with its unit; `None` if it does not.
pub(crate) fn shift() -> Option<String> {
    let is_own = fs::read_link(OWN).ok()? == fs::read_link(OF_CHILDREN).ok()?;
    is_own.then(|| monotonic(&fs::read_to_string(OFFSETS).ok()?)).flatten()
}

fn monotonic(offsets: &str) -> Option<String> {
    let line = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?;
    let mut numbers = line.split_ascii_whitespace().map_while(|number| number.parse::<i64>().ok());
    match (numbers.next()?, numbers.next()?) {
        (0, 0) => None,
        (seconds, 0) => Some(format!("{seconds} s")),
        (seconds, ns) => Some(format!("{} ns", i128::from(seconds) * 1_000_000_000 + i128::from(ns))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_of_the_monotonic_clock_alone_counts() {
        let shift = |of: &str| monotonic(&format!("monotonic  {of}\nboottime            7         0\n"));
        assert_eq!(shift("        0         0"), None);
        assert_eq!(shift("    -1000         0").as_deref(), Some("-1000 s"));
        assert_eq!(shift("       -1 999999000").as_deref(), Some("-1000 ns"));
        assert_eq!(monotonic(""), None);
    }
}
