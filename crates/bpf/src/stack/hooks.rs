//! The hooks of the tap, and which programs take their times on this kernel: looked up before any is loaded.

use std::fmt;

use netfathom_model::path::{Direction, Stage};

use crate::{function, tracepoint};

use Direction::{Rx, Tx};

/// A tracepoint on a message's way. Its program is called `on_` and its name.
struct Hook {
    tracepoint: &'static str,
    directions: &'static [Direction],
    /// What takes its place on kernels without it, the nearest first; without an entry the tap needs it.
    instead: &'static [Instead],
}

/// What takes a tracepoint's place.
#[derive(Debug)]
struct Instead {
    at: At,
    /// Without times of its own then.
    stage: Option<Stage>,
    /// What that means for the stages.
    effect: &'static str,
}

#[derive(Debug)]
enum At {
    /// Functions of the kernel at which the same moment shows, each with a program `on_` and its name.
    Functions(&'static [&'static str]),
    /// A program at another tracepoint, which every kernel has.
    Tracepoint(&'static str, &'static str),
    Nothing,
}

const fn needed(tracepoint: &'static str, directions: &'static [Direction]) -> Hook {
    Hook { tracepoint, directions, instead: &[] }
}

const HOOKS: [Hook; 13] = [
    needed("net_dev_queue", &[Tx]),
    Hook {
        tracepoint: "qdisc_enqueue",
        directions: &[Tx],
        instead: &[Instead {
            at: At::Nothing,
            stage: Some(Stage::Qdisc),
            effect: "its time is part of the stage device",
        }],
    },
    needed("qdisc_dequeue", &[Tx]),
    needed("net_dev_start_xmit", &[Tx]),
    needed("net_dev_xmit", &[Tx]),
    needed("netif_rx", &[Rx]),
    needed("napi_gro_receive_entry", &[Rx]),
    needed("netif_receive_skb", &[Rx]),
    Hook {
        tracepoint: "sk_data_ready",
        directions: &[Rx],
        instead: &[
            Instead {
                at: At::Functions(&["sock_def_readable"]),
                stage: None,
                effect: "the same moment, at the entry of the function that the tracepoint was put into",
            },
            Instead {
                at: At::Tracepoint("on_ready_at_link", "netif_receive_skb"),
                stage: Some(Stage::Protocol),
                effect: "its time is part of the stages after it",
            },
        ],
    },
    needed("sched_wakeup", &[Rx]),
    needed("sched_switch", &[Rx]),
    Hook {
        tracepoint: "sock_recv_length",
        directions: &[Rx],
        instead: &[
            Instead {
                at: At::Functions(&["inet_recvmsg", "inet6_recvmsg"]),
                stage: None,
                effect: "the same moment, at the exit of the function before the tracepoint",
            },
            Instead {
                at: At::Tracepoint("on_consume_skb", "consume_skb"),
                stage: None,
                effect: "the stage read ends, and return begins, some 100 ns earlier",
            },
        ],
    },
    needed("kfree_skb", &[Tx, Rx]),
];

/// A hook that this kernel lacks, and what was done about it.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    /// The tracepoint.
    pub hook: &'static str,
    instead: &'static Instead,
}

impl Replaced {
    /// The stage that has no times of its own.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        self.instead.stage
    }

    /// The version of Linux that brought the hook.
    #[must_use]
    pub fn since(&self) -> &'static str {
        tracepoint::since(self.hook).unwrap_or_default()
    }

    /// What the times are taken at; the hook itself where at nothing.
    #[must_use]
    pub fn at(&self) -> &'static str {
        match self.instead.at {
            At::Functions(functions) => functions[0],
            At::Tracepoint(_, name) => name,
            At::Nothing => self.hook,
        }
    }
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this kernel has no tracepoint {}", tracepoint::list(&[self.hook.to_owned()]))?;
        match self.instead.at {
            At::Nothing => {}
            At::Functions(_) | At::Tracepoint(..) => write!(f, ", {} was used", self.at())?,
        }
        write!(f, ": {}", self.instead.effect)
    }
}

/// The programs of the directions on this kernel.
#[derive(Debug)]
pub(super) struct Chosen {
    pub programs: Vec<String>,
    pub replaced: Vec<Replaced>,
}

pub(super) fn choose(directions: &[Direction]) -> Chosen {
    choose_from(directions, tracepoint::is_missing, function::has_hooks)
}

/// What is missing without a replacement stays chosen: loading it says so.
fn choose_from(
    directions: &[Direction],
    is_missing: impl Fn(&str) -> bool,
    has_hooks: impl Fn(&str) -> bool,
) -> Chosen {
    let mut chosen = Chosen { programs: Vec::new(), replaced: Vec::new() };
    for hook in HOOKS.iter().filter(|hook| hook.directions.iter().any(|d| directions.contains(d))) {
        let usable = |instead: &&Instead| match instead.at {
            At::Functions(functions) => functions.iter().all(|name| has_hooks(name)),
            At::Tracepoint(..) | At::Nothing => true,
        };
        let missing = is_missing(hook.tracepoint);
        match hook.instead.iter().find(usable).filter(|_| missing) {
            None => chosen.programs.push(program(hook.tracepoint)),
            Some(instead) => {
                chosen.programs.extend(instead.programs());
                chosen.replaced.push(Replaced { hook: hook.tracepoint, instead });
            }
        }
    }
    chosen
}

impl Instead {
    fn programs(&self) -> Vec<String> {
        match self.at {
            At::Functions(functions) => functions.iter().map(|name| program(name)).collect(),
            At::Tracepoint(program, _) => vec![program.to_owned()],
            At::Nothing => Vec::new(),
        }
    }
}

fn program(at: &str) -> String {
    format!("on_{at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_6_3: [&str; 2] = ["sk_data_ready", "sock_recv_length"];

    fn chosen(directions: &[Direction], missing: &[&str], functions: bool) -> Chosen {
        choose_from(directions, |name| missing.contains(&name), |_| functions)
    }

    #[test]
    fn every_program_that_can_be_chosen_is_in_the_object() {
        let open = crate::load::open(super::super::OBJECT, |_| false).unwrap();
        let have: Vec<String> = open.progs().map(|p| p.name().to_str().unwrap().to_owned()).collect();
        let instead = HOOKS.iter().flat_map(|hook| hook.instead).flat_map(Instead::programs);
        let all: Vec<String> = HOOKS.iter().map(|hook| program(hook.tracepoint)).chain(instead).collect();
        assert!(all.iter().all(|name| have.contains(name)), "{all:?} {have:?}");
        assert_eq!(all.len(), have.len(), "{all:?} {have:?}");
        let replaced = HOOKS.iter().filter(|hook| !hook.instead.is_empty());
        assert!(replaced.into_iter().all(|hook| tracepoint::since(hook.tracepoint).is_some()));
    }

    #[test]
    fn where_nothing_is_missing_nothing_is_replaced() {
        let Chosen { programs, replaced } = chosen(&[Tx, Rx], &[], true);
        assert_eq!((programs.len(), replaced.len()), (HOOKS.len(), 0));
        let Chosen { programs, .. } = chosen(&[Tx], &[], true);
        assert!(
            programs.contains(&"on_kfree_skb".to_owned()) && !programs.contains(&"on_netif_rx".to_owned())
        );
    }

    #[test]
    fn functions_come_before_tracepoints_that_move_a_border() {
        let by_functions = chosen(&[Rx], &OF_6_3, true);
        for name in ["on_sock_def_readable", "on_inet_recvmsg", "on_inet6_recvmsg"] {
            assert!(by_functions.programs.contains(&name.to_owned()), "{name}: {by_functions:?}");
        }
        assert!(by_functions.replaced.iter().all(|r| r.stage().is_none()), "{by_functions:?}");
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
        assert_eq!(without.replaced[0].stage(), Some(Stage::Protocol));
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
    fn what_nothing_replaces_stays_to_be_refused_by_name() {
        let Chosen { programs, replaced } = chosen(&[Tx], &["net_dev_queue"], true);
        assert!(programs.contains(&"on_net_dev_queue".to_owned()) && replaced.is_empty());
    }
}
