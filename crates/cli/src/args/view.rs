//! Arguments of `netfathom view`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

pub const EXAMPLES: &str = "\
Examples:
  netfathom view
      prints the address of a page with the runs in ./runs
  netfathom view --out /srv/runs --port 8080 --open
      the same of another directory, at a port of its own, shown at once

The page is served to this machine alone, changes nothing and makes no network
request. From elsewhere, forward the port:
ssh -L 8080:127.0.0.1:8080 HOST, then open http://127.0.0.1:8080 there.";

/// `netfathom view`.
#[derive(Debug, ClapArgs)]
pub struct ViewArgs {
    /// The directory of the runs
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// The port on the loopback device; 0 takes one that is free
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
}
