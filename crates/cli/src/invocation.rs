//! The command that a record was made by.

use std::env;

use netfathom_model::record::Around;

use crate::args;

/// What was run before and after this netfathom to change something: `netfathom compare` sets them, and so may a script.
pub const BEFORE: &str = "NETFATHOM_BEFORE";
pub const AFTER: &str = "NETFATHOM_AFTER";

/// The profile of a run that names none: `netfathom compare` sets it, so that all its runs have the load of the first.
pub const PROFILE: &str = "NETFATHOM_PROFILE";

pub fn profile() -> Option<String> {
    env::var(PROFILE).ok()
}

/// The command as a shell takes it, without what only says where results go.
pub fn command() -> String {
    let words = args::as_called(env::args_os());
    joined(words.into_iter().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn joined(words: impl Iterator<Item = String>) -> String {
    let mut kept = vec!["netfathom".to_owned()];
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            // What follows is for another program.
            "--" => {
                kept.push(word);
                kept.extend(words.by_ref());
            }
            "--json" | "--quiet" => {}
            "--out" => drop(words.next()),
            other if other.starts_with("--out=") => {}
            _ => kept.push(word),
        }
    }
    let quoted = kept.iter().map(|word| shlex::try_quote(word).map_or_else(|_| word.clone(), Into::into));
    quoted.collect::<Vec<String>>().join(" ")
}

pub fn around() -> Option<Around> {
    let set = |name| env::var(name).ok().filter(|command| !command.is_empty());
    let around = Around { before: set(BEFORE), after: set(AFTER) };
    (around != Around::default()).then_some(around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_as_a_shell_takes_it_without_where_results_go() {
        let of = |words: &[&str]| joined(words.iter().map(|&word| word.to_owned()));
        assert_eq!(
            of(&["stack", "--profile", "ramp:1k..2k /1s", "--json", "--out", "x", "--trials=3", "--out=y"]),
            "netfathom stack --profile 'ramp:1k..2k /1s' '--trials=3'"
        );
        assert_eq!(
            of(&["cost", "--quiet", "--", "sh", "-c", "a; b", "--json"]),
            "netfathom cost -- sh -c 'a; b' --json"
        );
    }
}
