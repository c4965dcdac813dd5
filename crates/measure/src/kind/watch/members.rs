//! Which processes a target means: those of a name, a cgroup or a container, as `/proc` has them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem;
use std::path::Path;

use netfathom_model::plan::{WatchPlan, WatchTarget};
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
    /// All that have a name, whoever started them.
    Named(String),
    /// The path of a cgroup.
    Cgroup(String),
    /// All containers of a name or an id. The ids are known by whether they are meant.
    Containers {
        wanted: String,
        known: BTreeMap<String, bool>,
    },
}

impl Members {
    /// `None` of a target that is no processes.
    pub fn find(plan: &WatchPlan) -> Result<Option<Self>, WatchRunError> {
        // Where it is mounted, only that of another PID namespace has no number for this process.
        let missing = |e| match Path::new("/proc/version").exists() {
            true => WatchRunError::OtherProc,
            false => WatchRunError::Proc(e),
        };
        fs::read_link("/proc/self").map_err(missing)?;
        Ok(Some(match &plan.target {
            WatchTarget::All | WatchTarget::Port(_) | WatchTarget::Flow { .. } => return Ok(None),
            _ if !process::proc_is_ours() => return Err(WatchRunError::OtherProc),
            WatchTarget::Process(pid) => Self::One(*pid),
            WatchTarget::Name(name) if plan.awaits() && meant(name).is_none() => Self::Named(name.clone()),
            WatchTarget::Name(name) => by_name(name)?,
            WatchTarget::Cgroup(path) if plan.awaits() => Self::Cgroup(in_hierarchy(path)),
            WatchTarget::Cgroup(path) => by_cgroup(path)?,
            WatchTarget::Container(name) if plan.awaits() => {
                Self::Containers { wanted: name.clone(), known: BTreeMap::new() }
            }
            WatchTarget::Container(name) => Self::Cgroup(by_container(name)?),
        }))
    }

    /// Those that live, the first of them first.
    pub fn now(&mut self) -> Vec<u32> {
        match self {
            Self::One(pid) => vec![*pid],
            Self::Tree { root, name } => {
                let named: BTreeSet<u32> = named(name).into_iter().collect();
                let of_root = |pid: &u32| top(*pid, &named) == *root || *pid == *root;
                named.iter().copied().filter(of_root).collect()
            }
            Self::Named(name) => named(name),
            Self::Containers { wanted, known } => contained(wanted, known),
            Self::Cgroup(path) => {
                all().filter(|&pid| cgroups(pid).iter().any(|of| is_in(of, path))).collect()
            }
        }
    }
}

fn all() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    process::all().unwrap_or_default().into_iter().filter(move |&pid| pid != own)
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
    if let Some(meant) = meant(wanted) {
        return meant;
    }
    match similar(wanted, all().filter(|&pid| lives(pid)).map(name)).join(", ") {
        none if none.is_empty() => "`ps -eo pid,comm` lists processes, `ss -tulpn` those that listen".into(),
        names => format!("did you mean {names}?"),
    }
}

/// What to type in place of a number or a path, which no program has as its name.
fn meant(wanted: &str) -> Option<String> {
    if wanted.parse::<u32>().is_ok() {
        return Some(format!("to watch a process by its PID: --pid {wanted}"));
    }
    let (_, last) = wanted.rsplit_once('/').filter(|(_, last)| !last.is_empty())?;
    Some(format!("a path is no name: its last part is, {last}"))
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

/// Where hierarchies of cgroups are mounted.
fn hierarchies() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let place = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        matches!(kind, "cgroup" | "cgroup2").then(|| place.to_owned())
    };
    mounts.lines().filter_map(place).collect()
}

/// A directory of cgroups is meant as well as the path in the hierarchy that is mounted there.
fn in_hierarchy(typed: &str) -> String {
    let places = hierarchies();
    let rest = |place: &String| typed.strip_prefix(place.as_str()).filter(|rest| rest.starts_with('/'));
    let rests = places.iter().filter_map(rest);
    format!("/{}", rests.min_by_key(|rest| rest.len()).unwrap_or(typed).trim_matches('/'))
}

fn by_cgroup(typed: &str) -> Result<Members, WatchRunError> {
    let path = in_hierarchy(typed);
    let mut members = Members::Cgroup(path.clone());
    if members.now().is_empty() {
        let places = hierarchies();
        let is_there = places.iter().any(|place| Path::new(&format!("{place}{path}")).is_dir());
        let wrong =
            if is_there || places.is_empty() { "no process is in it" } else { "there is no such cgroup" };
        let why =
            format!("{wrong}; /proc/PID/cgroup has the path of a process, `systemd-cgls` lists all cgroups");
        return Err(WatchRunError::Target { what: format!("the cgroup {path}"), why });
    }
    Ok(members)
}

/// The processes of the containers that are wanted. A name is looked up once: that costs more than all else here.
fn contained(wanted: &str, known: &mut BTreeMap<String, bool>) -> Vec<u32> {
    let before = mem::take(known);
    let look_up = |id: &String| before.get(id).copied().unwrap_or_else(|| container::is_named(wanted, id));
    let mut is_wanted = |id: String| *known.entry(id).or_insert_with_key(look_up);
    let ids = |pid| cgroups(pid).into_iter().filter_map(|path| Some(container::of(&path)?.id));
    all().filter(|&pid| ids(pid).any(&mut is_wanted)).collect()
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
    fn a_number_and_a_path_are_explained() {
        assert!(meant("2730").unwrap().contains("--pid 2730"));
        assert!(meant("/usr/sbin/nginx").unwrap().ends_with(" nginx"));
        assert_eq!(meant("redis-server"), None);
        assert!(other("nf-name-of-no-process").contains("ps -eo pid,comm"));
    }

    #[test]
    fn a_name_that_two_have_or_none_is_refused_unless_they_are_awaited() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("nf-watched-by-its-name");
        netfathom_testkit::copy_program("/bin/sleep", &program);
        let name = "nf-watched-by-its-name";
        let start = || Command::new(&program).arg("1000").spawn().unwrap();
        let refused = |e: Result<Members, WatchRunError>| e.unwrap_err().to_string();
        let mut awaited = Members::Named(name.into());
        assert!(awaited.now().is_empty());
        assert!(refused(by_name(name)).contains("no process has that name"));
        let mut first = start();
        assert_eq!(by_name(name).unwrap(), Members::Tree { root: first.id(), name: name.into() });
        assert_eq!(by_name(name).unwrap().now(), [first.id()]);
        let mut second = start();
        let why = refused(by_name(name));
        assert!(why.contains(&second.id().to_string()) && why.contains("--pid"), "{why}");
        let all = BTreeSet::from([first.id(), second.id()]);
        assert_eq!(BTreeSet::from_iter(awaited.now()), all);
        for child in [&mut first, &mut second] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_cgroup_that_is_not_there_is_refused() {
        let places = hierarchies();
        let place = places.first().map_or("", String::as_str);
        let refused = by_cgroup(&format!("{place}/missing.slice/")).unwrap_err().to_string();
        let why = if places.is_empty() { "no process is in it" } else { "there is no such cgroup" };
        assert!(refused.contains(&format!("the cgroup /missing.slice: {why}")), "{refused}");
    }
}
