//! How a profile is written on the command line, and why a text is none.

use std::fmt;
use std::str::FromStr;

use super::Profile;
use crate::units::{format_duration, format_rate, parse_duration_ns, parse_number};

/// Why a text is no profile, and what would be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(pub String);

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        if let Some(path) = Self::csv_path(text) {
            return Err(ProfileError(format!(
                "csv:{path} is a profile in a file, and this place takes none: write it out, such as ramp:1k..200k/10s"
            )));
        }
        let form = || {
            ProfileError(format!(
                "`{text}` is not a profile: write constant:50k/10s, ramp:1k..200k/10s, triangle:1k..200k/10s, \
                 triangle:1k..200k,cap=90k/10s, steps:1k,10k,100k/10s, poisson:50k/10s or csv:FILE"
            ))
        };
        let (kind, rest) = text.split_once(':').ok_or_else(form)?;
        let (rates, duration) = rest.rsplit_once('/').ok_or_else(form)?;
        let duration_ns = parse_duration_ns(duration).map_err(ProfileError)?;
        let pair = |text: &str| -> Result<(f64, f64), ProfileError> {
            let (from, to) = text.split_once("..").ok_or_else(form)?;
            Ok((number(from)?, number(to)?))
        };
        let profile = match kind {
            "constant" => Self::Constant { rate_per_s: number(rates)?, duration_ns },
            "ramp" => {
                let (from_per_s, to_per_s) = pair(rates)?;
                Self::Ramp { from_per_s, to_per_s, duration_ns }
            }
            "triangle" => {
                let (ends, cap) = match rates.split_once(",cap=") {
                    Some((ends, cap)) => (ends, Some(number(cap)?)),
                    None => (rates, None),
                };
                let (from_per_s, to_per_s) = pair(ends)?;
                Self::Triangle { from_per_s, to_per_s, cap_per_s: cap, duration_ns }
            }
            "steps" => Self::Steps {
                rates_per_s: rates.split(',').map(number).collect::<Result<_, _>>()?,
                duration_ns,
            },
            "poisson" => Self::Poisson { rate_per_s: number(rates)?, duration_ns },
            _ => return Err(form()),
        };
        profile.validated()
    }
}

fn number(text: &str) -> Result<f64, ProfileError> {
    parse_number(text).map_err(ProfileError)
}

/// As short as [`format_rate`] where that reads back as the same rate, otherwise in full.
fn exact(per_s: f64) -> String {
    let short = format_rate(per_s);
    if parse_number(&short) == Ok(per_s) { short } else { per_s.to_string() }
}

impl fmt::Display for Profile {
    /// As it is read, except for a table: only its size is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { rate_per_s, .. } => write!(f, "constant:{}", exact(*rate_per_s)),
            Self::Ramp { from_per_s, to_per_s, .. } => {
                write!(f, "ramp:{}..{}", exact(*from_per_s), exact(*to_per_s))
            }
            Self::Triangle { from_per_s, to_per_s, cap_per_s, .. } => {
                write!(f, "triangle:{}..{}", exact(*from_per_s), exact(*to_per_s))?;
                cap_per_s.map_or(Ok(()), |cap| write!(f, ",cap={}", exact(cap)))
            }
            Self::Steps { rates_per_s, .. } => {
                let rates: Vec<String> = rates_per_s.iter().map(|&r| exact(r)).collect();
                write!(f, "steps:{}", rates.join(","))
            }
            Self::Poisson { rate_per_s, .. } => write!(f, "poisson:{}", exact(*rate_per_s)),
            Self::Table { points } => write!(f, "csv:{} points", points.len()),
        }?;
        write!(f, "/{}", format_duration(self.duration_ns()))
    }
}
