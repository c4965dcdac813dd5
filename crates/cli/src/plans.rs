//! What several commands' plans have in common.

use std::net::SocketAddr;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use netfathom_measure::load::allow::{self, Prefix};
use netfathom_model::plan::{Family, Place};
use netfathom_model::profile::Profile;
use netfathom_sys::probe::effective_user;

/// More than the most points of a table take.
const MOST_CSV_BYTES: u64 = 1 << 20;

/// Whether load may go there, before anything is made.
pub fn permit(place: Place, allow: &[Prefix], by_name: bool) -> Result<()> {
    let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
    match place {
        Place::To(to) => Ok(allow::permit(to.ip(), &allow, by_name)?),
        _ => Ok(()),
    }
}

/// Other hosts, and the networks that were allowed; `None` of none.
type Hosts = (Option<Vec<SocketAddr>>, Option<Vec<String>>);

/// As plans have them.
pub fn hosts(to: &[SocketAddr], allow: &[Prefix]) -> Result<Hosts> {
    for &to in to {
        permit(Place::To(to), allow, false)?;
    }
    let named = |allow: &[Prefix]| allow.iter().map(ToString::to_string).collect();
    Ok(((!to.is_empty()).then(|| to.to_vec()), (!allow.is_empty()).then(|| named(allow))))
}

/// Differs between runs, also between those that start together.
pub fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (u64::from(process::id()) << 32) ^ now.as_nanos() as u64
}

pub fn is_root() -> bool {
    effective_user() == 0
}

/// The lab, or loopback: as asked for, or what this user may.
pub fn place(lab: bool, loopback: bool) -> Place {
    if lab || !loopback && is_root() { Place::Lab } else { Place::Loopback }
}

/// IPv6 instead of IPv4, or what the address of another host is.
pub fn family(ipv6: bool, place: Place) -> Family {
    let v6 = match place {
        Place::To(address) | Place::Listen(address) => address.is_ipv6(),
        _ => ipv6,
    };
    if v6 { Family::Ipv6 } else { Family::Ipv4 }
}

/// A profile as it was written; that of a file is read.
pub fn profile(text: &str) -> Result<Profile> {
    let Some(path) = Profile::csv_path(text) else { return Ok(text.parse()?) };
    let about = std::fs::metadata(path).with_context(|| format!("--profile: cannot read {path}"))?;
    if !about.is_file() || about.len() > MOST_CSV_BYTES {
        bail!("--profile: {path} is no table of times and rates: give a file of at most 1 MB");
    }
    let csv = std::fs::read_to_string(path).with_context(|| {
        format!("--profile: cannot read {path} as text: give a table of seconds and rates")
    })?;
    Profile::from_csv(&csv).with_context(|| format!("--profile: {path}"))
}
