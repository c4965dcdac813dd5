//! Messages of others on a terminal: what changes how to read the times, and who had the CPU.

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchTarget;
use netfathom_model::record::{
    CpuStay, Held, Holder, Measurement, SlowMessage, SocketWay, State, WatchAccount, WatchProcesses,
    WatchPrograms, WatchResult, WatchSampling, WatchSendAccount, WatchSent, WatchSocket, WatchSpread,
    WatchStage, WatchTimes, WatchUnread, WatchUser, WatchedProcess, WatchedSum,
};
use netfathom_model::verdict::Finding;
use netfathom_results::quantity::{self, Better, Unit};
use netfathom_results::render::html;
use netfathom_results::{draw, story};

use crate::contract::{self, flat};
use crate::fixtures::fixture;

mod application;

const US: u64 = 1000;

fn with(name: &str, change: impl FnOnce(&mut WatchResult)) -> netfathom_model::record::Record {
    let mut record = fixture(name);
    let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
    change(watch);
    record
}

fn page(name: &str, change: impl FnOnce(&mut WatchResult)) -> String {
    flat(&contract::sane(&with(name, change)))
}

#[test]
fn fewer_retransmitted_segments_are_better() {
    let record = with("watch-tx", |watch| {
        watch.watched_ns = 60_000_000_000;
        watch.send.as_mut().unwrap().account.retransmitted = 120;
    });
    let all = quantity::of(&record.measurement);
    let again = all.iter().find(|of| of.name == "retransmitted").unwrap();
    assert_eq!((again.better, again.unit, &again.trials[..]), (Better::Less, Unit::PerSecond, &[2.0][..]));
}

#[test]
fn a_budget_that_the_first_samples_exceed_is_one_for_longer_runs() {
    let has = |seconds: u64, words: &str| {
        let text = page("watch-tx", |watch| {
            watch.plan.budget = Some(0.01);
            watch.watched_ns = seconds * 1_000_000_000;
            let (followed_ns, spent_ns) = (100_000_000, seconds * 20_000_000);
            watch.sampling = Some(WatchSampling { followed_ns, spent_ns, ..WatchSampling::default() });
        });
        assert!(text.contains(&format!("(2.00 % of a CPU, {words} 1.00 %)")), "{text}");
    };
    has(2, "budget for longer runs");
    has(60, "over the budget of");
}

fn redis_benchmark() -> Holder {
    Holder::Process { name: "redis-benchmark".into(), pid: 7, cgroup: None }
}

#[test]
fn what_part_of_a_wait_has_no_holder_is_named_beside_the_holder() {
    let slow = |held_us: u64, waited_us: i64, length_ns: u64| {
        let text = page("watch-slow", |watch| {
            let begin_ns = 1_000_000 * US;
            let stay = CpuStay {
                by: redis_benchmark(),
                own: false,
                from_ns: begin_ns - 7969 * US,
                until_ns: begin_ns + held_us * US,
            };
            watch.slow.as_mut().unwrap().messages = vec![SlowMessage {
                direction: Direction::Rx,
                application: false,
                begin_ns,
                end_ns: begin_ns.saturating_add(length_ns),
                bytes: 64,
                local: None,
                peer: None,
                process: None,
                stages: vec![WatchedSum { stage: WatchStage::Runqueue, sum_ns: waited_us * 1000 }],
                stopped_ns: 0,
                throttled_ns: 0,
                stays: (held_us > 0).then_some(stay).into_iter().collect(),
            }];
        });
        let (_, text) = text.split_once("the longest").unwrap();
        text.split_once(" - ").unwrap().0.to_owned()
    };
    let holds = |held_us, waited_us, of: &str| {
        let text = slow(held_us, waited_us, 4100 * US);
        assert!(text.ends_with(of), "{text}");
    };
    holds(174, 4040, "(redis-benchmark (7) 174 µs; 3.87 ms unknown)");
    holds(4000, 4040, "(redis-benchmark (7) 4.00 ms)");
    holds(0, 4040, "(4.04 ms unknown)");
    // It had the CPU while the reader slept too.
    holds(3000, 2000, "(redis-benchmark (7) 3.00 ms)");
    // Longer than any time.
    assert!(!slow(3000, 0, u64::MAX).contains("redis-benchmark"));
    let all = |unknown_ns| {
        page("watch-slow", |watch| {
            let held = |by, ns| Held { by, ns };
            watch.waits.waited_ns = 1000;
            watch.waits.holders =
                vec![held(redis_benchmark(), 1000 - unknown_ns), held(Holder::Unknown, unknown_ns)];
        })
    };
    let named = "redis-benchmark (pid 7) had the CPU for 60.0 % of those waits; for 40.0 % it is unknown who had it -";
    assert!(all(400).contains(named), "{}", all(400));
    assert!(all(10).contains("had the CPU for 99.0 % of those waits -"), "{}", all(10));
}

#[test]
fn a_record_from_before_the_first_message_is_only_partial() {
    let mut record = with("watch", |watch| {
        (watch.watched_ns, watch.total.n, watch.send) = (0, 0, None);
        (watch.stages, watch.account) = (Vec::new(), WatchAccount::default());
    });
    record.state = State::Partial;
    let text = flat(&draw::short(&story::of(&record), 80, false));
    assert!(text.contains("this record has no measurement"), "{text}");
    assert!(text.contains("NOT WHOLE: watched for 0 ns; the record is partial"), "{text}");
}

/// The short view of programs that took this share of a CPU, in 10,000 calls, in each sample of a second: with the messages
/// of the samples, and those of the run.
fn overhead(share: f64, samples: [u64; 3], messages: u64) -> String {
    let ns = (share * 1e9) as u64;
    let mut programs = WatchPrograms::default();
    for messages in samples {
        let spread = WatchSpread::of(ns, messages);
        programs.add(&WatchPrograms { sampled_ns: 1_000_000_000, messages, runs: 10_000, ns, spread });
    }
    let record = with("watch", |watch| {
        watch.account.seen = messages;
        watch.programs = Some(programs);
    });
    draw::short(&story::of(&record), 80, false)
}

#[test]
fn programs_that_take_much_are_among_the_first_remarks_and_others_in_the_account() {
    // The mean is 91.7 µs, of 6.00 s. A tenth of it is 9.17 µs.
    for (share, samples, is_much) in [
        (0.04, [36_000, 40_000, 44_000], false),
        (0.06, [36_000, 40_000, 44_000], true),
        (0.04, [3_600, 4_000, 4_400], true),
        // Messages of one sample alone are no estimate.
        (0.04, [0, 0, 4_000], false),
    ] {
        let text = overhead(share, samples, 24_000);
        let second = text.lines().nth(2).unwrap();
        assert_eq!(
            second.starts_with("  - netfathom's BPF programs took"),
            is_much,
            "{share} {samples:?}: {text}"
        );
        assert_eq!(text.matches("BPF programs took").count(), 1, "{text}");
    }
}

#[test]
fn the_time_for_a_message_is_of_the_samples_unless_few_have_messages_or_most_calls_are_for_others() {
    // The run had a burst that no sample has: its messages do not count.
    let some = flat(&overhead(0.11, [900, 1_000, 1_100], 100_000));
    assert!(some.contains("took 11.0 % of a CPU, 110 µs ± 28 in 10.0 calls per message;"), "{some}");
    let alone = "netfathom's BPF programs took 11.0 % of a CPU; the cost";
    let few = flat(&overhead(0.11, [0, 0, 3_000], 100_000));
    assert!(few.contains(&format!("- {alone}")), "{few}");
    let others = flat(&overhead(0.11, [900, 1_000, 1_100], 500));
    let in_account = format!("overhead: {alone}");
    assert!(others.contains(&in_account) && !others.contains("- netfathom's BPF"), "{others}");
}

#[test]
fn the_reason_of_the_longest_direction_comes_first_and_its_remedy_next() {
    let order = |send_ns: f64| {
        let mut record = with("watch-both", |watch| {
            let spread = WatchSpread::default();
            let (sampled_ns, ns) = (1_000_000, 1_000_000);
            watch.programs = Some(WatchPrograms { sampled_ns, messages: 10, runs: 10, ns, spread });
            watch.send.as_mut().unwrap().total.mean_ns = send_ns;
        });
        record.findings = vec![finding("a remedy")];
        let text = flat(&draw::short(&story::of(&record), 80, false));
        let remarks = ["of receive time is", "of send time is", "a remedy", "BPF programs took"];
        remarks.map(|remark| text.find(remark).unwrap_or(usize::MAX))
    };
    let [receive, send, remedy, own] = order(1e3);
    assert!(receive < remedy && remedy < own && own < usize::MAX && send == usize::MAX);
    let [receive, send, remedy, own] = order(1e9);
    assert!(send < remedy && remedy < own && own < usize::MAX && receive == usize::MAX);
}

fn finding(remedy: &str) -> Finding {
    let [seen, cause, evidence, remedy] = ["slow", "", "", remedy].map(String::from);
    Finding { seen, cause, evidence, remedy }
}

#[test]
fn a_full_queue_of_new_connections_comes_before_all_remarks() {
    let mut record = fixture("watch-both");
    let evidence = "5 rx TCP_LISTEN_OVERFLOW".to_owned();
    record.findings = vec![finding("a remedy"), Finding { evidence, ..finding("accept sooner") }];
    let text = flat(&draw::short(&story::of(&record), 80, false));
    let remarks: Vec<&str> = text.split(" - ").skip(1).collect();
    assert_eq!(remarks[0], "slow: accept sooner");
    assert!(remarks[1].starts_with("82.3 %") && remarks[2].starts_with("slow: a remedy"), "{text}");
}

#[test]
fn pages_come_first_where_the_application_takes_most() {
    let is_first = |application_ns| {
        let mut record = fixture("watch-both");
        let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
        watch.application.as_mut().unwrap().mean_ns = application_ns;
        let seen = WatchResult::WAITS_FOR_PAGES.to_owned();
        record.findings = vec![finding("a remedy"), Finding { seen, ..finding("raise the limit") }];
        let text = flat(&draw::short(&story::of(&record), 80, false));
        text.split(" - ").nth(1).unwrap().contains(": raise the limit")
    };
    assert_eq!([564e3, 5.64e6].map(is_first), [false, true]);
}

#[test]
fn the_first_line_has_the_application_between_what_it_receives_and_sends() {
    let has = |text: &str, means: &str| assert!(text.contains(&format!(": mean {means} - ")), "{text}");
    has(&page("watch-both", |_| ()), "rx 924 µs, application 564 µs, tx 47.6 µs");
    let host = page("watch-both", |watch| watch.plan.target = WatchTarget::All);
    has(&host, "rx 924 µs, tx 47.6 µs");
    let own = |mean_ns| page("watch", |watch| watch.application.as_mut().unwrap().mean_ns = mean_ns);
    has(&own(5.7e6), "rx 91.7 µs, application 5.70 ms");
    has(&own(44.6e3), "91.7 µs from link layer to read, p99 745 µs");
}

#[test]
fn the_account_has_the_reason_of_what_has_no_times_or_is_left_out() {
    let shown = |lines: usize| {
        let mut record = fixture("watch");
        record.findings = vec![finding(&"word ".repeat(15 * lines))];
        let text = flat(&draw::short(&story::of(&record), 80, false));
        ["Account: ", "unfollowed 1 came before", " more line"].map(|what| text.contains(what))
    };
    let all: Vec<[bool; 3]> = (0..40).map(shown).collect();
    assert!(all.iter().all(|[account, reason, _]| account == reason), "{all:?}");
    assert!(all.contains(&[true; 3]) && all.contains(&[false, false, true]), "{all:?}");
}

#[test]
fn the_answer_is_of_all_processes_that_the_record_has() {
    let answer = |of: &[(&str, Vec<u32>)]| {
        let text = page("watch", |watch| {
            let all = of.iter().map(|(name, pids)| processes(watch, Some(*name), pids, 300)).collect();
            watch.processes = all;
        });
        text.split_once(": mean ").unwrap().0.to_owned()
    };
    assert_eq!(answer(&[("redis-server", vec![712])]), "VALID redis-server (pid 712)");
    assert_eq!(answer(&[("python3", vec![7, 8])]), "VALID python3 (2 processes)");
    assert_eq!(answer(&[("nginx", vec![7]), ("php-fpm", vec![8, 9])]), "VALID nginx (pid 7) and others");
}

#[test]
fn without_sums_the_answer_is_of_the_processes_that_were_seen() {
    let answer = |pids: &[u32]| {
        let text = page("watch", |watch| {
            for &pid in pids {
                WatchUser::add(&mut watch.users, WatchedProcess { pid, name: "postgres".into() });
            }
        });
        text.split_once(": mean ").unwrap().0.to_owned()
    };
    assert_eq!(answer(&[7, 8, 9, 8]), "VALID postgres (at least 3 processes)");
    // The first ended at once.
    assert_eq!(answer(&[7, 8, 8, 8, 8, 8, 8, 8, 8, 8]), "VALID postgres (pid 8)");
}

#[test]
fn slow_messages_that_were_asked_for_are_never_cut() {
    let Measurement::Watch(asked) = fixture("watch-slow").measurement else { panic!("another measurement") };
    let (slow, bound) = (asked.slow.clone(), asked.plan.slow);
    let record = with("watch-both", |watch| (watch.slow, watch.plan.slow) = (slow, bound));
    let text = draw::short(&story::of(&record), 80, false);
    assert_eq!(text.lines().filter(|line| line.contains("127.0.0.1:43350")).count(), 5, "{text}");
    assert!(text.contains(" more line"), "{text}");
}

#[test]
fn the_report_names_whom_it_is_about() {
    let heading = |name: &str| {
        let record = with("watch", |watch| watch.reader.as_mut().unwrap().name = name.into());
        let html = html::render(&record).unwrap();
        let (_, after) = html.split_once("<h1>").unwrap();
        after.split_once("</h1>").unwrap().0.to_owned()
    };
    assert_eq!(heading("redis-server"), "Messages of redis-server (pid 712)");
    assert!(!heading("<b>").contains("<b>"));
}

#[test]
fn an_answer_of_many_words_keeps_its_figures() {
    let text = page("watch", |watch| watch.account.refused = watch.account.seen / 2);
    let (answer, _) = text.split_once(" - ").unwrap();
    assert!(answer.contains("found no room in their socket; mean ") && answer.contains(", p99 "), "{answer}");
}

#[test]
fn what_is_sent_over_unix_sockets_is_in_the_account() {
    let text = page("watch-both", |watch| {
        let account = &mut watch.send.as_mut().unwrap().account;
        *account = WatchSendAccount {
            unix: Some(WatchSent { messages: 4321, bytes: 86_420 }),
            ..WatchSendAccount::default()
        };
    });
    assert!(text.contains("seen - 18,073") && text.contains("over Unix 4,321 - "), "{text}");
}

#[test]
fn of_many_processes_with_a_cpu_the_one_that_had_nearly_all_of_the_time_is_named() {
    let text = page("watch", |watch| {
        let held = |pid, ns| Held { by: Holder::Process { name: "python3".into(), pid, cgroup: None }, ns };
        watch.waits.waited_ns = 100;
        watch.waits.holders = vec![held(7, 64), held(8, 1), held(9, 1)];
    });
    let named = "python3 (3 processes, mostly pid 7) had the CPU for 66.0 % of those waits";
    assert!(text.contains(named), "{text}");
}

#[test]
fn messages_of_both_protocols_are_in_one_sum_and_that_is_shown() {
    let text = |udp: u64, by_socket: bool| {
        page("watch", |watch| {
            (watch.account.seen, watch.account.udp, watch.plan.by_socket) = (50_000, udp, by_socket);
        })
    };
    let remark = "40.0 % of received messages are UDP, the others TCP: the times are of both";
    assert!(text(20_000, false).contains(&format!("{remark}; --sockets lists single sockets")));
    assert!(text(20_000, true).contains(remark) && !text(20_000, true).contains("--sockets lists"));
    for udp in [0, 499, 49_501, 50_000] {
        assert!(!text(udp, false).contains("are UDP"), "{udp}");
    }
}

fn processes(watch: &WatchResult, name: Option<&str>, pids: &[u32], n: u64) -> WatchProcesses {
    let total = WatchTimes { n, ..WatchTimes::from(&watch.total) };
    let receive = SocketWay { total, stages: Vec::new() };
    let sockets = WatchSocket { receive, ..WatchSocket::default() };
    WatchProcesses { name: name.map(str::to_owned), pids: pids.into(), sockets }
}

#[test]
fn processes_come_first_of_a_whole_host_and_sockets_where_they_were_asked_for() {
    const PROCESSES: &str = "Processes with the most messages";
    const SOCKETS: &str = "Sockets with the most messages";
    let record = |target: WatchTarget, by_socket: bool, pids: &[u32]| {
        with("watch", |watch| {
            (watch.plan.target, watch.plan.by_socket) = (target, by_socket);
            let nginx = processes(watch, Some("nginx"), pids, 300);
            let others = processes(watch, None, &[], 40);
            let peer = Some("10.0.0.2:40001".into());
            watch.sockets = vec![WatchSocket { peer, ..nginx.sockets.clone() }];
            watch.other_sockets = Some(others.sockets.clone());
            watch.processes = vec![nginx, others];
        })
    };
    let short = |target, by_socket, pids: &[u32]| {
        draw::short(&story::of(&record(target, by_socket, pids)), 80, false)
    };
    let follows = |text: &str, first: &str, then: &str| {
        let (first, then) = (text.find(first), text.find(then));
        assert!(first.is_some() && then.is_some() && first < then, "{text}");
    };
    let host = short(WatchTarget::All, false, &[7, 8]);
    follows(&host, PROCESSES, "Receive (rx)");
    let rows = flat(&host);
    assert!(rows.contains(" nginx (2 processes) 300 ") && rows.contains(" all others 40 "), "{host}");
    assert!(!host.contains(SOCKETS), "{host}");
    follows(&contract::sane(&record(WatchTarget::All, false, &[7, 8])), "Receive (rx)", SOCKETS);
    follows(&short(WatchTarget::All, true, &[7, 8]), "Receive (rx)", SOCKETS);
    let server = short(WatchTarget::Port(80), true, &[7, 8]);
    follows(&server, "Receive (rx)", PROCESSES);
    follows(&server, PROCESSES, SOCKETS);
    let alone = short(WatchTarget::Port(80), true, &[7]);
    assert!(!alone.contains(PROCESSES) && alone.contains(SOCKETS), "{alone}");
}

#[test]
fn a_socket_without_another_end_has_its_own_beside_two_directions_too() {
    let record = with("watch-both", |watch| {
        watch.plan.by_socket = true;
        let sums = processes(watch, None, &[], 300).sockets;
        watch.sockets = vec![WatchSocket { local: Some("127.0.0.1:9922".into()), ..sums }];
        watch.other_sockets = Some(WatchSocket::default());
    });
    let text = flat(&draw::short(&story::of(&record), 80, false));
    assert!(text.contains(" own 127.0.0.1:9922 300 "), "{text}");
}

#[test]
fn sockets_that_were_asked_for_are_not_cut() {
    let record = with("watch-both", |watch| {
        watch.plan.by_socket = true;
        let sums = processes(watch, None, &[], 300).sockets;
        let socket = |n: u16| WatchSocket { peer: Some(format!("10.0.0.2:{}", 40_000 + n)), ..sums.clone() };
        watch.sockets = (0..8).map(socket).collect();
        watch.other_sockets = Some(sums.clone());
    });
    let page = story::of(&record);
    let text = draw::short(&page, 80, false);
    assert_eq!(text.matches("10.0.0.2:4000").count(), 8, "{text}");
    assert!(text.contains("all others"), "{text}");
}

#[test]
fn of_a_send_call_that_is_not_seen_there_is_no_share() {
    let text = page("watch-both", |watch| {
        let send = watch.send.as_mut().unwrap();
        send.datagram_calls = Some(false);
        send.stages.retain(|of| of.stage == WatchStage::Qdisc);
    });
    assert!(text.contains(", tx 47.6 µs (from the device's queue on) - "), "{text}");
    assert!(text.contains("of receive time is") && !text.contains("of send time is"), "{text}");
}

#[test]
fn sums_that_no_run_has_are_shown_too() {
    let text = page("watch-both", |watch| {
        let send = watch.send.as_mut().unwrap();
        for total in [&mut watch.total, &mut send.total] {
            (total.n, total.sum_ns) = (u64::MAX, i64::MAX);
        }
        let spread = WatchSpread::default();
        watch.programs = Some(WatchPrograms { sampled_ns: 1_000_000, messages: 1, runs: 10, ns: 1, spread });
    });
    assert!(text.contains("BPF programs took"), "{text}");
}

#[test]
fn datagrams_that_gro_joined_have_a_mean_size() {
    let text = |udp: fn(u64) -> u64| {
        page("watch", |watch| {
            watch.account.udp = udp(watch.account.seen);
            watch.account.bytes_timed = watch.account.timed * 24_000;
        })
    };
    let joined = "what UDP gets at once, 23.4 KiB on average, with UDP_GRO several datagrams";
    assert!(text(|seen| seen).contains(joined), "{}", text(|seen| seen));
    assert!(!text(|seen| seen / 2).contains("on average,"), "{}", text(|seen| seen / 2));
}

#[test]
fn a_message_larger_than_a_packet_is_what_tcp_gets_at_once() {
    let text = |bytes: u64| page("watch", |watch| watch.account.bytes_timed = watch.account.timed * bytes);
    assert!(
        text(94_000).contains("what TCP gets at once, 91.8 KiB on average, not what one call wrote"),
        "{}",
        text(94_000)
    );
    assert!(!text(1000).contains("what TCP gets at once"), "{}", text(1000));
    // The rate is of the time in which messages were followed.
    assert!(
        text(1000).contains("99.99 % of 50,001 received messages (8.33k/s) have times, in 6.00 s"),
        "{}",
        text(1000)
    );
}

#[test]
fn sockets_that_no_thread_reads_have_rows_of_their_own() {
    let text = page("watch", |watch| {
        watch.other_sockets = Some(WatchSocket::default());
        let (local, process) =
            (Some("127.0.0.1:53".into()), WatchedProcess { pid: 8, name: "worker".into() });
        watch.unread = vec![WatchUnread { local, process, messages: 1640, for_ns: 1, stopped: true }];
    });
    for cell in ["own 127.0.0.1:53, 1,640 unread", "worker (8, stopped)"] {
        assert!(text.contains(cell), "{cell}: {text}");
    }
}
