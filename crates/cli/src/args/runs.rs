//! Arguments of `netfathom runs`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args as ClapArgs, Subcommand};
use netfathom_model::record::CATALOGUE;
use netfathom_model::verdict::Level;
use netfathom_results::store::{Filter, Moment};

use super::words::{Word, one_of};

pub const EXAMPLES: &str = "\
Examples:
  netfathom runs
      the runs in ./runs, the newest first
  netfathom runs --measurement stack --tag base --since 2d --verdict valid
      some of them
  netfathom runs show last~1
      what the run before the last one found
  netfathom runs tag last base tuned/irq
      two tags for the last run
  netfathom runs prune --older-than 30d --dry-run
      what would be removed, and what that would free

A RUN is a directory name or a unique prefix of one, a short id, a tag, or last,
last~1 and so on.";

/// `netfathom runs`.
#[derive(Debug, ClapArgs)]
#[command(subcommand_value_name = "COMMAND")]
pub struct RunsArgs {
    /// The directory of the runs
    #[arg(long, default_value = "runs", value_name = "DIR", global = true)]
    pub out: PathBuf,
    /// How they are listed.
    #[command(flatten)]
    pub list: ListArgs,
    /// What to do with them; without, they are listed
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
}

/// What can be done with runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Lists runs, the newest first
    List(ListArgs),
    /// Verdict, answer, findings and files of a run
    Show(ShowArgs),
    /// Adds tags to a run, or removes them
    Tag(TagArgs),
    /// Removes the named runs
    Remove(RemoveArgs),
    /// Removes runs by age, number or verdict; tagged ones are spared
    Prune(PruneArgs),
}

/// Which runs.
#[derive(Clone, Debug, Default, PartialEq, ClapArgs)]
pub struct FilterArgs {
    /// Only this measurement; may be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(CATALOGUE.iter().map(|entry| entry.name)))]
    pub measurement: Vec<String>,
    /// Only runs with this tag; if repeated, with all of them
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only runs of this host
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Only kernel releases with this prefix: 6.1 matches 6.1.0-18, not 6.12
    #[arg(long, value_name = "RELEASE")]
    pub kernel: Option<String>,
    /// Started then or later: 12h or 2d ago, a day (2026-11-01) or a time in UTC
    #[arg(long, value_name = "TIME")]
    pub since: Option<Moment>,
    /// Started before then, or by the end of that day
    #[arg(long, value_name = "TIME")]
    pub until: Option<Moment>,
    /// Only this verdict; may be repeated
    #[arg(long, value_parser = one_of(VERDICTS), ignore_case = true, value_name = "VERDICT")]
    pub verdict: Vec<Level>,
}

impl FilterArgs {
    /// What is wanted.
    pub fn filter(&self) -> Filter {
        Filter {
            measurements: self.measurement.clone(),
            tags: self.tag.clone(),
            host: self.host.clone(),
            kernel: self.kernel.clone(),
            since: self.since.map(|moment| moment.first),
            until: self.until.map(|moment| moment.end),
            verdicts: self.verdict.clone(),
        }
    }
}

const VERDICTS: &[Word<Level>] = &[
    ("valid", Level::Valid, "As it stands"),
    ("degraded", Level::Degraded, "With reasons to bear in mind"),
    ("void", Level::Void, "Not to be used"),
];

/// `netfathom runs list`.
#[derive(Clone, Debug, Default, PartialEq, ClapArgs)]
pub struct ListArgs {
    /// Which.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Maximum number; 0 for all [default: 100; with --json all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Write the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// `netfathom runs show`.
#[derive(Debug, ClapArgs)]
pub struct ShowArgs {
    /// Which one
    #[arg(default_value = "last")]
    pub run: PathBuf,
    /// Write it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `netfathom runs tag`.
#[derive(Debug, ClapArgs)]
pub struct TagArgs {
    /// Which one
    pub run: String,
    /// Tags: letters, digits, and . _ - / between them
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Remove these tags instead
    #[arg(long)]
    pub remove: bool,
}

/// `netfathom runs remove`.
#[derive(Debug, ClapArgs)]
pub struct RemoveArgs {
    /// Which ones
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// `netfathom runs prune`.
#[derive(Debug, ClapArgs)]
#[command(group = ArgGroup::new("which").args(["keep", "older_than", "void"]).required(true).multiple(true))]
pub struct PruneArgs {
    /// Removes all but the newest N
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Removes those begun before then: 30d ago, or before a day or a time in UTC
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<Moment>,
    /// Removes those with the verdict VOID
    #[arg(long)]
    pub void: bool,
    /// Among which runs.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Tagged runs too
    #[arg(long)]
    pub tagged: bool,
    /// Only list what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
