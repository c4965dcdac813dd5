//! Arguments of `netfathom completions` and of `netfathom man`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

pub const EXAMPLES: &str = "\
Examples:
  source <(netfathom completions bash)
      for bash; a line for ~/.bashrc
  netfathom completions zsh > ~/.zfunc/_netfathom
      for zsh, where ~/.zshrc has:
      fpath+=~/.zfunc; autoload -U compinit; compinit
  netfathom completions fish > ~/.config/fish/completions/netfathom.fish
      for fish

The Debian package and make install have put them where each shell looks.";

/// `netfathom completions`.
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell to write them for
    #[arg(value_enum)]
    pub shell: Shell,
}

/// The shells by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU bash, 4.4 or later
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// `netfathom man`.
#[derive(Debug, ClapArgs)]
pub struct ManArgs {
    /// Directory to write the pages into, one a command
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The date in their feet, such as 2026-11-21 [default: none, so that they are always the same]
    #[arg(long, value_name = "DATE", default_value = "", hide_default_value = true)]
    pub date: String,
}
