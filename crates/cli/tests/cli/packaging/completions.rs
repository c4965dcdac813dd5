//! Completions, asked of the shells themselves.

use super::*;

/// A shell of its own in a terminal, which completes a line as for somebody who types; `$1` is the directory of the script.
const TYPED_IN_ZSH: &str = r#"
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; print REA''DY"
zpty -r -m z shown '*READY*'
zpty -w -n z $'netfathom stack --wor\t'
for turn in {1..600}; do
    sleep 0.1
    zpty -r -t z shown && all+=$shown
    [[ $all == *--workers* ]] && break
done
zpty -d z
print -r -- "$all"
"#;

/// What bash offers for the words `$2`..., of a script `$1` that it has read.
pub const OFFERED_BY_BASH: &str = r#"
set -eu; source "$1"; shift
complete -p netfathom
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_netfathom netfathom "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// A directory with the script of a shell under the name that it goes by.
fn written(shell: &str, name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = out();
    let path = dir.path().join(name);
    fs::write(&path, well(&mut netfathom(&format!("completions {shell}"))).out).unwrap();
    (dir, path)
}

#[test]
fn bash_completes_commands_options_and_values() {
    let (_dir, path) = written("bash", "netfathom");
    let offered = |words: &[&str]| well(script("bash", OFFERED_BY_BASH).arg(&path).args(words)).out;
    let commands = offered(&["netfathom", "re"]);
    assert!(
        ["reverse", "reproduce", "report"].iter().all(|c| commands.lines().any(|l| l == *c)),
        "{commands}"
    );
    assert!(!offered(&["netfathom", ""]).lines().any(|l| l == "burn"), "a hidden command is offered");
    let taps = offered(&["netfathom", "stack", "--tap", ""]);
    assert!(taps.lines().any(|line| line == "timestamping"), "{taps}");
    let sizes = offered(&["netfathom", "message", "oneway", "--si"]);
    assert!(sizes.lines().any(|line| line == "--sizes"), "{sizes}");
}

#[test]
fn fish_completes_commands_options_and_values() {
    needs_programs!(["fish"], "fish");
    let (dir, path) = written("fish", "netfathom.fish");
    let offered = |line: &str| {
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", "source $argv[1]; complete -C $argv[2]"]).arg(&path).arg(line);
        well(fish.env("HOME", dir.path()).current_dir(dir.path())).out
    };
    let firsts = |line: &str| -> Vec<String> {
        offered(line).lines().map(|l| l.split('\t').next().unwrap().into()).collect()
    };
    assert_eq!(firsts("netfathom rev"), ["reverse"]);
    assert_eq!(firsts("netfathom b"), [""; 0]);
    assert_eq!(firsts("netfathom stack --wor"), ["--workers"]);
    assert!(firsts("netfathom stack --tap ").contains(&"timestamping".into()));
}

#[test]
fn zsh_completes_what_is_typed() {
    needs_programs!(["zsh"], "zsh");
    let (dir, _path) = written("zsh", "_netfathom");
    let mut zsh = Command::new("zsh");
    zsh.args(["-f", "-c", TYPED_IN_ZSH, "zsh"]).arg(dir.path()).env("TERM", "dumb").current_dir(dir.path());
    let typed = well(&mut zsh).out;
    assert!(typed.contains("netfathom stack --workers"), "{typed}");
}

#[test]
fn other_shells_are_wrong_usage() {
    refused_for(&mut netfathom("completions tcsh"), 2, &["bash, zsh, fish"]);
}
