//! Of `netfathom ttcp sweep`.

use netfathom_model::record::{SweepPoint, SweepResult, SweepTrial};

use super::{Better, Figures, Quantity, Unit};

impl Figures for SweepResult {
    /// The rate of each point, named `BUFFER.WRITE.nagle` or `BUFFER.WRITE.nodelay`.
    fn quantities(&self) -> Vec<Quantity> {
        self.points.iter().flat_map(of_point).collect()
    }
}

fn of_point(point: &SweepPoint) -> [Quantity; 3] {
    let buffer = point.socket_buffer_bytes.map_or("auto".to_owned(), |bytes| bytes.to_string());
    let (mode, words) = if point.no_delay { ("nodelay", ", no delay") } else { ("nagle", "") };
    let named = |what: &str| format!("{buffer}.{}.{mode}.{what}", point.write_bytes);
    let who = format!("buffer {buffer}, writes of {}{words}", point.write_bytes);
    let of = |value: fn(&SweepTrial) -> Option<f64>| -> Vec<f64> {
        // The others did not come to their end.
        point.trials.iter().filter(|t| t.bytes_per_s().is_some()).filter_map(value).collect()
    };
    [
        Quantity::new(
            (named("rate"), who.clone()),
            (Unit::BytesPerSecond, Better::More),
            of(SweepTrial::bytes_per_s),
        )
        .main(true),
        Quantity::new(
            (named("retransmits"), format!("{who}: retransmitted segments")),
            (Unit::Count, Better::Less),
            of(|trial| Some(f64::from(trial.tcp?.retransmits))),
        ),
        Quantity::time(
            named("call.p99"),
            format!("{who}: a call on the socket, p99"),
            of(|trial| Some(trial.calls_took?.p99_ns as f64)),
        ),
    ]
}
