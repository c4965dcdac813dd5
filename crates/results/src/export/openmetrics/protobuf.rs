//! Families as delimited messages: the only format in which Prometheus takes native histograms.

use std::collections::BTreeMap;
use std::iter;

use prost::Message;

use super::exponential::{Exponential, ZERO_THRESHOLD};
use super::family::{Buckets, Families, Family, Metric, Value};
use super::proto::{self, BucketSpan};

pub fn encode(families: &Families) -> Vec<u8> {
    let messages = families.iter().filter_map(|(name, of)| family(name, of));
    messages.flat_map(|message| message.encode_length_delimited_to_vec()).collect()
}

/// `None` of one without metrics.
fn family(name: &str, of: &Family) -> Option<proto::MetricFamily> {
    let (kind, suffix) = match of.metrics.first()?.value {
        Value::Counter(_) => (proto::COUNTER, "_total"),
        Value::Gauge(_) => (proto::GAUGE, ""),
        Value::Histogram(_) => (proto::HISTOGRAM, ""),
    };
    Some(proto::MetricFamily {
        name: format!("{name}{suffix}"),
        help: of.help.clone(),
        kind,
        metric: of.metrics.iter().map(metric).collect(),
        unit: of.unit.into(),
    })
}

fn metric(of: &Metric) -> proto::Metric {
    let pair =
        |(name, value): &(&str, String)| proto::LabelPair { name: (*name).into(), value: value.clone() };
    let mut metric =
        proto::Metric { label: of.labels.iter().map(pair).collect(), ..proto::Metric::default() };
    match of.value {
        Value::Counter(value) => metric.counter = Some(proto::Number { value }),
        Value::Gauge(value) => metric.gauge = Some(proto::Number { value }),
        Value::Histogram(ref buckets) => metric.histogram = Some(histogram(buckets)),
    }
    metric
}

/// With both kinds of buckets: the scraper chooses.
fn histogram(of: &Buckets) -> proto::Histogram {
    let bucket = |&(bound, count): &(f64, u64)| proto::Bucket { cumulative_count: count, upper_bound: bound };
    let classic = proto::Histogram {
        sample_count: of.count,
        sample_sum: of.sum.unwrap_or_default(),
        bucket: of.bounds.iter().map(bucket).collect(),
        ..proto::Histogram::default()
    };
    match &of.exponential {
        Some(exponential) => native(exponential, classic),
        None => classic,
    }
}

fn native(of: &Exponential, classic: proto::Histogram) -> proto::Histogram {
    proto::Histogram {
        schema: of.schema as i32,
        // Above 0 it also marks a histogram as native, whatever it holds.
        zero_threshold: ZERO_THRESHOLD,
        zero_count: of.zero,
        positive_span: spans(&of.buckets),
        positive_delta: deltas(&of.buckets),
        ..classic
    }
}

/// Buckets without a gap, and how far behind those before.
fn spans(buckets: &BTreeMap<i32, u64>) -> Vec<BucketSpan> {
    let (mut spans, mut next) = (Vec::<BucketSpan>::new(), 0);
    for &index in buckets.keys() {
        if let Some(last) = spans.last_mut()
            && index == next
        {
            last.length += 1;
        } else {
            spans.push(BucketSpan { offset: index - next, length: 1 });
        }
        next = index + 1;
    }
    spans
}

/// The count of each bucket, less that of the one before.
fn deltas(buckets: &BTreeMap<i32, u64>) -> Vec<i64> {
    let counts = buckets.values().map(|&count| count as i64);
    let before = iter::once(0).chain(counts.clone());
    counts.zip(before).map(|(count, before)| count - before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::openmetrics::family::metrics;

    fn few() -> Exponential {
        Exponential { schema: 3, zero: 1, buckets: BTreeMap::from([(-3, 5), (-2, 7), (1, 4)]) }
    }

    /// By the numbers of `metrics.proto`, and not by those of the reader here.
    #[test]
    fn a_native_histogram_is_what_the_specification_has() {
        let native = native(&few(), proto::Histogram { sample_count: 17, ..proto::Histogram::default() });
        let mut expected = vec![0x08, 17, 0x28, 6, 0x31];
        expected.extend(2_f64.powi(-30).to_le_bytes());
        expected.extend([0x38, 1]);
        // Offset -3 and length 2, then offset 2 and length 1.
        expected.extend([0x62, 4, 0x08, 5, 0x10, 2, 0x62, 4, 0x08, 4, 0x10, 1]);
        // 5, 2 and -3.
        expected.extend([0x6a, 3, 10, 4, 5]);
        assert_eq!(native.encode_to_vec(), expected);
    }

    #[test]
    fn each_family_of_the_text_is_a_message() {
        let mut families = Families::new();
        let mut add = |name: &str, value| {
            let labels = vec![("quantity", "rx".to_owned())];
            metrics(&mut families, name, "seconds", "Help".into()).push(Metric { labels, value });
        };
        add("a", Value::Counter(2.5));
        add("b", Value::Gauge(0.0));
        let (bounds, exponential) = (vec![(0.5, 16)], Some(few()));
        add("c", Value::Histogram(Buckets { bounds, count: 17, sum: Some(3.5), exponential }));
        let bytes = encode(&families);
        let mut rest = bytes.as_slice();
        let mut next = || proto::MetricFamily::decode_length_delimited(&mut rest).unwrap();
        let (a, b, c) = (next(), next(), next());
        assert_eq!([&a, &b, &c].map(|family| family.name.as_str()), ["a_total", "b", "c"]);
        let label = &a.metric[0].label[0];
        assert_eq!((label.name.as_str(), label.value.as_str()), ("quantity", "rx"));
        assert_eq!(a.metric[0].counter, Some(proto::Number { value: 2.5 }));
        assert_eq!(b.metric[0].gauge, Some(proto::Number { value: 0.0 }));
        let histogram = c.metric[0].histogram.as_ref().unwrap();
        assert_eq!((histogram.sample_count, histogram.sample_sum), (17, 3.5));
        assert_eq!(histogram.bucket, [proto::Bucket { cumulative_count: 16, upper_bound: 0.5 }]);
        assert_eq!(histogram.positive_delta, [5, 2, -3]);
        assert!(rest.is_empty());
    }
}
