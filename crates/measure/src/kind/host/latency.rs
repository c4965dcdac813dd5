//! Settings of the CPUs that decide latency. What a hypervisor decides has no row in its guests: nothing can be done there.

use std::collections::BTreeMap;

use netfathom_model::environment::Environment;
use netfathom_model::host::HostRow;
use netfathom_model::print::listed_first;

use super::{limited, works};

/// Two to isolate, and as many for everything else.
const ENOUGH_TO_ISOLATE: usize = 4;
const MOST_NAMED: usize = 3;
/// Most drivers have 1 or 2 for C1, in which a CPU only halts.
const LIGHT_US: u64 = 2;

pub(super) fn rows(environment: &Environment) -> Vec<HostRow> {
    let setting = |name: &str| environment.settings.host.get(name).map(String::as_str);
    let own = |name: &str| setting(name).filter(|_| !environment.virtualised);
    let idle = own("cpuidle.driver").zip(setting("cpuidle.exit_latency_us"));
    let rows = [
        setting("cpu.governor").map(governor),
        idle.map(|(driver, us)| idle_states(driver, us)),
        own("cpu.smt").and_then(smt),
        setting("cpu.isolated").and_then(|cpus| isolated(cpus, environment.cpus)),
        mitigations(&environment.mitigations),
    ];
    rows.into_iter().flatten().collect()
}

fn governor(name: &str) -> HostRow {
    if name == "performance" {
        return works("governor", name);
    }
    let reason = "the clock rate follows the load, so slow rates look dearer than they are";
    limited("governor", name, reason, "cpupower frequency-set --governor performance")
}

/// `us`: the exit latency of the deepest state that is enabled, with the CPUs where these differ: `2 (0), 133 (1, 2)`.
fn idle_states(driver: &str, us: &str) -> HostRow {
    const NAME: &str = "idle states";
    let detail = format!("{driver}, exit latency of the deepest enabled state (µs): {us}");
    let outside = us.split(['(', ')']).step_by(2);
    let latencies = outside.filter_map(|us| us.trim_matches([' ', ',']).parse::<u64>().ok());
    if latencies.max().is_some_and(|us| us <= LIGHT_US) {
        return works(NAME, detail);
    }
    let reason = "an idle CPU takes that long to leave its deepest state, which is in the time to receive";
    let remedy = r"keep it in the lightest state while you measure: exec 3> /dev/cpu_dma_latency && printf '\0\0\0\0' >&3";
    limited(NAME, &detail, reason, remedy)
}

fn smt(control: &str) -> Option<HostRow> {
    const NAME: &str = "SMT";
    let remedy = "leave the other CPU of each core idle (lscpu -e shows the cores), or turn SMT off: echo off > /sys/devices/system/cpu/smt/control";
    match control {
        "on" => Some(limited(NAME, "on", "two CPUs share a core: work on one slows the other", remedy)),
        "off" | "forceoff" => Some(works(NAME, control)),
        _ => None,
    }
}

fn isolated(list: &str, cpus: usize) -> Option<HostRow> {
    const NAME: &str = "isolated CPUs";
    match list {
        "" if cpus < ENOUGH_TO_ISOLATE => None,
        "" => Some(limited(
            NAME,
            "none",
            "the kernel may place other tasks on every CPU",
            "boot with isolcpus=LIST, and choose two of these with --cpu",
        )),
        _ => Some(works(NAME, format!("{list}: choose these with --cpu"))),
    }
}

fn mitigations(all: &BTreeMap<String, String>) -> Option<HostRow> {
    const NAME: &str = "mitigations";
    let active: Vec<&String> =
        all.iter().filter(|(_, state)| state.starts_with("Mitigation")).map(|(name, _)| name).collect();
    if active.is_empty() {
        return (!all.is_empty()).then(|| works(NAME, "none is active"));
    }
    Some(limited(
        NAME,
        &format!("{} active: {}", active.len(), listed_first(MOST_NAMED, &active)),
        "they add work to system calls and interrupts",
        "measure with those that production has; mitigations=off on the kernel's command line removes them, and the protection",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(virtualised: bool, settings: &[(&str, &str)]) -> Environment {
        let mut environment = Environment { virtualised, cpus: 4, ..Environment::default() };
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        environment.settings.host = settings.iter().map(owned).collect();
        environment
    }

    fn seen(environment: &Environment) -> Vec<(String, &'static str)> {
        rows(environment).iter().map(|row| (row.name.clone(), row.status.name())).collect()
    }

    const SLOW: [(&str, &str); 5] = [
        ("cpu.governor", "powersave (0, 1), performance (2)"),
        ("cpuidle.driver", "intel_idle"),
        ("cpuidle.exit_latency_us", "2 (0, 2), 133 (1, 3)"),
        ("cpu.smt", "on"),
        ("cpu.isolated", ""),
    ];

    #[test]
    fn what_adds_latency_is_limited() {
        let names = ["governor", "idle states", "SMT", "isolated CPUs"];
        let all = |status| names.map(|name| (name.to_owned(), status)).to_vec();
        assert_eq!(seen(&environment(false, &SLOW)), all("limited"));
        let fast = [
            ("cpu.governor", "performance"),
            ("cpuidle.driver", "intel_idle"),
            ("cpuidle.exit_latency_us", "0 (0, 4), 2 (1)"),
            ("cpu.smt", "off"),
            ("cpu.isolated", "2-3"),
        ];
        assert_eq!(seen(&environment(false, &fast)), all("works"));
    }

    #[test]
    fn a_guest_has_no_row_that_its_hypervisor_decides() {
        assert_eq!(seen(&environment(true, &SLOW[1..])), [("isolated CPUs".to_owned(), "limited")]);
        let nothing = [("cpu.smt", "notsupported"), ("cpu.isolated", "")];
        assert_eq!(seen(&Environment { cpus: 2, ..environment(false, &nothing) }), []);
    }

    #[test]
    fn mitigations_that_are_active_are_counted() {
        let all = |states: &[(&str, &str)]| {
            let owned = |&(name, state): &(&str, &str)| (name.to_owned(), state.to_owned());
            mitigations(&states.iter().map(owned).collect())
        };
        let row = all(&[("meltdown", "Mitigation: PTI"), ("mds", "Not affected")]).unwrap();
        assert_eq!((row.status.name(), row.detail.as_str()), ("limited", "1 active: meltdown"));
        assert_eq!(all(&[("mds", "Not affected")]).unwrap().status.name(), "works");
        assert_eq!(all(&[]), None);
    }
}
