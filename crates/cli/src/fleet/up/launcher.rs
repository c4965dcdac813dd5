//! How a command is run on another host: one table, and nothing else knows the launchers apart.
//!
//! A file is copied by the standard input of such a command.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::args::Via;
use crate::fleet::list;

struct LaunchCommand {
    /// Unless another is typed.
    command: &'static str,
    /// What follows it; HOST and SCRIPT are put in, each as part of one word.
    rest: &'static [&'static str],
    /// What it has started ends with it, so it stays for as long; it hands on SIGUSR1, which ends that.
    stays: bool,
}

const SSH: LaunchCommand =
    LaunchCommand { command: "ssh -o BatchMode=yes", rest: &["HOST", "SCRIPT"], stays: false };
const KUBECTL: LaunchCommand = LaunchCommand {
    command: "kubectl exec --stdin",
    rest: &["HOST", "--", "sh", "-c", "SCRIPT"],
    stays: false,
};
const SRUN: LaunchCommand = LaunchCommand {
    command: "srun --overlap --immediate=30 --nodes=1 --ntasks=1",
    rest: &["--nodelist=HOST", "sh", "-c", "SCRIPT"],
    stays: true,
};

/// A way to hosts, as it was chosen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launcher {
    via: Via,
    words: Vec<String>,
}

impl Launcher {
    /// `typed` takes the place of the usual command, and is written as for a shell.
    pub fn new(via: Via, typed: Option<&str>) -> Result<Self> {
        let command = typed.unwrap_or(launch_command(via).command);
        let words = shlex::split(command).filter(|words| !words.is_empty());
        let words = words.with_context(|| format!("--command {command}: write it as for a shell"))?;
        Ok(Self { via, words })
    }

    pub fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub fn stays(&self) -> bool {
        launch_command(self.via).stays
    }

    /// What runs a script on a host, all of its ends connected.
    pub fn command(&self, host: &str, script: &str) -> Result<Command, String> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-:@%".contains(&b);
        if host.starts_with('-') || list::name_of(host).starts_with('-') || !host.bytes().all(is_plain) {
            return Err("a host is named by letters, digits and ._-:@%, and does not begin with -".into());
        }
        let (program, first) = self.words.split_first().ok_or("there is no command")?;
        let rest = launch_command(self.via).rest.iter().map(|word| match *word {
            "SCRIPT" => script.to_owned(),
            word => word.replace("HOST", host),
        });
        let mut command = Command::new(program);
        command.args(first).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped());
        if self.stays() {
            // Ctrl-C is not meant for it.
            command.process_group(0);
        }
        Ok(command)
    }
}

fn launch_command(via: Via) -> &'static LaunchCommand {
    match via {
        Via::Ssh | Via::None => &SSH,
        Via::Srun => &SRUN,
        Via::Kubectl => &KUBECTL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(via: Via, typed: Option<&str>, host: &str) -> Result<Vec<String>, String> {
        let command = Launcher::new(via, typed).unwrap().command(host, "a \"$b\" SCRIPT")?;
        let all = [command.get_program()].into_iter().chain(command.get_args());
        Ok(all.map(|word| word.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn a_script_and_a_host_are_one_word_each() {
        const SCRIPT: &str = "a \"$b\" SCRIPT";
        assert_eq!(words(Via::Ssh, None, "u@h").unwrap(), ["ssh", "-o", "BatchMode=yes", "u@h", SCRIPT]);
        assert_eq!(
            words(Via::Kubectl, Some("kubectl -n 'a b' exec -i"), "pod-1.x").unwrap(),
            ["kubectl", "-n", "a b", "exec", "-i", "pod-1.x", "--", "sh", "-c", SCRIPT]
        );
        let srun = words(Via::Srun, None, "c01").unwrap();
        assert_eq!(srun[0], "srun");
        assert_eq!(srun[srun.len() - 4..], ["--nodelist=c01", "sh", "-c", SCRIPT]);
        for typed in ["", "a 'b"] {
            assert!(Launcher::new(Via::Ssh, Some(typed)).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_host_is_no_option_no_list_and_no_command() {
        for host in [
            "-oProxyCommand=x",
            "root@-oProxyCommand=x",
            "a;b",
            "c[01-03]",
            "a,b",
            "$(x)",
            "a b",
            "a\nb",
            "a/b",
        ] {
            for via in [Via::Ssh, Via::Srun, Via::Kubectl] {
                assert!(words(via, None, host).is_err(), "{host}");
            }
        }
        for host in ["root@10.0.0.1", "c01.x", "fe80::1%eth0", "a_b"] {
            assert!(words(Via::Ssh, None, host).is_ok(), "{host}");
        }
    }
}
