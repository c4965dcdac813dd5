//! What an application takes and what it waits for, beside its messages.

use netfathom_model::record::Distribution;

use super::*;

/// The first three remarks on an application with these mean times, of its own and to the answers of others, with as many of each
/// as it has messages of its own; 0: none.
fn first_remarks(own_ns: f64, answer_ns: f64, change: impl FnOnce(&mut WatchResult)) -> Vec<String> {
    let mut record = with("watch-both", |watch| {
        let own = watch.application.clone().unwrap();
        let of = |mean_ns: f64| {
            let n = if mean_ns > 0.0 { own.n } else { 0 };
            Distribution { n, mean_ns, sum_ns: (mean_ns * n as f64) as i64, ..own.clone() }
        };
        (watch.application, watch.answer) = (Some(of(own_ns)), Some(of(answer_ns)));
        change(watch);
    });
    record.findings = vec![finding("a remedy")];
    let text = flat(&draw::short(&story::of(&record), 80, false));
    text.split(" - ").skip(1).take(3).map(str::to_owned).collect()
}

/// The mean times of its messages are 924 and 47.6 µs.
#[test]
fn an_application_that_takes_longer_than_its_messages_comes_first_with_what_to_do() {
    let remarks = first_remarks(17.9e6, 0.0, |_| ());
    let [first, stage, remedy] = &remarks[..] else { panic!("three") };
    assert!(first.starts_with("from its read to its answer the application takes 17.9 ms, p99 "), "{first}");
    assert!(first.contains("(`perf top -p 712`) or waits for (`strace -f -T -p 712`; "), "{first}");
    assert!(first.ends_with("pages read from disk: `ps -o maj_flt -p 712`)"), "{first}");
    assert!(stage.starts_with("82.3 % of receive time is"), "{stage}");
    assert!(remedy.contains("a remedy"), "{remedy}");
    let host = |watch: &mut WatchResult| watch.plan.target = WatchTarget::All;
    for others in [first_remarks(900e3, 0.0, |_| ()), first_remarks(17.9e6, 0.0, host)] {
        assert!(others[0].starts_with("82.3 % of receive time is"), "{others:?}");
        assert!(others.iter().all(|remark| !remark.contains("perf top")), "{others:?}");
    }
}

#[test]
fn an_application_that_waits_for_answers_of_others_is_not_what_to_look_at() {
    let waits = "it answers after 17.9 ms, and those that it asks meanwhile after 17.0 ms, p99 3.77 ms";
    for (by_socket, advice) in [(false, " (--sockets lists peers)"), (true, "")] {
        let remarks = first_remarks(17.9e6, 17e6, |watch| watch.plan.by_socket = by_socket);
        assert_eq!(remarks[0], format!("{waits}: watch these{advice}"));
        assert!(remarks[1].starts_with("82.3 % of receive time is"), "{remarks:?}");
    }
    // Others answer in 67 % of its time.
    let computes = first_remarks(17.9e6, 12e6, |_| ());
    assert!(computes[0].contains("the application takes 17.9 ms"), "{computes:?}");
}

#[test]
fn a_client_has_its_answers_first_unless_its_own_messages_take_that_time() {
    let remarks = first_remarks(0.0, 100e6, |_| ());
    let answered = "its requests are answered after 100 ms, p99 3.77 ms; sending and receiving a message take 0.972 % of that";
    assert_eq!(remarks[0], format!("{answered}: watch the server"));
    assert!(remarks[1].starts_with("82.3 % of receive time is"), "{remarks:?}");
    let [far, here] = [false, true].map(|same_host| {
        first_remarks(0.0, 100e6, |watch| {
            let acknowledged = &mut watch.send.as_mut().unwrap().acknowledged;
            (acknowledged.n, acknowledged.mean_ns) = (1, 60e6);
            watch.same_host = same_host;
        })
    });
    assert_eq!(here[0], format!("{answered}: watch the server"));
    let path = ", their acknowledgments take 60.0 ms: if `ping` shows as long a round trip it is the path; otherwise watch the server";
    assert_eq!(far[0], format!("{answered}{path}"));
    let busy = first_remarks(0.0, 1.5e6, |_| ());
    assert!(busy[0].starts_with("82.3 % of receive time is"), "{busy:?}");
}
