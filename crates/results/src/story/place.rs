//! Where a measurement was made: the same words in every picture.

use netfathom_model::plan::{Place, Wire};
use netfathom_model::print::bit_rate;
use netfathom_model::record::{Record, ServerHost};
use netfathom_model::units::format_duration;

use super::story;

/// Where the traffic of a measurement is.
#[derive(Debug)]
pub(crate) enum Site {
    At(Place),
    /// On this host.
    Here,
    /// From this host to another one.
    To(String),
    From(String),
    /// What was measured there is only read here.
    Elsewhere(&'static str),
}

/// Such as `lab on vm1`, `loopback on vm1`, `vm1 -> 10.0.0.2:9000`.
pub(crate) fn site_name(record: &Record) -> String {
    let host = record.environment.host.as_deref();
    let this = host.unwrap_or("this host");
    match story(&record.measurement).site() {
        Site::At(place @ (Place::Lab | Place::Loopback)) => match host {
            Some(host) => format!("{} on {host}", place.name()),
            None => place.name().into(),
        },
        Site::At(Place::To(address)) => format!("{this} -> {address}"),
        Site::At(Place::Listen(address)) => format!("another host -> {this} at {address}"),
        Site::Here => this.into(),
        Site::To(other) => format!("{this} -> {other}"),
        Site::From(other) => format!("{other} -> {this}"),
        Site::Elsewhere(what) => what.into(),
    }
}

/// Where the two ends stand, with the address of the other host.
pub(crate) fn ends(place: Place) -> String {
    match place {
        Place::Lab | Place::Loopback => place.name().into(),
        Place::To(address) => format!("to {address}"),
        Place::Listen(address) => format!("from another host, at {address}"),
    }
}

/// Another host that took part.
pub(crate) fn other(host: &ServerHost) -> String {
    let same = if host.same_host { ", this host" } else { "" };
    format!("{}{same}; Linux {}; {}", host.host.as_deref().unwrap_or("unknown"), host.kernel, host.tool)
}

/// Such as `round trip 20ms, 10.0 Mb/s`.
pub(crate) fn path(wire: &Wire) -> String {
    let delay = wire.delay_ns > 0 || wire.rate_bits_per_s.is_none();
    let parts = [
        delay.then(|| format!("round trip {}", format_duration(wire.delay_ns.saturating_mul(2)))),
        wire.rate_bits_per_s.map(|bits| bit_rate(bits as f64 / 8.0)),
        (wire.loss_per_million > 0).then(|| format!("{} % lost", f64::from(wire.loss_per_million) / 1e4)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
