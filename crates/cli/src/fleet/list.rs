//! Lists of hosts: read from a file, and written for whoever schedules jobs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use itertools::Itertools as _;
use netfathom_model::plan::as_name;
use netfathom_model::record::FleetResult;

use crate::args::ListsArgs;

const MOST_BYTES: u64 = 1 << 20;

/// The names of a file: one a line, what follows `#` or the first space is left out.
pub fn read(path: &Path) -> Result<Vec<String>> {
    Ok(read_hosts(path)?.iter().map(|host| as_name(name_of(host))).collect())
}

/// Hosts as they are reached, perhaps as `USER@HOST`.
pub fn read_hosts(path: &Path) -> Result<Vec<String>> {
    let shown = path.display();
    let about = std::fs::metadata(path).with_context(|| format!("--hosts: cannot read {shown}"))?;
    if about.len() > MOST_BYTES {
        bail!("--hosts: {shown} is no list of hosts: give a file with one on each line");
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("--hosts: cannot read {shown} as text"))?;
    let named = text.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next());
    let all: Vec<String> = named.unique().map(str::to_owned).collect();
    if all.is_empty() {
        bail!("--hosts: {shown} names no host: write one on each line");
    }
    Ok(all)
}

/// A host without the user that it is reached as.
pub fn name_of(host: &str) -> &str {
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// Writes good and bad hosts to where they are wanted.
pub fn write(lists: &ListsArgs, result: &FleetResult) -> Result<()> {
    let is_bad = |name: &str| {
        let missing = result.hosts.iter().any(|host| host.name == name && host.missing.is_some());
        missing || result.outliers().any(|effect| effect.host == name)
    };
    let names = || result.hosts.iter().map(|host| host.name.as_str());
    for (path, bad) in [(&lists.bad_hosts, true), (&lists.good_hosts, false)] {
        let Some(path) = path else { continue };
        let list = names().filter(|name| is_bad(name) == bad && (bad || result.is_judged(name)));
        let list: Vec<&str> = list.collect();
        let text = if lists.slurm { folded(&list) } else { list.join("\n") };
        let end = if text.is_empty() { "" } else { "\n" };
        std::fs::write(path, text + end).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Names as Slurm writes them: c[01-03,07],login.
fn folded(names: &[&str]) -> String {
    let mut groups: BTreeMap<(&str, usize), Vec<u64>> = BTreeMap::new();
    let mut plain: Vec<String> = Vec::new();
    for name in names {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at(name.len() - digits);
        match number.parse() {
            Ok(n) => groups.entry((prefix, digits)).or_default().push(n),
            Err(_) => plain.push((*name).to_owned()),
        }
    }
    let folded = groups.into_iter().map(|((prefix, digits), numbers)| {
        let alone = numbers.into_iter().sorted_unstable().map(|n| (n, n));
        let joined = alone.coalesce(|a, b| if a.1 + 1 == b.0 { Ok((a.0, b.1)) } else { Err((a, b)) });
        let parts: Vec<(u64, u64)> = joined.collect();
        let wide = |n: u64| format!("{n:0digits$}");
        let text = |&(a, b): &(u64, u64)| if a == b { wide(a) } else { format!("{}-{}", wide(a), wide(b)) };
        match parts.as_slice() {
            [(a, b)] if a == b => format!("{prefix}{}", wide(*a)),
            parts => format!("{prefix}[{}]", parts.iter().map(text).join(",")),
        }
    });
    folded.chain(plain).join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_as_slurm_does() {
        assert_eq!(folded(&["c01", "c02", "c03", "c07", "login", "n9"]), "c[01-03,07],n9,login");
        assert_eq!(folded(&["c9", "c10", "c08"]), "c9,c[08,10]");
        assert_eq!(folded(&[]), "");
    }

    #[test]
    fn a_list_of_hosts_may_have_users_and_remarks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hosts");
        std::fs::write(&path, "# all\nroot@c01.x  # slow\n\nc02\nc02\n").unwrap();
        assert_eq!(read(&path).unwrap(), ["c01_x", "c02"]);
        assert_eq!(read_hosts(&path).unwrap(), ["root@c01.x", "c02"]);
        std::fs::write(&path, "#\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("names no host"));
    }
}
