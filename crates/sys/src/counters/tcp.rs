//! What the kernel counts of TCP in a network namespace.

use super::{CountersError, SNMP, named, number, text};

const NETSTAT: &str = "/proc/thread-self/net/netstat";

/// Counts since the namespace was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Delayed ACKs that were sent when their timer expired (TcpExt DelayedACKs).
    pub delayed_acks: u64,
    /// Retransmission time-outs (TcpExt TCPTimeouts).
    pub timeouts: u64,
    /// Segments sent again (Tcp RetransSegs).
    pub retransmitted: u64,
}

impl TcpCounters {
    /// Reads those of the calling thread's namespace.
    pub fn read() -> Result<Self, CountersError> {
        Self::parse(&text(NETSTAT)?, &text(SNMP)?)
    }

    fn parse(netstat: &str, snmp: &str) -> Result<Self, CountersError> {
        let (extended, plain) = (named(netstat, "TcpExt:"), named(snmp, "Tcp:"));
        Ok(Self {
            delayed_acks: number(NETSTAT, &extended, "TCP", "DelayedACKs")?,
            timeouts: number(NETSTAT, &extended, "TCP", "TCPTimeouts")?,
            retransmitted: number(SNMP, &plain, "TCP", "RetransSegs")?,
        })
    }

    /// What was added since an earlier reading; a counter that went backwards adds nothing.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            delayed_acks: self.delayed_acks.saturating_sub(earlier.delayed_acks),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            retransmitted: self.retransmitted.saturating_sub(earlier.retransmitted),
        }
    }

    /// Those of two namespaces together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            delayed_acks: self.delayed_acks + other.delayed_acks,
            timeouts: self.timeouts + other.timeouts,
            retransmitted: self.retransmitted + other.retransmitted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let netstat = "TcpExt: A DelayedACKs TCPTimeouts\nTcpExt: 1 22 3\nIpExt: DelayedACKs\nIpExt: 9\n";
        let snmp = "Ip: RetransSegs\nIp: 7\nTcp: MaxConn RetransSegs\nTcp: -1 44\n";
        let expected = TcpCounters { delayed_acks: 22, timeouts: 3, retransmitted: 44 };
        assert_eq!(TcpCounters::parse(netstat, snmp).unwrap(), expected);
        assert!(TcpCounters::parse("", snmp).unwrap_err().to_string().contains("DelayedACKs"));
        assert_eq!(expected.plus(&expected).since(&expected), expected);
        assert!(TcpCounters::read().is_ok());
    }
}
