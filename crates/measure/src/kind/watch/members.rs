//! Which processes a target means: those of a name, a cgroup or a container, as `/proc` has them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use netfathom_model::plan::WatchTarget;
use netfathom_sys::process::{self, ancestors, lives};

use super::WatchRunError;
use super::container::{self, Container};

/// What their processes have in common. New ones belong to them as they come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Members {
    One(u32),
    /// A process and those that it started, if they have its name.
    Tree {
        root: u32,
        name: String,
    },
    /// The path of a cgroup.
    Cgroup(String),
}

impl Members {
    /// `None` of a target that is no processes.
    pub fn find(target: &WatchTarget) -> Result<Option<Self>, WatchRunError> {
        // Where it is mounted, only that of another PID namespace has no number for this process.
        let is_mounted = Path::new("/proc/version").exists();
        let missing = |e| if is_mounted { WatchRunError::OtherProc } else { WatchRunError::Proc(e) };
        fs::read_link("/proc/self").map_err(missing)?;
        Ok(Some(match target {
            WatchTarget::All | WatchTarget::Port(_) | WatchTarget::Flow { .. } => return Ok(None),
            _ if !process::proc_is_ours() => return Err(WatchRunError::OtherProc),
            WatchTarget::Process(pid) => Self::One(*pid),
            WatchTarget::Name(name) => by_name(name)?,
            WatchTarget::Cgroup(path) => by_cgroup(path)?,
            WatchTarget::Container(name) => Self::Cgroup(by_container(name)?),
        }))
    }

    /// Those that live, the first of them first.
    pub fn now(&self) -> Vec<u32> {
        match self {
            Self::One(pid) => vec![*pid],
            Self::Tree { root, name } => {
                let named: BTreeSet<u32> = named(name).into_iter().collect();
                let of_root = |pid: &u32| top(*pid, &named) == *root || *pid == *root;
                named.iter().copied().filter(of_root).collect()
            }
            Self::Cgroup(path) => {
                all().filter(|&pid| cgroups(pid).iter().any(|of| is_in(of, path))).collect()
            }
        }
    }
}

fn all() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(move |&pid| pid != own)
}

pub(super) fn name(pid: u32) -> String {
    process::name(pid).unwrap_or_default()
}

/// The kernel keeps 15 bytes of a name; that of the file of the program is whole.
fn named(wanted: &str) -> Vec<u32> {
    const KEPT: usize = 15;
    let is_named = |&pid: &u32| {
        let file = || fs::read_link(format!("/proc/{pid}/exe")).ok();
        let name = name(pid);
        (name == wanted && name.len() < KEPT || wanted.starts_with(&name) && name.len() == KEPT)
            || file().is_some_and(|path| path.file_name().is_some_and(|name| name == wanted))
    };
    all().filter(is_named).filter(|&pid| lives(pid)).collect()
}

/// The last of a process's ancestors that are among these.
fn top(pid: u32, among: &BTreeSet<u32>) -> u32 {
    ancestors(pid).into_iter().take_while(|of| among.contains(of)).last().unwrap_or(pid)
}

fn by_name(name: &str) -> Result<Members, WatchRunError> {
    let named: BTreeSet<u32> = named(name).into_iter().collect();
    let roots: BTreeSet<u32> = named.iter().map(|&pid| top(pid, &named)).collect();
    let refused = |why| Err(WatchRunError::Target { what: format!("the program {name}"), why });
    match roots.len() {
        1 => Ok(Members::Tree { root: roots.into_iter().next().unwrap_or_default(), name: name.to_owned() }),
        0 => refused(format!("no process has that name; {}", other(name))),
        n => {
            let pids = listed(roots.iter().map(u32::to_string));
            refused(format!(
                "{n} of that name were started apart, pids {pids}; name one by --pid, or its --port"
            ))
        }
    }
}

/// What to name where no process has a name.
fn other(wanted: &str) -> String {
    match similar(wanted, all().filter(|&pid| lives(pid)).map(name)).join(", ") {
        none if none.is_empty() => "`ss -tulpn` lists those that listen".into(),
        names => format!("did you mean {names}?"),
    }
}

/// The first names that contain this one; those that begin with it come first.
fn similar(wanted: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    const MOST: usize = 3;
    let wanted = wanted.to_lowercase();
    let placed = names.filter_map(|name| Some((name.to_lowercase().find(&wanted)?, name)));
    placed.collect::<BTreeSet<_>>().into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// The first few.
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    const MOST: usize = 6;
    let mut names: Vec<String> = names.take(MOST + 1).collect();
    if names.len() > MOST {
        names[MOST] = "…".into();
    }
    names.join(", ")
}

/// The paths in the hierarchies of cgroups: one with version 2, one for each controller with version 1.
pub(super) fn cgroups(pid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    text.lines().filter_map(|line| Some(line.splitn(3, ':').nth(2)?.to_owned())).collect()
}

fn is_in(path: &str, of: &str) -> bool {
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A directory of cgroups is meant as well as the path in the hierarchy that is mounted there.
fn in_hierarchy(typed: &str) -> &str {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        matches!(kind, "cgroup" | "cgroup2").then_some(place)
    });
    let rests = places.filter_map(|place| typed.strip_prefix(place).filter(|rest| rest.starts_with('/')));
    rests.min_by_key(|rest| rest.len()).unwrap_or(typed).trim_matches('/')
}

fn by_cgroup(typed: &str) -> Result<Members, WatchRunError> {
    let path = in_hierarchy(typed);
    let members = Members::Cgroup(format!("/{path}"));
    if members.now().is_empty() {
        let why = "no process is in it; /proc/PID/cgroup has the path of a process, `systemd-cgls` lists all"
            .into();
        return Err(WatchRunError::Target { what: format!("the cgroup /{path}"), why });
    }
    Ok(members)
}

fn by_container(wanted: &str) -> Result<String, WatchRunError> {
    let paths: BTreeSet<String> = all().flat_map(cgroups).collect();
    let mut known: BTreeMap<String, Container> = BTreeMap::new();
    for container in paths.iter().filter_map(|path| container::of(path)) {
        known.entry(container.id.clone()).or_insert(container);
    }
    let names: BTreeMap<&str, Vec<String>> =
        known.keys().map(|id| (id.as_str(), container::names(id))).collect();
    let is_wanted = |id: &str| container::is_start(wanted, id) || names[id].iter().any(|name| name == wanted);
    let found: Vec<&Container> = known.values().filter(|container| is_wanted(&container.id)).collect();
    let shown = |id: &str| names[id].first().cloned().unwrap_or_else(|| id.chars().take(12).collect());
    let refused = |why| Err(WatchRunError::Target { what: format!("the container {wanted}"), why });
    match found[..] {
        [one] => Ok(one.cgroup.clone()),
        [] if known.is_empty() => {
            refused("no process of this host is in a container; name its --cgroup or --pid".into())
        }
        [] => refused(format!("there are {}", listed(known.keys().map(|id| shown(id))))),
        _ => {
            refused(format!("that is the start of {}; type more", listed(found.iter().map(|c| c.id.clone()))))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_cgroup_holds_those_below_it() {
        assert!(is_in("/a/b", "/a/b") && is_in("/a/b/c", "/a/b"));
        assert!(!is_in("/a/bc", "/a/b") && !is_in("/a", "/a/b"));
    }

    #[test]
    fn names_that_begin_with_or_contain_a_wanted_one_are_suggested() {
        let names = ["my-redis", "redis-server", "nginx", "redis-sentinel", "redis-server", "old-redis"];
        let similar = |wanted| similar(wanted, names.iter().map(ToString::to_string));
        assert_eq!(similar("Redis"), ["redis-sentinel", "redis-server", "my-redis"]);
        assert!(similar("postgres").is_empty());
    }

    #[test]
    fn a_name_that_two_have_or_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("nf-watched-by-its-name");
        netfathom_testkit::copy_program("/bin/sleep", &program);
        let name = "nf-watched-by-its-name";
        let start = || Command::new(&program).arg("1000").spawn().unwrap();
        let refused = |e: Result<Members, WatchRunError>| e.unwrap_err().to_string();
        assert!(refused(by_name(name)).contains("no process has that name"));
        let mut first = start();
        assert_eq!(by_name(name).unwrap(), Members::Tree { root: first.id(), name: name.into() });
        assert_eq!(by_name(name).unwrap().now(), [first.id()]);
        let mut second = start();
        let why = refused(by_name(name));
        assert!(why.contains(&second.id().to_string()) && why.contains("--pid"), "{why}");
        for child in [&mut first, &mut second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_cgroup_without_a_process_is_refused() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let place = mounts
            .lines()
            .find(|line| line.contains(" cgroup"))
            .map_or("", |line| line.split(' ').nth(1).unwrap());
        let refused = by_cgroup(&format!("{place}/missing.slice/")).unwrap_err().to_string();
        assert!(refused.contains("the cgroup /missing.slice: no process"), "{refused}");
    }
}
