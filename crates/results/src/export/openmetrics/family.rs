//! Families of metrics, in no format yet.

use std::collections::BTreeMap;

use strum::IntoStaticStr;

use super::exponential::Exponential;

/// By their names.
pub type Families = BTreeMap<String, Family>;
pub type Labels = Vec<(&'static str, String)>;

pub struct Family {
    pub unit: &'static str,
    pub help: String,
    /// All of one kind.
    pub metrics: Vec<Metric>,
}

pub struct Metric {
    pub labels: Labels,
    pub value: Value,
}

#[derive(IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Value {
    Counter(f64),
    Gauge(f64),
    Histogram(Buckets),
}

/// Times, in seconds.
pub struct Buckets {
    /// Upper bounds in rising order, each with all that lies at or below it; without the last, infinity.
    pub bounds: Vec<(f64, u64)>,
    pub count: u64,
    /// `None` where it can fall.
    pub sum: Option<f64>,
    /// The same times in finer buckets, of a run that goes on.
    pub exponential: Option<Exponential>,
}

/// The metrics of a family, which is begun where there is none of that name.
pub fn metrics<'a>(
    families: &'a mut Families,
    name: &str,
    unit: &'static str,
    help: String,
) -> &'a mut Vec<Metric> {
    let begun = || Family { unit, help: help + ".", metrics: Vec::new() };
    &mut families.entry(name.to_owned()).or_insert_with(begun).metrics
}
