//! What a transfer cost the processors.

use netfathom_model::record::{TransferCost, TransferResult};

use super::Classic;

impl Classic<'_> {
    /// Of this host, where that was asked for.
    pub(super) fn cost(&self, result: &TransferResult) {
        let Some(cost) = &result.cost else { return };
        let bytes = result.served.map_or_else(|| result.bytes(), |served| served.bytes);
        self.say(line(cost, bytes));
    }
}

fn line(cost: &TransferCost, bytes: u64) -> String {
    let per_kib = |ns: u64| if bytes == 0 { 0.0 } else { ns as f64 * 1024.0 / bytes as f64 };
    let (all, process) = (cost.ns_per_kib, per_kib(cost.process_ns));
    let (Some(others_ns), Some(own_ns)) = (cost.softirq_ns, cost.own_softirq_ns) else {
        let why = cost.left_out.as_deref().unwrap_or("softirqs are left out");
        return format!("cost {all:.0} ns/KiB: this process alone; {why}");
    };
    let (others, own) = (per_kib(others_ns), per_kib(own_ns));
    // Where the parts without their own are less than the whole, these are apart.
    let own = if all > process + others + own / 2.0 {
        format!(", softirqs on top of it {own:.0}")
    } else {
        String::new()
    };
    format!(
        "cost {all:.0} ns/KiB: this process {process:.0}{own}, softirqs that others were charged with {others:.0} (whole \
         host)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(ns_per_kib: f64, softirq: Option<u64>) -> TransferCost {
        TransferCost {
            process_ns: 1400,
            softirq_ns: softirq,
            own_softirq_ns: softirq.map(|_| 200),
            ns_per_kib,
            left_out: softirq.is_none().then(|| "softirqs are left out: no".into()),
        }
    }

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let shown = |ns_per_kib, softirq| line(&cost(ns_per_kib, softirq), 2048);
        assert_eq!(
            shown(812.0, Some(224)),
            "cost 812 ns/KiB: this process 700, softirqs that others were charged with 112 (whole host)"
        );
        assert_eq!(
            shown(912.0, Some(224)),
            "cost 912 ns/KiB: this process 700, softirqs on top of it 100, softirqs that others were charged with 112 \
             (whole host)"
        );
        assert_eq!(shown(700.0, None), "cost 700 ns/KiB: this process alone; softirqs are left out: no");
    }
}
