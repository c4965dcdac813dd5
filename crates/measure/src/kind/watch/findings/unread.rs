//! Messages that wait in sockets which no thread reads.

use netfathom_model::print::{count, listed_first, time};
use netfathom_model::record::{WatchResult, WatchUnread};
use netfathom_model::verdict::Finding;

use super::FEWEST;

/// Sockets in a finding.
const MOST: usize = 3;

pub(super) fn unread(result: &WatchResult) -> Option<Finding> {
    let messages: u64 = result.unread.iter().map(|of| of.messages).sum();
    let (cause, remedy) = words(result.unread.first()?);
    (messages >= FEWEST).then(|| Finding {
        seen: "messages wait in a socket that no thread reads".into(),
        cause,
        evidence: format!(
            "{} of {} messages: {}",
            count(messages),
            count(result.account.seen),
            listed_first(MOST, result.unread.iter().map(place))
        ),
        remedy,
    })
}

fn words(WatchUnread { process, for_ns, stopped, .. }: &WatchUnread) -> (String, String) {
    let (name, pid) = (&process.name, process.pid);
    if *stopped {
        return (
            format!("a signal (SIGSTOP) or a debugger stopped {name} (pid {pid})"),
            format!("have {name} run again (`kill -CONT {pid}`), or detach the debugger"),
        );
    }
    (
        format!("no thread of {name} (pid {pid}) has read for {}", time(*for_ns as f64)),
        format!(
            "find out what the threads of {name} wait for (`strace -f -T -p {pid}`), or close the socket: with SO_REUSEPORT each socket gets its share"
        ),
    )
}

fn place(of: &WatchUnread) -> String {
    let local = of.local.as_deref().unwrap_or("a socket");
    format!("{} in {local} of {} (pid {})", count(of.messages), of.process.name, of.process.pid)
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{WatchProcesses, WatchStage, WatchUser, WatchedProcess};

    use super::super::{findings, tests};
    use super::*;
    use crate::kind::watch::unread::name;

    fn worker(pid: u32) -> WatchedProcess {
        WatchedProcess { pid, name: "worker".into() }
    }

    fn result(messages: u64, stopped: bool) -> WatchResult {
        let mut result = tests::result(WatchStage::Sockqueue, 20_000, 10, 10_000);
        result.account.seen = 1000;
        let (local, process) = (Some("127.0.0.1:53".into()), worker(8));
        result.unread = vec![WatchUnread { local, process, messages, for_ns: 1_500_000_000, stopped }];
        result
    }

    #[test]
    fn a_socket_that_no_thread_reads_comes_first_with_its_process() {
        let first = |messages, stopped| findings(&result(messages, stopped), None).remove(0);
        let (stopped, stuck) = (first(FEWEST, true), first(FEWEST, false));
        assert_eq!(stopped.evidence, "10 of 1,000 messages: 10 in 127.0.0.1:53 of worker (pid 8)");
        assert!(stopped.cause.ends_with("stopped worker (pid 8)"), "{stopped:?}");
        assert!(stopped.remedy.starts_with("have worker run again (`kill -CONT 8`)"), "{stopped:?}");
        assert_eq!(stuck.cause, "no thread of worker (pid 8) has read for 1.50 s");
        assert!(!first(FEWEST - 1, true).seen.contains("no thread reads"));
    }

    #[test]
    fn its_process_is_one_of_those_that_are_watched() {
        let mut result = result(10, true);
        WatchUser::add(&mut result.users, worker(7));
        result.reader = Some(worker(7));
        name(&mut result);
        name(&mut result);
        let looks: Vec<(u32, u64)> = result.users.iter().map(|of| (of.process.pid, of.looks)).collect();
        assert_eq!((looks, result.has_several()), (vec![(7, 1), (8, 1)], true));
        WatchProcesses::of(&mut result.processes, Some(&worker(7)));
        name(&mut result);
        assert_eq!(result.processes[0].pids, [7, 8]);
    }
}
