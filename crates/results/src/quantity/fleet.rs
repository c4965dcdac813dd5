//! Of `netfathom fleet`.

use netfathom_model::plan::FleetTest;
use netfathom_model::record::{FleetPair, FleetResult};
use netfathom_stats::middle_of;

use super::{Better, Figures, Quantity, Unit, word};

impl Figures for FleetResult {
    /// Of a mesh the median and the worst pair, how each host stands out, and each pair by `pair.FROM.TO`.
    fn quantities(&self) -> Vec<Quantity> {
        match self.plan.test {
            FleetTest::Load => load(self),
            FleetTest::Stack | FleetTest::Capacity => alone(self),
            _ => mesh(self),
        }
    }
}

fn mesh(result: &FleetResult) -> Vec<Quantity> {
    let test = result.plan.test;
    let (what, form) = match test {
        FleetTest::Throughput => ("throughput", (Unit::BytesPerSecond, Better::More)),
        FleetTest::Latency => ("round trip, p50", (Unit::Nanoseconds, Better::Less)),
        _ => ("share lost", (Unit::Share, Better::Less)),
    };
    let values = || result.measured().filter_map(|pair| pair.value(test));
    let worst = match form.1 {
        Better::More => values().reduce(f64::min),
        Better::Less => values().reduce(f64::max),
    };
    let mut all = vec![
        Quantity::new(("median", format!("{what}, median of the pairs")), form, middle_of(values()))
            .main(true),
        Quantity::new(("worst", format!("{what}, worst pair")), form, worst).main(true),
    ];
    if let Some(merged) = &result.merged {
        for (name, ns) in [("p99", merged.p99_ns), ("p999", merged.p999_ns)] {
            all.push(
                Quantity::time(name, format!("round trip of all pairs, {name}"), [ns as f64])
                    .main(name == "p99"),
            );
        }
    }
    for effect in &result.effects {
        let name = format!("host.{}", word(&effect.host));
        let title = format!("{}: of the median of the pairs without it", effect.host);
        all.push(Quantity::new((name, title), (Unit::Ratio, form.1), [effect.ratio]));
    }
    let of_pair = |pair: &FleetPair| {
        let name = format!("pair.{}.{}", word(&pair.from), word(&pair.to));
        Quantity::new((name, format!("{what}, {} to {}", pair.from, pair.to)), form, pair.value(test))
    };
    all.extend(result.measured().map(of_pair));
    all
}

fn load(result: &FleetResult) -> Vec<Quantity> {
    let sustained = result.steps.iter().rfind(|step| step.sustained).map(|step| step.delivered_per_s);
    let most = result.steps.iter().map(|step| step.delivered_per_s).reduce(f64::max);
    vec![
        Quantity::rate("sustained", "messages that the receiver takes without loss", sustained).main(true),
        Quantity::rate("delivered", "the most messages that it took", most).main(true),
    ]
}

fn alone(result: &FleetResult) -> Vec<Quantity> {
    let of = |figure: &netfathom_model::record::FleetFigure| {
        let better = if figure.less { Better::Less } else { Better::More };
        let name: Vec<String> = figure.name.split('.').map(word).collect();
        let title = format!("{}, median of the hosts", figure.title);
        let median = middle_of(figure.hosts.values().copied());
        let unit = figure.unit.parse().unwrap_or(Unit::Count);
        Quantity::new((name.join("."), title), (unit, better), median).main(figure.main)
    };
    result.figures.iter().map(of).collect()
}
