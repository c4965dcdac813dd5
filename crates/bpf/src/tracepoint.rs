//! The tracepoints of the kernel that runs, as its own types (BTF) have them: what a program could
//! attach to is known before it is loaded.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use libbpf_rs::btf::types::{FuncProto, Ptr, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};
use libbpf_rs::{AsRawLibbpf, libbpf_sys};

use crate::libbpf_log;

/// BTF has a type of this name and the tracepoint's for each of them.
const PREFIX: &str = "btf_trace_";

/// Tracepoints that our programs attach to and some kernels with BTF lack: how many arguments our programs take,
/// and which version brought them.
const SINCE: [(&str, usize, &str); 5] = [
    ("qdisc_enqueue", 3, "5.14"),
    ("sk_data_ready", 1, "6.3"),
    ("sock_recv_length", 3, "6.3"),
    ("sock_send_length", 3, "6.3"),
    ("tcp_sendmsg_locked", 2, "6.16"),
];

/// How many arguments a tracepoint of this kernel passes; `None` if this kernel has no such
/// tracepoint, or hides its types.
pub fn arguments(name: &str) -> Option<usize> {
    all()?.get(name).copied()
}

/// Whether it is known that this kernel has no such tracepoint, or one with fewer arguments than our programs take.
pub fn is_missing(name: &str) -> bool {
    all().is_some_and(|all| lacks(all, name))
}

fn lacks(all: &BTreeMap<String, usize>, name: &str) -> bool {
    let taken = SINCE.iter().find(|(known, ..)| *known == name).map_or(0, |&(_, taken, _)| taken);
    all.get(name).is_none_or(|&passed| passed < taken)
}

/// Each tracepoint with the number of its arguments, read once; `None` without BTF.
fn all() -> Option<&'static BTreeMap<String, usize>> {
    static ALL: OnceLock<Option<BTreeMap<String, usize>>> = OnceLock::new();
    ALL.get_or_init(|| read().filter(|all| !all.is_empty())).as_ref()
}

fn read() -> Option<BTreeMap<String, usize>> {
    libbpf_log::take_over();
    let btf = Btf::from_vmlinux().ok()?;
    let of = |typedef: Typedef<'_>| {
        let name = typedef.name()?.to_str()?.strip_prefix(PREFIX)?.to_owned();
        let pointer = Ptr::try_from(typedef.referenced_type()).ok()?;
        let function = FuncProto::try_from(pointer.referenced_type()).ok()?;
        // The first one is the kernel's own.
        Some((name, function.len().checked_sub(1)?))
    };
    let ids = (1..btf.len() as u32).filter(|&id| is_typedef(&btf, id));
    Some(ids.filter_map(|id| of(btf.type_by_id(id.into())?)).collect())
}

/// Without a look at its name, as [`Btf::type_by_kind`] takes: a kernel has some 100,000 types.
fn is_typedef(btf: &Btf<'_>, id: u32) -> bool {
    // SAFETY: the types of `btf` live as long as it; without one of this number the pointer is null.
    let found = unsafe { libbpf_sys::btf__type_by_id(btf.as_libbpf_object().as_ptr(), id).as_ref() };
    found.is_some_and(|found| (found.info >> 24) & 0x1f == libbpf_sys::BTF_KIND_TYPEDEF)
}

/// The tracepoint that a program attaches to, by its section such as `tp_btf/net_dev_queue`.
pub(crate) fn of_section(section: &str) -> Option<&str> {
    ["tp_btf/", "raw_tp/"].iter().find_map(|kind| section.strip_prefix(kind))
}

/// The version that brought a tracepoint; `None` of those that all kernels with BTF have.
pub(crate) fn since(name: &str) -> Option<&'static str> {
    SINCE.iter().find(|(known, ..)| *known == name).map(|&(.., version)| version)
}

/// Tracepoints in a row, with the version that brought them: `a, b (Linux 6.3)`.
pub(crate) fn list(names: &[String]) -> String {
    let since = |name: &String| since(name);
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let version = since(name);
        text += if index > 0 { ", " } else { "" };
        text += name;
        if let Some(version) = version.filter(|_| names.get(index + 1).and_then(since) != version) {
            text += &format!(" (Linux {version})");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use netfathom_testkit::skip;

    use super::*;

    fn listed(names: &[&str]) -> String {
        list(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_version_stands_once_behind_those_it_brought() {
        assert_eq!(
            listed(&["sk_data_ready", "sock_recv_length"]),
            "sk_data_ready, sock_recv_length (Linux 6.3)"
        );
        let of_5_10 = ["qdisc_enqueue", "sk_data_ready", "sock_recv_length"];
        assert_eq!(
            listed(&of_5_10),
            "qdisc_enqueue (Linux 5.14), sk_data_ready, sock_recv_length (Linux 6.3)"
        );
        assert_eq!(listed(&["sk_data_ready", "a"]), "sk_data_ready (Linux 6.3), a");
    }

    #[test]
    fn a_section_names_its_tracepoint() {
        assert_eq!(of_section("tp_btf/kfree_skb"), Some("kfree_skb"));
        assert_eq!(of_section("raw_tp/sys_enter"), Some("sys_enter"));
        assert_eq!(of_section("fentry/udp_sendmsg"), None);
        assert_eq!(of_section("xdp"), None);
    }

    #[test]
    fn a_tracepoint_with_fewer_arguments_than_are_taken_is_missing() {
        let all = [("qdisc_enqueue", 2), ("sk_data_ready", 1), ("sock_recv_length", 4)];
        let all = all.map(|(name, passed)| (name.to_owned(), passed)).into();
        let names = ["qdisc_enqueue", "sk_data_ready", "sock_recv_length", "sock_send_length"];
        assert_eq!(names.map(|name| lacks(&all, name)), [true, false, false, true]);
    }

    /// `SEC("tp_btf/NAME")` stands before `int BPF_PROG(program, ARGUMENT, ...)`.
    #[test]
    fn the_programs_take_as_many_arguments_as_are_looked_up() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let Ok(sources) = fs::read_dir(sources) else {
            skip!("needs the sources, which are not in a guest");
        };
        let folders = sources.flatten().filter_map(|set| fs::read_dir(set.path()).ok());
        let texts = folders.flatten().flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
        let mut taken = BTreeMap::new();
        for text in texts {
            for part in text.split("SEC(\"tp_btf/").skip(1) {
                let (name, rest) = part.split_once('"').unwrap();
                let Some((_, program)) = rest.split_once("BPF_PROG(") else { continue };
                let number = program.split(')').next().unwrap().matches(',').count();
                let most = taken.entry(name.to_owned()).or_insert(0);
                *most = number.max(*most);
            }
        }
        for (name, number, _) in SINCE {
            assert_eq!(taken.get(name), Some(&number), "{name}");
        }
    }

    #[test]
    fn this_kernel_is_asked() {
        let Some(all) = all() else { skip!("needs the kernel's BTF") };
        assert!(all.len() > 100, "{}", all.len());
        // include/trace/events: their arguments have been the same for ten years.
        assert_eq!(arguments("net_dev_queue"), Some(1));
        assert_eq!(arguments("sys_enter"), Some(2));
        assert!(is_missing("no_such_tracepoint") && arguments("no_such_tracepoint").is_none());
        assert!(!is_missing("net_dev_queue"));
    }
}
