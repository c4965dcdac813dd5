//! What the application takes between its read and its answer, and what it waits for others.

use netfathom_model::plan::WatchTarget;
use netfathom_model::record::{Distribution, WatchResult};

use super::way::totals;
use crate::story::number;

/// From this part of the application's own time on, the answers of others explain it. Where one watched program asks
/// another, both have that time: it is about half of theirs.
const MUCH: f64 = 0.7;

/// From this part of the time to an answer on, the path may be why it is late.
const LATE: f64 = 0.5;

/// Its mean time in the first line.
pub(super) fn answer(result: &WatchResult) -> Option<String> {
    own(result).map(|own| format!("application {}", number::mean(own.mean_ns)))
}

/// Such as `from its read to its answer the application takes 44.6 µs, p99 162 µs`, or what it waits for others, with what to
/// do where that is most.
pub(super) fn remark(result: &WatchResult, is_most: bool) -> Option<String> {
    match (asked(result), times(result.application.as_ref())) {
        (Some(answers), None) => Some(client(result, answers, is_most)),
        (Some(answers), Some(own)) => Some(proxy(result, answers, own, is_most)),
        (None, own) => own.map(|own| server(result, own, is_most)),
    }
}

fn server(result: &WatchResult, own: &Distribution, is_most: bool) -> String {
    let advice = if is_most { advice(&result.pid_argument()) } else { String::new() };
    format!("from its read to its answer the application takes {}{advice}", mean_and_tail(own))
}

fn advice(pid: &str) -> String {
    format!(
        ", longer than its messages take: find out what it computes (`perf top -p {pid}`) or waits for (`strace -f -T -p {pid}`; pages read from disk: `ps -o maj_flt -p {pid}`)"
    )
}

/// Such as `it answers after 5.31 ms, and those that it asks meanwhile after 5.20 ms, p99 6.10 ms`.
fn proxy(result: &WatchResult, answers: &Distribution, own: &Distribution, is_most: bool) -> String {
    let (waits, own) = (mean_and_tail(answers), number::mean(own.mean_ns));
    let advice = match (is_most, result.plan.sums_sockets()) {
        (false, _) => "",
        (true, false) => ": watch these (--sockets lists peers)",
        (true, true) => ": watch these",
    };
    format!("it answers after {own}, and those that it asks meanwhile after {waits}{advice}")
}

/// Such as `its requests are answered after 5.13 ms, p99 5.60 ms; receiving a message takes 0.353 % of that`.
fn client(result: &WatchResult, answers: &Distribution, is_most: bool) -> String {
    let way = if result.send.is_some() {
        "sending and receiving a message take"
    } else {
        "receiving a message takes"
    };
    let part = number::percent(message_ns(result) / answers.mean_ns.max(f64::MIN_POSITIVE));
    let advice = if is_most { where_to_look(result, answers) } else { String::new() };
    format!("its requests are answered after {}; {way} {part} of that{advice}", mean_and_tail(answers))
}

/// An acknowledgment takes a round trip, or comes with the answer. Within this host there is no path.
fn where_to_look(result: &WatchResult, answers: &Distribution) -> String {
    let acknowledged = times(result.send.as_ref().map(|send| &send.acknowledged));
    let is_late = |times: &&Distribution| times.mean_ns > LATE * answers.mean_ns && !result.same_host;
    match acknowledged.filter(is_late) {
        Some(times) => format!(
            ", their acknowledgments take {}: if `ping` shows as long a round trip it is the path; otherwise watch the server",
            number::mean(times.mean_ns)
        ),
        None => ": watch the server".into(),
    }
}

fn mean_and_tail(times: &Distribution) -> String {
    format!("{}, p99 {}", number::mean(times.mean_ns), number::time(times.p99_ns))
}

/// Whether that is longer than a message takes, either way.
pub(super) fn takes_most(result: &WatchResult) -> bool {
    let most = totals(result).map(|total| total.mean_ns).fold(0.0, f64::max);
    let elsewhere = match (asked(result), own(result)) {
        // It has in it what is sent and received here.
        (Some(answers), _) => answers.mean_ns - message_ns(result),
        (None, Some(own)) => own.mean_ns,
        (None, None) => return false,
    };
    most > 0.0 && elsewhere > most
}

/// The application's own time. Programs of a whole host have no common one.
fn own(result: &WatchResult) -> Option<&Distribution> {
    times(result.application.as_ref()).filter(|_| result.plan.target != WatchTarget::All)
}

/// The time to answers, where it is what the application mostly waits for. Of a host some programs ask, others answer.
fn asked(result: &WatchResult) -> Option<&Distribution> {
    let own_ns = times(result.application.as_ref()).map_or(0, |own| own.sum_ns);
    times(result.answer.as_ref())
        .filter(|answers| answers.sum_ns as f64 >= MUCH * own_ns as f64)
        .filter(|_| result.plan.target != WatchTarget::All)
}

/// To send a message and to receive one.
fn message_ns(result: &WatchResult) -> f64 {
    totals(result).map(|total| total.mean_ns).sum()
}

fn times(of: Option<&Distribution>) -> Option<&Distribution> {
    of.filter(|times| times.n > 0)
}
