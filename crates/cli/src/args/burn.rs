//! Arguments of `netfathom burn`.

use clap::Args as ClapArgs;
use netfathom_measure::kind::cost::burn::BurnPlan;
use netfathom_model::units::parse_number;

use super::{parse_time, parse_whole};

/// `netfathom burn`.
#[derive(Debug, ClapArgs)]
pub struct BurnArgs {
    /// Share of one CPU, such as 25%
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub cpu: Option<f64>,
    /// Bytes of memory to read and write a second, such as 500M/s
    #[arg(long, value_name = "BYTES/s", value_parser = parse_rate)]
    pub memory: Option<f64>,
    /// System calls a second, such as 100k/s
    #[arg(long, value_name = "CALLS/s", value_parser = parse_rate)]
    pub calls: Option<f64>,
    /// The CPU to burn on [default: where the scheduler likes]
    #[arg(long, value_name = "CPU", value_parser = parse_whole::<u16>)]
    pub on: Option<u16>,
    /// As an ordinary thread, even if it could run before all others
    #[arg(long)]
    pub ordinary: bool,
    /// How long [default: until it is stopped]
    #[arg(long = "time", value_name = "TIME", value_parser = parse_time)]
    pub time_ns: Option<u64>,
}

impl BurnArgs {
    /// The plan, which is checked when it is begun.
    pub fn plan(&self) -> BurnPlan {
        BurnPlan {
            cpu_share: self.cpu,
            memory_bytes_per_s: self.memory,
            calls_per_s: self.calls,
            on: self.on.map(usize::from),
            ordinary: self.ordinary,
            time_ns: self.time_ns,
        }
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| parse_number(number).ok());
    percent.map(|n| n / 100.0).ok_or_else(|| format!("`{text}` is no share: write such as 25%"))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").and_then(|number| parse_number(number).ok());
    number.ok_or_else(|| format!("`{text}` is no rate: write such as 100k/s"))
}
