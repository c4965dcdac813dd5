//! Families as text.

use std::io::{self, Write};

use super::family::{Buckets, Families, Metric, Value};
use crate::page::printable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// 1.0.
    OpenMetrics,
    /// That of Prometheus, 0.0.4, which ignores UNIT and EOF.
    Prometheus,
}

pub fn write(out: &mut (dyn Write + Send), families: &Families, dialect: Dialect) -> io::Result<()> {
    for (name, family) in families {
        let Some(first) = family.metrics.first() else { continue };
        let kind: &str = (&first.value).into();
        let suffix = match (dialect, &first.value) {
            (Dialect::Prometheus, Value::Counter(_)) => "_total",
            _ => "",
        };
        writeln!(out, "# TYPE {name}{suffix} {kind}")?;
        if !family.unit.is_empty() {
            writeln!(out, "# UNIT {name}{suffix} {}", family.unit)?;
        }
        writeln!(out, "# HELP {name}{suffix} {}", escaped(&family.help))?;
        family.metrics.iter().try_for_each(|metric| write_metric(out, name, metric))?;
    }
    out.write_all(b"# EOF\n")
}

/// Samples of a counter end in `_total`; in OpenMetrics its family does not.
fn write_metric(out: &mut (dyn Write + Send), name: &str, metric: &Metric) -> io::Result<()> {
    let labels = joined(&metric.labels);
    let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    match &metric.value {
        Value::Counter(value) => writeln!(out, "{name}_total{braced} {value}"),
        Value::Gauge(value) => writeln!(out, "{name}{braced} {value}"),
        Value::Histogram(buckets) => write_buckets(out, name, &labels, buckets),
    }
}

fn write_buckets(
    out: &mut (dyn Write + Send),
    name: &str,
    labels: &str,
    buckets: &Buckets,
) -> io::Result<()> {
    for (bound, count) in &buckets.bounds {
        writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}")?;
    }
    writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", buckets.count)?;
    // OpenMetrics requires both or neither.
    if let Some(sum) = buckets.sum {
        writeln!(out, "{name}_count{{{labels}}} {}", buckets.count)?;
        writeln!(out, "{name}_sum{{{labels}}} {sum}")?;
    }
    Ok(())
}

fn joined(labels: &[(&str, String)]) -> String {
    let pair = |(name, value): &(&str, String)| format!("{name}=\"{}\"", escaped(value));
    labels.iter().map(pair).collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    printable(&text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
