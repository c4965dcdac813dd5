//! How much work each phase is.

use std::fmt;
use std::str::FromStr;

use super::{PHASES, Phase, phase};

/// Phases in the order in which they run, each with its size in its own unit. Written and read as
/// `cpu=1200,memory=64`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    phases: Vec<(&'static Phase, u64)>,
}

impl Sizes {
    /// Of phases that each come once, with a size of 1 or more.
    pub fn new(phases: Vec<(&'static Phase, u64)>) -> Result<Self, String> {
        if phases.is_empty() {
            return Err("there is no phase in it".into());
        }
        for (at, (phase, size)) in phases.iter().enumerate() {
            if *size == 0 {
                return Err(format!("the phase {} has no size: 1 is the least", phase.name));
            }
            if phases[..at].iter().any(|(other, _)| other == phase) {
                return Err(format!("the phase {} is in it twice", phase.name));
            }
        }
        Ok(Self { phases })
    }

    pub fn phases(&self) -> &[(&'static Phase, u64)] {
        &self.phases
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.phases.iter().map(|(p, size)| format!("{}={size}", p.name)).collect();
        f.write_str(&texts.join(","))
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| {
            let form = || format!("`{part}` is no size of a phase: write such as cpu=1200");
            let (name, size) = part.split_once('=').ok_or_else(form)?;
            let size = size.parse().map_err(|_| form())?;
            Ok((phase(name).ok_or_else(|| unknown(name))?, size))
        };
        Self::new(text.split(',').map(one).collect::<Result<_, String>>()?)
    }
}

/// What to write instead of a name that is none.
pub fn unknown(name: &str) -> String {
    let names: Vec<&str> = PHASES.iter().map(|phase| phase.name).collect();
    format!("there is no phase `{name}`: there are {}", names.join(", "))
}
