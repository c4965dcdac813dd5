//! Where a measurement was made: the same words in every picture.

use netfathom_model::plan::{CostLoad, Place, Role, SweepEnds};
use netfathom_model::record::{Measurement, Record, TransferResult};

/// Such as `lab on vm1`, `loopback on vm1`, `vm1 -> 10.0.0.2:9000`.
pub(crate) fn of(record: &Record) -> String {
    let host = record.environment.host.as_deref();
    let here = |place: &str| host.map_or_else(|| place.to_owned(), |host| format!("{place} on {host}"));
    let on = |place: Place| match place {
        Place::Lab | Place::Loopback => here(place.name()),
        Place::To(address) => format!("{} -> {address}", host.unwrap_or("this host")),
        Place::Listen(address) => format!("another host -> {} at {address}", host.unwrap_or("this host")),
    };
    match &record.measurement {
        Measurement::Stack(result) => on(result.plan.place),
        Measurement::Load(result) => on(result.plan.place),
        Measurement::Capacity(result) => on(result.plan.place),
        Measurement::Message(result) => on(result.plan.place),
        Measurement::Reverse(_) => here("lab"),
        Measurement::Transfer(result) => transferred(result, host.unwrap_or("this host")),
        Measurement::Sweep(result) => match &result.plan.ends {
            SweepEnds::Lab { .. } => here("lab"),
            SweepEnds::Loopback => here("loopback"),
            SweepEnds::Host { name, .. } => format!("{} -> {name}", host.unwrap_or("this host")),
        },
        Measurement::Join(_) => "captures and logs".into(),
        Measurement::Cost(result) => match result.plan.as_ref().map(|plan| &plan.load) {
            None => "times taken elsewhere".into(),
            Some(Some(CostLoad::Udp { .. })) => here("lab"),
            Some(_) => host.unwrap_or("this host").into(),
        },
        Measurement::Reproduce(_) => host.unwrap_or("this host").into(),
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

fn transferred(result: &TransferResult, host: &str) -> String {
    let other = result.peer.as_deref().unwrap_or("another host");
    match result.plan.role {
        Role::Transmit => format!("{host} -> {other}"),
        Role::Receive => format!("{other} -> {host}"),
    }
}
