//! What differs from the original.

use netfathom_model::plan::{MessagePlan, MessageTest, Place, ReproducePlan};
use netfathom_model::units::{format_duration, format_rate};

use super::ours::Ours;
use super::plans::{PLACED_BYTES, PLACED_MESSAGES, STALLED_FULL};
use crate::beside::short;

const NO_NETWORK: &str = "There is no 10 Mbit/s Ethernet through a hub (7.2.1). By the rates of table 7.1 it limited sockets from \
                          32 bytes on and the library from 256 bytes on, and it made round trips longer with the size; here \
                          the CPUs are the limit at every size, and what the network hid shows.";
const OTHER_HOST: &str = "The network between the two hosts is today's; the paper's was a 10 Mbit/s Ethernet through a hub (7.2.1), which by \
                          the rates of table 7.1 limited sockets from 32 bytes on and the library from 256 bytes on.";
const ETHERNET: &str = "The paper's network was a 10 Mbit/s Ethernet with a hub (7.2.1), on which both directions take turns. Here a \
                        program passes packets on at 10 Mbit/s each way; it counts their bytes from the IP header on, and \
                        shares the CPUs with the ends.";
const SOCKETS: &str = "`sockets` here are bare sockets with one write of header and body a message and TCP_NODELAY. 7.4.1 sends \
                       header and body too, and names no option. At 37448 messages a second several must have left in one \
                       packet there: each by itself would have taken 25 Mbit/s and more.";
const ONE_WRITE: &str = "`sockets` here are bare sockets with one write of header and body and TCP_NODELAY; 7.4.3 names neither a header nor an \
                         option.";
const NO_HEADER: &str = "The sockets of test 3 sent no header (7.7.2), because of the anomaly of 7.7.5, and neither do ours here \
                         (`headerless`); with TCP_NODELAY, which the paper does not name.";
const CONNECTIONS: &str = "7.4.3: the paper's sockets used one TCP connection, its library more. So here: `zccl` has one for Message and one \
                           for Post; `thread`, `inline` and `adaptive` have both as channels of one.";
const LIBRARY: &str = "`zccl` has the threads of the paper's library in this project's own, not its code: every send is handed to a \
                       thread, which calls poll() before it (7.6.4); Message has a thread that receives, which hands over to Post's \
                       sending thread (7.8.4). `thread` has the sending thread alone. `inline` is the advice of 7.9, for which the paper \
                       reports no trial; `adaptive` is ours.";
const PROCESSORS: &str = "There each end had a machine of its own, the server's the slower one. Here they share one, and it matters \
                          on which CPUs they run: rows say what the two have in common, from one CPU for both \
                          (`same CPU`) to no more than the machine (`apart`).";

pub fn of_sized(test: MessageTest, plan: &ReproducePlan, ours: Option<&Ours<'_>>) -> Vec<String> {
    let of_test = match test {
        MessageTest::Oneway => &[SOCKETS][..],
        MessageTest::Pingpong => &[NO_HEADER],
        MessageTest::Post => &[ONE_WRITE, CONNECTIONS],
    };
    let always = [network(ours), LIBRARY, processors(ours)];
    let always = always.iter().chain(of_test).map(|&text| text.to_owned());
    [always.collect(), of_plan(plan, ours, test.messages())].concat()
}

pub fn of_placement(plan: &ReproducePlan, ours: Option<&Ours<'_>>) -> Vec<String> {
    let size = format!(
        "Test 2 is 100,000 messages of {PLACED_BYTES} bytes one way (7.6.2); the round trips are ours alone. \
         One way over TCP an end in the kernel cannot send here, so KU and KK are missing there."
    );
    let kernel = "An end in the kernel is a program on a socket's verdicts (BPF, sockmap) that swallows what comes or sends \
                  it back. It knows of bytes, not of messages: the library is at the end in user space alone. The paper had \
                  a kernel module with the application and the library in it (7.2.2, 7.2.3).";
    let always = [size, kernel.into(), network(ours).into(), LIBRARY.into(), PROCESSORS.into()];
    [always.into(), of_plan(plan, ours, PLACED_MESSAGES)].concat()
}

pub fn of_anomaly(plan: &ReproducePlan, ours: Option<&Ours<'_>>) -> Vec<String> {
    let size = "The paper has figure 7.4 and no table: 100 messages took about 7.95 s whatever the size, of the order of 79,500 µs each. Here all \
                ways of sending are compared with one size, and two writes over the sizes of test 3.";
    let sockets = "Both ends are on one machine, as in figure 7.4; the paper saw the stall over the network too, which is a path of 10 Mbit/s here, as \
                   root.";
    let tried = "The paper tried other calls, such as sendmsg() for send(), with which it occurred too, and proposes no-delay or \
                 TCP_CORK without a trial. All other ways are ours.";
    let processors = "Each end has a CPU of its own where there are two: these are times of timers.";
    let always = [size, sockets, tried, processors].map(str::to_owned);
    [always.into(), of_plan(plan, ours, STALLED_FULL)].concat()
}

fn network(ours: Option<&Ours<'_>>) -> &'static str {
    let plan = ours.map(|ours| &ours.result.plan);
    match plan {
        Some(MessagePlan { path: Some(_), .. }) => ETHERNET,
        Some(MessagePlan { place: Place::To(_), .. }) => OTHER_HOST,
        _ => NO_NETWORK,
    }
}

fn processors(ours: Option<&Ours<'_>>) -> &'static str {
    match ours.map(|ours| ours.result.plan.place) {
        Some(Place::To(_)) => {
            "Each end has a host of its own, as in the paper, the server's the slower one there."
        }
        _ => PROCESSORS,
    }
}

fn of_plan(plan: &ReproducePlan, ours: Option<&Ours<'_>>, theirs: u64) -> Vec<String> {
    let ours = ours.map(|o| &o.result.plan).into_iter().flat_map(|plan| [place(plan), much(plan, theirs)]);
    ours.chain(short(plan, "fewer and shorter trials")).collect()
}

fn place(plan: &MessagePlan) -> String {
    match plan.place {
        _ if plan.path.is_some() => "Both ends are on one machine, and no adapter is in our times.".into(),
        Place::Loopback => "Both ends share the loopback device of this machine.".into(),
        Place::To(_) => "Times one way would need one clock for both hosts: there are rates alone.".into(),
        _ => "Both ends are on one machine, joined by a pair of virtual devices: no adapter and no interrupt is in our \
              times."
            .into(),
    }
}

fn much(plan: &MessagePlan, theirs: u64) -> String {
    let least = match plan.least_ns {
        0 => String::new(),
        ns => format!(", or more until it took {}", format_duration(ns)),
    };
    format!(
        "A trial has {} {}{least}, and ends after {} in any case; the paper's has {}. There are {} of each, in rounds of random \
         order; the paper has the mean of 5 (7.3).",
        format_rate(plan.messages as f64),
        plan.test.counts(),
        format_duration(plan.most_ns),
        format_rate(theirs as f64),
        plan.trials
    )
}
