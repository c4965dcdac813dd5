//! `netfathom watch`: where the messages of an application spend their time, from the link layer to its read, and from its
//! call that sends to the device.

use itertools::Itertools as _;
use netfathom_model::path::Direction;
use netfathom_model::plan::WatchTarget;
use netfathom_model::print::{bytes, counted, listed_first, rate};
use netfathom_model::record::{
    WatchAccount, WatchDrop, WatchResult, WatchSend, WatchSendAccount, WatchSent, WatchSlow, WatchStage,
    WatchedStage,
};
use netfathom_model::verdict::Finding;

use super::place::Site;
use super::{Body, Story, number};
use crate::page::{Page, Table};

mod application;
mod overhead;
mod protocols;
mod slow;
mod sockets;
mod way;
mod who;

use overhead::{distorts, own, programs};
use way::Way;

impl Story for WatchResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        let ways = ways(self);
        // Two directions would leave no room for what was asked for.
        slow::slow(&mut page, self);
        // Which program the messages are of is the first question there.
        let is_host = self.plan.target == WatchTarget::All;
        if is_host {
            sockets::processes(&mut page, self);
        }
        let is_long = ways.len() > 1 || self.slow.is_some();
        ways.iter().for_each(|way| way.stages(&mut page, is_long));
        if !is_host {
            sockets::processes(&mut page, self);
        }
        sockets::sockets(&mut page, self);
        account(&mut page, self);
        let waited = ", also while no message waited";
        super::contention::cpu_waits(
            &mut page,
            "Who had the CPU while its threads waited for one",
            &self.waits,
            waited,
        );
        ways.iter().for_each(|way| way.percentiles(&mut page));
        let plan = plan(self);
        super::asked_for(&mut page, &plan);
        Body {
            title: format!("Messages of {}", who::name(self)).into(),
            done: format!("watched for {}", number::seconds(self.watched_ns)),
            page,
            remarks: remarks(self),
            plan,
            left_out: &[],
        }
    }

    /// Such as `redis-server (pid 712): 24.1 µs from link layer to read, p99 81.0 µs`.
    fn answer(&self) -> String {
        let name = who::name(self);
        let answers = means(self);
        match (answers.is_empty(), self.messages()) {
            (false, _) if answers.len() > 1 => {
                format!("{name}: {}mean {}", refused(self), answers.join(", "))
            }
            (false, _) => format!("{name}: {}{}", refused(self), answers.join(", ")),
            (true, 0) if self.watched_ns == 0 => format!("{name}: this record has no measurement"),
            (true, 0) => {
                let what = if self.plan.watches(Direction::Rx) { "came" } else { "was sent" };
                format!("{name}: no message {what} in {}", followed(self))
            }
            (true, _) => format!("{name}: no message has times"),
        }
    }

    /// The application, or those that it asks, where that takes most, and the largest stage, which is the reason for the
    /// finding.
    fn before_remedy(&self) -> usize {
        usize::from(application::takes_most(self)) + 1
    }

    /// No time has what a client waits until it tries again, a second or longer; no stage has that of pages.
    fn comes_first(&self, finding: &Finding) -> bool {
        finding.evidence.contains(WatchDrop::LISTEN_OVERFLOW)
            || finding.seen == WatchResult::WAITS_FOR_PAGES && application::takes_most(self)
    }

    fn site(&self) -> Site {
        Site::Here
    }
}

/// The sockets that are watched.
pub fn sockets(target: &WatchTarget) -> String {
    match target {
        WatchTarget::All => "all sockets of this host".to_owned(),
        WatchTarget::Process(pid) => format!("sockets of process {pid}, and those that they accept"),
        WatchTarget::Port(port) => format!("sockets with local port {port}"),
        WatchTarget::Name(name) => format!("sockets of the program {name}, and those that they accept"),
        WatchTarget::Cgroup(path) => {
            format!("sockets of processes in cgroup {path}, and those that they accept")
        }
        WatchTarget::Container(name) => format!("sockets of container {name}, and those that they accept"),
        WatchTarget::Flow { local, peer } => format!("the connection from {local} to {peer}"),
    }
}

fn plan(result: &WatchResult) -> Vec<(&'static str, String)> {
    let plan = &result.plan;
    let sends_datagrams = result.send.as_ref().is_some_and(|send| send.datagram_calls.is_some());
    let protocols = if result.datagrams || sends_datagrams { "TCP and UDP" } else { "TCP" };
    let unix = if plan.follows_unix() { "; Unix sockets, received" } else { "" };
    let mut words = vec![
        ("watched", sockets(&plan.target)),
        ("protocol", format!("{protocols} over IPv4 and IPv6, {}{unix}", way::named(&plan.directions))),
        ("time", plan.time_ns.map_or("until it is ended".into(), number::seconds)),
    ];
    words.extend(plan.slow.map(|bound| ("slow messages", slow::named(bound))));
    words.extend(plan.budget.map(|part| ("budget", format!("{} of a CPU", number::percent(part)))));
    words
}

/// As a request goes: it is received, answered, and the answer is sent. One direction alone has its tail, unless the time is
/// elsewhere.
fn means(result: &WatchResult) -> Vec<String> {
    let ways: Vec<Way<'_>> = ways(result).into_iter().filter(|way| way.total.n > 0).collect();
    let own = application::answer(result).filter(|_| ways.len() > 1 || application::takes_most(result));
    let beside = ways.len() > 1 || own.is_some();
    let mut means: Vec<String> = ways.iter().rev().map(|way| way.answer(beside)).collect();
    let place = means.len().min(1);
    means.splice(place..place, own);
    means
}

/// What came and was not read is no part of the times.
fn refused(result: &WatchResult) -> String {
    let account = &result.account;
    if !account.refuses_many() {
        return String::new();
    }
    let share = account.refused as f64 / account.seen as f64;
    format!("{} of the messages found no room in their socket; ", number::percent(share))
}

/// Where the time of what comes in begins.
fn begin(result: &WatchResult) -> &'static str {
    let of_network = |stage: &&WatchedStage| matches!(stage.stage, WatchStage::Protocol | WatchStage::Lock);
    let networked: u64 = result.stages.iter().filter(of_network).map(|stage| stage.times.n).sum();
    match (result.plan.follows_unix(), networked) {
        (false, _) => "link layer",
        (true, 0) => "sender's call",
        (true, _) => "link layer (Unix: sender's call)",
    }
}

/// The same of what is sent. UDP has the stage of the call where that is seen.
fn send_begin(send: &WatchSend) -> &'static str {
    let called: u64 =
        send.stages.iter().filter(|of| of.stage == WatchStage::Socket).map(|of| of.times.n).sum();
    match called {
        0 if send.datagram_calls == Some(false) => way::QUEUE,
        _ if lacks_calls(send) => "send call or device queue",
        _ => way::CALL,
    }
}

/// Whether calls that send by UDP are not seen. A few of another program on that port change no time by much.
fn lacks_calls(send: &WatchSend) -> bool {
    let WatchSendAccount { seen, udp, .. } = send.account;
    send.datagram_calls == Some(false) && udp > 0 && udp as f64 >= protocols::LEAST * seen as f64
}

fn lacks(send: &WatchSend, unix: bool) -> Vec<&'static str> {
    let of_udp =
        lacks_calls(send).then_some("stage socket of UDP requires fentry, which this kernel does not load");
    let unix = unix.then_some("what is sent over Unix sockets is counted, without times");
    [of_udp, unix].into_iter().flatten().collect()
}

/// Without hooks of what TCP sends there are times of Unix sockets.
fn answers_by_unix(result: &WatchResult) -> Option<&'static str> {
    (result.plan.follows_unix() && result.application.is_some() && result.answer.is_none())
        .then_some("application is of Unix sockets alone; those of TCP and UDP require Linux 6.16")
}

/// Those that were asked for, sending first as in `stack`.
fn ways(result: &WatchResult) -> Vec<Way<'_>> {
    let receive = result.plan.watches(Direction::Rx).then(|| Way {
        direction: Direction::Rx,
        lacks: answers_by_unix(result).into_iter().collect(),
        from: begin(result),
        total: &result.total,
        stages: &result.stages,
        beside: vec![
            ("application *", "last byte read to first byte sent, per socket", result.application.as_ref()),
            ("answer **", "of a client, first byte sent to next byte read", result.answer.as_ref()),
        ],
    });
    let send = result.send.as_ref().map(|send| Way {
        direction: Direction::Tx,
        lacks: lacks(send, result.plan.follows_unix()),
        from: send_begin(send),
        total: &send.total,
        stages: &send.stages,
        beside: vec![("acknowledged *", "device to the ACK of the last byte", Some(&send.acknowledged))],
    });
    [send, receive].into_iter().flatten().collect()
}

fn slow_remarks(result: &WatchResult) -> impl Iterator<Item = String> {
    let (slow, bound) = (result.slow.as_ref(), result.plan.slow);
    let taken = slow.and_then(|slow| slow::remark(slow, bound));
    let answers = |slow: &WatchSlow| slow.seen_answers().max(slow.applications_by_netfathom);
    let application = result.application.as_ref().filter(|_| slow.map_or(0, answers) == 0);
    taken.into_iter().chain(slow::of_application(bound, application))
}

/// The application, or those that it asks, first where that takes most, then the direction that takes longest. What distorts the
/// times comes before the other one, so that the short view has it.
fn remarks(result: &WatchResult) -> Vec<String> {
    let mut ways = ways(result);
    ways.sort_by(|a, b| b.total.mean_ns.total_cmp(&a.total.mean_ns));
    let mut most = ways.iter().filter_map(|way| way.most(ways.len() > 1, &result.waits));
    let timed = |seen: u64, share: f64, what: &str| {
        let rate = rate(seen as f64 * 1e9 / result.followed_ns().max(1) as f64);
        // The counts of two ways make more than a line; the account has them.
        let of = if ways.len() > 1 { String::new() } else { format!("{} ", number::count(seen)) };
        (seen > 0).then(|| format!("{} of {of}{what} ({rate})", number::percent_down(share)))
    };
    let (send, account) = (result.send.as_ref().map(|send| &send.account), &result.account);
    let sent = if ways.len() > 1 { "sent" } else { "sent messages" };
    let sent = send.and_then(|send| timed(send.seen, send.share_timed(), sent));
    let received = timed(account.seen, account.share_timed(), "received messages");
    let timed: Vec<String> = [sent, received].into_iter().flatten().collect();
    let timed = (!timed.is_empty()).then(|| {
        format!(
            "{} have times, in {}{}",
            timed.join(" and "),
            followed(result),
            merged(result, timed.len() > 1)
        )
    });
    let is_most = application::takes_most(result);
    let application = application::remark(result, is_most);
    let (longest, application) = if is_most { (application, None) } else { (None, application) };
    let own = programs(result).filter(|of| distorts(of, result)).map(|of| own(of, result));
    let first = longest.into_iter().chain(most.next()).chain(slow_remarks(result)).chain(own);
    let others = [protocols::remark(result), application, timed, joined(result)];
    first.chain(most).chain(others.into_iter().flatten()).collect()
}

/// The payload of a larger message fits into no single packet of an Ethernet.
const MTU: f64 = 1500.0;

/// Where a message is no unit of the application: what GRO joined, or a part of a stream.
fn joined(result: &WatchResult) -> Option<String> {
    let account = &result.account;
    let mean = account.bytes_timed as f64 / account.timed.saturating_add(account.merged).max(1) as f64;
    let (protocol, is) = match account.udp {
        0 => ("TCP", "not what one call wrote"),
        n if n == account.seen => ("UDP", "with UDP_GRO several datagrams"),
        _ => return None,
    };
    (!result.plan.follows_unix() && mean > MTU).then(|| {
        format!("a received message is what {protocol} gets at once, {} on average, {is}", bytes(mean))
    })
}

/// A smaller part stands in the account alone.
const LEAST_MERGED: f64 = 0.01;

/// What part of the timed messages has no times of its own.
fn merged(result: &WatchResult, beside: bool) -> String {
    let account = &result.account;
    let sent = result.send.as_ref().map(|send| ("sent", send.account.seen, send.account.merged));
    let ways = sent.into_iter().chain([("received", account.seen, account.merged)]);
    let parts: Vec<String> = ways
        .filter(|&(_, seen, merged)| merged as f64 > LEAST_MERGED * seen as f64)
        .map(|(way, seen, merged)| {
            let of = if beside { format!(" of {way}") } else { String::new() };
            format!("{}{of}", number::percent(merged as f64 / seen.max(1) as f64))
        })
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("; {} share the times of the message before (merged)", parts.join(" and "))
    }
}

/// In a shorter run the first samples may cost more than the budget allows.
const EVENS_OUT_NS: u64 = 60_000_000_000;

/// How long messages were followed, and of how long.
fn followed(result: &WatchResult) -> String {
    let (followed, whole) = (number::seconds(result.followed_ns()), number::seconds(result.watched_ns));
    match (result.plan.budget, result.sampling) {
        (Some(budget), Some(sampling)) => {
            let spent = sampling.spent_ns as f64 / result.watched_ns.max(1) as f64;
            let over = match (spent > budget, result.watched_ns < EVENS_OUT_NS) {
                (false, _) => "budget",
                (true, true) => "budget for longer runs",
                (true, false) => "over the budget of",
            };
            let [spent, budget] = [spent, budget].map(number::percent);
            format!("{followed} of {whole} ({spent} of a CPU, {over} {budget})")
        }
        _ => whole,
    }
}

/// Reasons in a line.
const MOST_DROPS: usize = 6;

fn account(page: &mut Page, result: &WatchResult) {
    page.main("Account: what became of the messages");
    let receives = result.plan.watches(Direction::Rx);
    let of_sent = result.send.as_ref().map(|send| ("sent", sent(send)));
    let send = result.send.as_ref().map(|send| &send.account);
    let head = if send.is_some() { "received" } else { "messages" };
    let of_received = receives.then(|| (head, received(&result.account, result.plan.follows_unix())));
    let columns: Vec<Column> = [of_sent, of_received].into_iter().flatten().collect();
    table(page, &columns);
    let overhead = programs(result).filter(|of| !distorts(of, result));
    overhead.for_each(|programs| page.note(&format!("overhead: {}", own(programs, result))));
    if columns.len() > 1 || result.slow.is_some() {
        // The tables of two directions leave no room for it, nor do slow messages.
        page.rest();
    }
    if let Some(account) = send {
        let (bytes, again) = (number::count(account.bytes_timed), number::count(account.retransmitted));
        page.note(&format!("sent: timed messages have {bytes} bytes; {again} segments were retransmitted"));
        if let Some(WatchSent { bytes, .. }) = account.unix {
            let bytes = number::count(bytes);
            page.note(&format!("sent over Unix sockets, and not among these: {bytes} bytes"));
        }
    }
    if receives {
        read(page, result);
    }
    let dropped = result.drops.iter().map(|drop| {
        let way = if drop.direction == Direction::Tx { "sent" } else { "received" };
        format!("{} {way}: {}", number::count(drop.packets), drop.reason)
    });
    if !result.drops.is_empty() {
        let listed = listed_first(MOST_DROPS, dropped);
        page.note(&format!("packets that the kernel dropped, by its reason: {listed}"));
    }
}

fn read(page: &mut Page, result: &WatchResult) {
    let account = &result.account;
    let bytes = account.bytes_read.max(1) as f64;
    let timed = number::percent_down((account.bytes_timed as f64 / bytes).min(1.0));
    let (read, threads) = (number::count(account.bytes_read), counted(account.threads, "thread"));
    // Of what is read after a sample, messages from before it are timed alone.
    let outside = match account.bytes_outside {
        0 => String::new(),
        bytes => format!("; {} came to half-closed connections, in no message", number::count(bytes)),
    };
    page.note(&match result.sampling {
        None => format!(
            "received: timed messages have {timed} of the {read} bytes read{outside}; {threads} followed"
        ),
        Some(_) => {
            format!(
                "received: timed messages have {} bytes; {threads} followed",
                number::count(account.bytes_timed)
            )
        }
    });
}

type Row = (&'static str, u64, &'static str);

/// The rows of one direction, under its name.
type Column = (&'static str, Vec<Row>);

/// What both directions have stands in one row. What befell no message has none.
fn table(page: &mut Page, columns: &[Column]) {
    let mut table = Table::of("<").figures(columns.iter().map(|(head, _)| head)).words([""]);
    for name in columns.iter().rev().flat_map(|(_, rows)| rows).map(|row| row.0).unique() {
        let of = |(_, rows): &Column| rows.iter().find(|row| row.0 == name).copied();
        let rows: Vec<Option<Row>> = columns.iter().map(of).collect();
        let known: Vec<Row> = rows.iter().flatten().copied().collect();
        if name == "seen" || known.iter().any(|row| row.1 > 0) {
            let counts = rows.iter().map(|row| row.map_or_else(|| "-".into(), |row| number::count(row.1)));
            let why = if known.iter().all(|row| row.2 == known[0].2) { known[0].2 } else { "" };
            table.row_open([name.to_owned()].into_iter().chain(counts), why);
        }
    }
    page.table(table);
}

const MERGED: &str = "many waited in one socket: they have the times of the one before";
const CROWDED: &str = "too many waited in one socket";
const UNFOLLOWED: &str = "came before their thread first read, or a context switch was missed";
const UNFOLLOWED_UNIX: &str = "came before their thread first read, a context switch was missed, or were read before they were announced (Unix)";
const OPEN: &str = "in the end, or when the connection was closed";

/// All that was seen, what became of it, and what waits.
fn rows(
    seen: Row,
    outcomes: &[(&'static str, u64)],
    meanings: &[&'static str],
    open: (&'static str, i64),
) -> Vec<Row> {
    let outcomes = outcomes.iter().zip(meanings).map(|(&(name, count), &meaning)| (name, count, meaning));
    let open = (open.0, open.1.max(0).unsigned_abs(), OPEN);
    [seen].into_iter().chain(outcomes).chain([open]).collect()
}

fn sent(WatchSend { account, datagram_calls, .. }: &WatchSend) -> Vec<Row> {
    let by = if datagram_calls.is_some() { "one per send call, or datagram" } else { "one per send call" };
    let seen = ("seen", account.seen, by);
    let dropped = "datagrams, by the queueing discipline";
    let meanings = ["", MERGED, CROWDED, "no program saw them go to the device", dropped];
    let unix = account.unix.map(|unix| ("over Unix", unix.messages, "calls that sent, without times"));
    let all = rows(seen, &account.outcomes(), &meanings, ("unsent", account.unsent()));
    // Where nothing else was sent there is nothing to time.
    let is_unix = account.seen == 0 && unix.is_some_and(|row| row.1 > 0);
    all.into_iter().filter(|_| !is_unix).chain(unix).collect()
}

fn received(account: &WatchAccount, unix: bool) -> Vec<Row> {
    let (seen, unfollowed) = match unix {
        false => ("segments and datagrams, after GRO", UNFOLLOWED),
        true => ("segments, datagrams and messages of Unix sockets", UNFOLLOWED_UNIX),
    };
    let seen = ("seen", account.seen, seen);
    let meanings = [
        "",
        MERGED,
        "the socket had no room: TCP's come again, UDP's are lost",
        "no stamp of the link layer",
        unfollowed,
        CROWDED,
    ];
    rows(seen, &account.outcomes(), &meanings, ("unread", account.unread()))
}
