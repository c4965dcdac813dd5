//! The hooks of the tap, and which programs take their times on this kernel: looked up before any is loaded. A kernel that
//! lacks a hook has the first usable entry of `instead`, and the record names it.

use std::fmt;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::Transport;

use crate::{function, tracepoint};

use Direction::{Rx, Tx};

/// Where the tap takes its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// At the link layer alone: no stages.
    LinkLayer,
    /// At tracepoints, without the scheduler's.
    Path,
    Tracepoints,
    /// At functions between them too.
    Functions,
}

impl Hooks {
    /// Whether it is known when the reader has a processor.
    #[must_use]
    pub fn follow_reader(self) -> bool {
        matches!(self, Self::Tracepoints | Self::Functions)
    }
}

/// A place on a message's way. Its program is called `on_` and its name.
struct Hook {
    name: &'static str,
    directions: &'static [Direction],
    /// What takes its place on kernels without it, the nearest first; without an entry the tap needs it.
    instead: &'static [Instead],
}

#[derive(Debug)]
struct Instead {
    at: At,
    /// Without times of their own then.
    stages: &'static [Stage],
    effect: &'static str,
}

#[derive(Debug)]
enum At {
    /// Functions of the kernel at which the same moment shows, each with a program `on_` and its name.
    Functions(&'static [&'static str]),
    /// A program at another tracepoint, which every kernel has.
    Tracepoint(&'static str, &'static str),
    Nothing,
    /// The hook is there, and not wanted.
    LeftOut,
}

/// Where the reader's thread is followed, by the account that the kernel keeps of each.
const READER: &str = "sched_switch";
const ACCOUNT: &str = "CONFIG_SCHED_INFO";

/// No time is taken there: the stages are part of another one.
const fn part_of(stages: &'static [Stage], effect: &'static str) -> Instead {
    Instead { at: At::Nothing, stages, effect }
}

const fn needed(name: &'static str, directions: &'static [Direction]) -> Hook {
    Hook { name, directions, instead: &[] }
}

const FOLLOWED: Hook = Hook {
    name: READER,
    directions: &[Rx],
    instead: &[part_of(
        &[Stage::Wakeup, Stage::Runqueue],
        "their time is part of the stages sockqueue and read",
    )],
};

const TRACEPOINTS: [Hook; 12] = [
    needed("net_dev_queue", &[Tx]),
    Hook {
        name: "qdisc_enqueue",
        directions: &[Tx],
        instead: &[part_of(&[Stage::Qdisc], "its time is part of the stage device")],
    },
    needed("qdisc_dequeue", &[Tx]),
    needed("net_dev_start_xmit", &[Tx]),
    needed("net_dev_xmit", &[Tx]),
    needed("netif_rx", &[Rx]),
    needed("napi_gro_receive_entry", &[Rx]),
    needed("netif_receive_skb", &[Rx]),
    Hook {
        name: "sk_data_ready",
        directions: &[Rx],
        instead: &[
            Instead {
                at: At::Functions(&["sock_def_readable"]),
                stages: &[],
                effect: "the same moment, at the entry of the function that the tracepoint was put into",
            },
            Instead {
                at: At::Tracepoint("on_ready_at_link", "netif_receive_skb"),
                stages: &[Stage::Protocol],
                effect: "its time is part of the stages after it",
            },
        ],
    },
    FOLLOWED,
    Hook {
        name: "sock_recv_length",
        directions: &[Rx],
        instead: &[
            Instead {
                at: At::Functions(&["inet_recvmsg", "inet6_recvmsg"]),
                stages: &[],
                effect: "the same moment, at the exit of the function before the tracepoint",
            },
            Instead {
                at: At::Tracepoint("on_consume_skb", "consume_skb"),
                stages: &[],
                effect: "the stage read ends, and return begins, some 100 ns earlier",
            },
        ],
    },
    needed("kfree_skb", &[Tx, Rx]),
];

/// Those of messages over TCP: their programs are called `stream_` and their name; the reader's thread is followed by the
/// same programs.
const STREAM: [Hook; 12] = [
    needed("net_dev_queue", &[Tx]),
    needed("sock_send_length", &[Tx]),
    Hook { name: "qdisc_enqueue", directions: &[Tx], instead: TRACEPOINTS[1].instead },
    needed("qdisc_dequeue", &[Tx]),
    needed("net_dev_start_xmit", &[Tx]),
    needed("net_dev_xmit", &[Tx]),
    needed("netif_rx", &[Rx]),
    needed("napi_gro_receive_entry", &[Rx]),
    needed("netif_receive_skb", &[Rx]),
    needed("sk_data_ready", &[Rx]),
    FOLLOWED,
    needed("sock_recv_length", &[Rx]),
];

/// The program of the way out at the link layer alone.
const DEPARTURE: &str = "on_departure";
/// What it takes to know the time of the link layer, and what became of messages.
const AT_LINK_LAYER: [&str; 2] = ["netif_receive_skb", "kfree_skb"];

/// The hooks that a smaller set lacks, by the first of them.
const LINK_LAYER_LACKS: [(Direction, &str, Instead); 2] = [
    (Tx, "net_dev_queue", left_out(&[Stage::Socket, Stage::Qdisc, Stage::Device, Stage::Driver])),
    (
        Rx,
        "sk_data_ready",
        left_out(&[
            Stage::Backlog,
            Stage::Protocol,
            Stage::Wakeup,
            Stage::Runqueue,
            Stage::Sockqueue,
            Stage::Read,
            Stage::Return,
        ]),
    ),
];
const PATH_LACKS: [(Direction, &str, Instead); 1] =
    [(Rx, READER, left_out(&[Stage::Wakeup, Stage::Runqueue]))];

const fn left_out(stages: &'static [Stage]) -> Instead {
    Instead { at: At::LeftOut, stages, effect: "left out by --stages" }
}

const SOCKET_WHOLE: &[Instead] = &[part_of(&[Stage::Send, Stage::Output], "the stage socket stays whole")];

const NO_ENTRY: &[Instead] = &[part_of(&[Stage::Entry], "its time is part of the stage dequeue")];

/// Each divides a stage of the tracepoints. A compiler may have put one into its callers.
const FUNCTIONS: [Hook; 6] = [
    Hook { name: "ip_send_skb", directions: &[Tx], instead: SOCKET_WHOLE },
    Hook { name: "ip6_send_skb", directions: &[Tx], instead: SOCKET_WHOLE },
    Hook {
        name: "__udp_enqueue_schedule_skb",
        directions: &[Rx],
        instead: &[part_of(&[Stage::Input, Stage::Enqueue], "the stage protocol stays whole")],
    },
    Hook { name: "udp_recvmsg", directions: &[Rx], instead: NO_ENTRY },
    Hook { name: "udpv6_recvmsg", directions: &[Rx], instead: NO_ENTRY },
    Hook {
        name: "__skb_recv_udp",
        directions: &[Rx],
        instead: &[part_of(&[Stage::Entry, Stage::Dequeue, Stage::Copy], "the stage read stays whole")],
    },
];

/// Whether the kernel keeps what the program at [`READER`] looks into: the account of each thread.
fn keeps_account() -> bool {
    let Ok(btf) = Btf::from_vmlinux() else { return true };
    let account = btf.type_by_name::<Struct<'_>>("sched_info");
    account
        .is_none_or(|account| account.iter().any(|field| field.name.is_some_and(|name| name == "run_delay")))
}

/// A hook that this kernel lacks, and what was done about it.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    pub hook: &'static str,
    instead: &'static Instead,
}

impl Replaced {
    /// The stages that have no times of their own.
    pub fn stages(&self) -> &'static [Stage] {
        self.instead.stages
    }

    /// The kernel to use.
    pub fn remedy(&self) -> String {
        match tracepoint::since(self.hook) {
            Some(version) => format!("use Linux {version} or later"),
            _ if matches!(self.instead.at, At::LeftOut) => "--stages all measures them".into(),
            None if self.hook == READER => format!("use a kernel built with {ACCOUNT}"),
            None => "use another build of the kernel: compilers may put a function into its callers".into(),
        }
    }

    /// What the times are taken at; the hook itself where at nothing.
    pub fn at(&self) -> &'static str {
        match self.instead.at {
            At::Functions(functions) => functions[0],
            At::Tracepoint(_, name) => name,
            At::Nothing | At::LeftOut => self.hook,
        }
    }
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.instead.at, At::LeftOut) {
            return f.write_str(self.instead.effect);
        }
        if self.hook == READER {
            return write!(f, "this kernel was built without {ACCOUNT}: {}", self.instead.effect);
        }
        if FUNCTIONS.iter().any(|function| function.name == self.hook) {
            return write!(f, "this kernel has no function {}: {}", self.hook, self.instead.effect);
        }
        write!(f, "this kernel has no tracepoint {}", tracepoint::list(&[self.hook.to_owned()]))?;
        match self.instead.at {
            At::Nothing | At::LeftOut => {}
            At::Functions(_) | At::Tracepoint(..) => write!(f, ", {} was used", self.at())?,
        }
        write!(f, ": {}", self.instead.effect)
    }
}

/// The programs of the directions on this kernel.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    transport: Transport,
    pub programs: Vec<String>,
    pub replaced: Vec<Replaced>,
}

pub(super) fn choose(at: Hooks, transport: Transport, directions: &[Direction]) -> Chosen {
    let is_missing = |name: &str| tracepoint::is_missing(name) || name == READER && !keeps_account();
    let mut chosen = Chosen { transport, ..Chosen::default() };
    if transport == Transport::Tcp {
        chosen.add(&STREAM, directions, is_missing, |_| false);
        return chosen;
    }
    chosen.add(&TRACEPOINTS, directions, is_missing, function::has_hooks);
    match at {
        Hooks::LinkLayer => chosen.leave_out(&LINK_LAYER_LACKS, directions),
        Hooks::Path => chosen.leave_out(&PATH_LACKS, directions),
        Hooks::Tracepoints | Hooks::Functions => {}
    }
    if at == Hooks::Functions {
        // Whether programs can be attached to them is for the kernel to say.
        chosen.add(&FUNCTIONS, directions, |name| !function::is_known(name), |_| false);
    }
    chosen
}

impl Chosen {
    /// Takes the hooks away that the set lacks.
    fn leave_out(&mut self, lacks: &'static [(Direction, &str, Instead)], directions: &[Direction]) {
        let is_link_layer = lacks.iter().any(|(direction, ..)| *direction == Tx);
        self.replaced.retain(|replaced| !is_link_layer && replaced.hook != READER);
        if is_link_layer {
            self.programs
                .retain(|name| AT_LINK_LAYER.iter().any(|hook| *name == program(Transport::Udp, hook)));
            self.programs.extend(directions.contains(&Tx).then(|| DEPARTURE.into()));
        } else {
            self.programs.retain(|name| *name != program(Transport::Udp, READER));
        }
        let wanted = lacks.iter().filter(|(direction, ..)| directions.contains(direction));
        self.replaced.extend(wanted.map(|(_, hook, instead)| Replaced { hook, instead }));
    }

    /// What is missing without a replacement stays chosen: loading it says so.
    fn add(
        &mut self,
        hooks: &'static [Hook],
        directions: &[Direction],
        is_missing: impl Fn(&str) -> bool,
        has_hooks: impl Fn(&str) -> bool,
    ) {
        for hook in hooks.iter().filter(|hook| hook.directions.iter().any(|d| directions.contains(d))) {
            let usable = |instead: &&Instead| match instead.at {
                At::Functions(functions) => functions.iter().all(|name| has_hooks(name)),
                At::Tracepoint(..) | At::Nothing | At::LeftOut => true,
            };
            let missing = is_missing(hook.name);
            match hook.instead.iter().find(usable).filter(|_| missing) {
                None => self.programs.push(program(self.transport, hook.name)),
                Some(instead) => {
                    self.programs.extend(instead.programs());
                    self.replaced.push(Replaced { hook: hook.name, instead });
                }
            }
        }
    }
}

impl Instead {
    fn programs(&self) -> Vec<String> {
        match self.at {
            At::Functions(functions) => functions.iter().map(|name| format!("on_{name}")).collect(),
            At::Tracepoint(program, _) => vec![program.to_owned()],
            At::Nothing | At::LeftOut => Vec::new(),
        }
    }
}

fn program(transport: Transport, at: &str) -> String {
    let is_of_thread = [READER, "sock_recv_length"].contains(&at);
    let prefix = if transport == Transport::Tcp && !is_of_thread { "stream" } else { "on" };
    format!("{prefix}_{at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_6_3: [&str; 2] = ["sk_data_ready", "sock_recv_length"];

    fn chosen(directions: &[Direction], missing: &[&str], functions: bool) -> Chosen {
        let mut chosen = Chosen::default();
        chosen.add(&TRACEPOINTS, directions, |name| missing.contains(&name), |_| functions);
        chosen
    }

    #[test]
    fn every_program_that_can_be_chosen_is_in_the_object() {
        let open = crate::load::open(super::super::OBJECT, |_| false).unwrap();
        let have: Vec<String> = open.progs().map(|p| p.name().to_str().unwrap().to_owned()).collect();
        let hooks = || TRACEPOINTS.iter().chain(&FUNCTIONS);
        let instead = hooks().flat_map(|hook| hook.instead).flat_map(Instead::programs);
        let datagrams = hooks().map(|hook| program(Transport::Udp, hook.name));
        let streams = STREAM.iter().map(|hook| program(Transport::Tcp, hook.name));
        let streams = streams.filter(|name| name.starts_with("stream_"));
        let all: Vec<String> = datagrams.chain(streams).chain(instead).chain([DEPARTURE.into()]).collect();
        assert!(all.iter().all(|name| have.contains(name)), "{all:?} {have:?}");
        assert_eq!(all.len(), have.len(), "{all:?} {have:?}");
        let replaced = TRACEPOINTS.iter().filter(|hook| !hook.instead.is_empty() && hook.name != READER);
        assert!(replaced.into_iter().all(|hook| tracepoint::since(hook.name).is_some()));
    }

    #[test]
    fn where_nothing_is_missing_nothing_is_replaced() {
        let Chosen { programs, replaced, .. } = chosen(&[Tx, Rx], &[], true);
        assert_eq!((programs.len(), replaced.len()), (TRACEPOINTS.len(), 0));
        let Chosen { programs, .. } = chosen(&[Tx], &[], true);
        assert!(
            programs.contains(&"on_kfree_skb".to_owned()) && !programs.contains(&"on_netif_rx".to_owned())
        );
    }

    #[test]
    fn a_smaller_set_has_fewer_programs_and_names_the_stages_that_it_lacks() {
        let of = |lacks, directions: &[Direction]| {
            let mut chosen = chosen(directions, &[], true);
            chosen.leave_out(lacks, directions);
            let stages: Vec<Stage> = chosen.replaced.iter().flat_map(Replaced::stages).copied().collect();
            (chosen.programs, stages)
        };
        let (programs, stages) = of(&LINK_LAYER_LACKS, &[Tx, Rx]);
        assert_eq!(programs, ["on_netif_receive_skb", "on_kfree_skb", DEPARTURE]);
        assert_eq!(stages.len(), 11);
        assert_eq!(of(&LINK_LAYER_LACKS, &[Rx]).0, ["on_netif_receive_skb", "on_kfree_skb"]);
        let (programs, stages) = of(&PATH_LACKS, &[Tx, Rx]);
        assert_eq!((programs.len(), stages), (TRACEPOINTS.len() - 1, vec![Stage::Wakeup, Stage::Runqueue]));
        assert!(!programs.contains(&program(Transport::Udp, READER)));
    }

    #[test]
    fn functions_come_before_tracepoints_that_move_a_border() {
        let by_functions = chosen(&[Rx], &OF_6_3, true);
        for name in ["on_sock_def_readable", "on_inet_recvmsg", "on_inet6_recvmsg"] {
            assert!(by_functions.programs.contains(&name.to_owned()), "{name}: {by_functions:?}");
        }
        assert!(by_functions.replaced.iter().all(|r| r.stages().is_empty()), "{by_functions:?}");
        let without = chosen(&[Rx], &OF_6_3, false);
        assert!(without.programs.contains(&"on_consume_skb".to_owned()), "{without:?}");
        let texts: Vec<String> = without.replaced.iter().map(Replaced::to_string).collect();
        assert_eq!(
            texts,
            [
                "this kernel has no tracepoint sk_data_ready (Linux 6.3), netif_receive_skb was used: its time is \
                 part of the stages after it",
                "this kernel has no tracepoint sock_recv_length (Linux 6.3), consume_skb was used: the stage read \
                 ends, and return begins, some 100 ns earlier",
            ]
        );
        assert_eq!(without.replaced[0].stages(), [Stage::Protocol]);
    }

    #[test]
    fn a_stage_goes_with_its_hook() {
        let of_5_10 = chosen(&[Tx], &["qdisc_enqueue"], true);
        assert!(!of_5_10.programs.contains(&"on_qdisc_enqueue".to_owned()));
        assert_eq!(
            of_5_10.replaced[0].to_string(),
            "this kernel has no tracepoint qdisc_enqueue (Linux 5.14): its time is part of the stage device"
        );
    }

    #[test]
    fn a_kernel_that_keeps_no_account_of_threads_is_named() {
        let Chosen { programs, replaced, .. } = chosen(&[Rx], &[READER], true);
        assert!(!programs.contains(&"on_sched_switch".to_owned()));
        assert_eq!(replaced[0].stages(), [Stage::Wakeup, Stage::Runqueue]);
        assert_eq!(
            (replaced[0].to_string(), replaced[0].remedy()),
            (
                "this kernel was built without CONFIG_SCHED_INFO: their time is part of the stages sockqueue and read"
                    .into(),
                "use a kernel built with CONFIG_SCHED_INFO".into()
            )
        );
    }

    #[test]
    fn a_function_that_is_missing_leaves_its_stage_whole() {
        let mut chosen = Chosen::default();
        chosen.add(&FUNCTIONS, &[Tx, Rx], |name| name == "__skb_recv_udp", |_| false);
        assert_eq!(chosen.programs.len(), FUNCTIONS.len() - 1);
        assert_eq!(chosen.replaced[0].stages(), [Stage::Entry, Stage::Dequeue, Stage::Copy]);
        assert_eq!(
            chosen.replaced[0].to_string(),
            "this kernel has no function __skb_recv_udp: the stage read stays whole"
        );
    }

    #[test]
    fn what_nothing_replaces_stays_to_be_refused_by_name() {
        let Chosen { programs, replaced, .. } = chosen(&[Tx], &["net_dev_queue"], true);
        assert!(programs.contains(&"on_net_dev_queue".to_owned()) && replaced.is_empty());
    }
}
