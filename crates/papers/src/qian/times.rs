//! Table 3: total, user and system time of the tar under tcpdump.

use netfathom_model::record::{BesideTable, Claim, Comparison, Origin, Resource};
use netfathom_stats::Estimate;

use super::originals::{TCPDUMP, tar_times};
use super::ours::Ours;
use crate::beside::{own, plain, source};
use crate::claim::{above, below, ratio, written};

/// What the paper says of its heaviest load: 7.301 s of system time become 15.668.
const SYSTEM_TIMES: f64 = 2.0;
const TOTAL: f64 = 1.2;
const USER: f64 = 1.1;
const THERE: &str = "table 3, from no load to 80 Mbit/s";

/// The paper's rows, and ours at the same levels.
pub fn table(ours: Option<&Ours<'_>>) -> BesideTable {
    let theirs = |who: &str, name: &str| {
        let cells = tar_times(name).into_iter().flatten().map(|s| Some(plain(s))).collect();
        source(format!("Qian & Wang, {who}"), cells)
    };
    let here = |who: String, condition: usize| {
        let cells = ours.map_or([None; 3], |o| o.times_s(condition)).map(|s| s.map(plain));
        own(format!("here, {who}"), cells.into())
    };
    let none = [theirs("0", "intercepted")].into_iter().chain(ours.map(|_| here("no load".into(), 0)));
    let levels = TCPDUMP.levels.iter().flat_map(|level| {
        let found = ours.and_then(|o| o.beside(level.ours));
        let here = found.map(|c| here(format!("{}, with its load", level.ours), c.condition));
        [theirs(level.theirs, &format!("tcpdump {}", level.theirs))].into_iter().chain(here)
    });
    BesideTable {
        title: "Time of the tar under tcpdump (table 3)".into(),
        columns: ["total, s", "user, s", "system, s"].map(Into::into).into(),
        rows: none.chain(levels).collect(),
        note: Some(
            "Row 0 has the figures that table 1 has of the intercepted tar. Ours: means of the trials; most kernels divide user and system time by \
             who runs at each tick."
                .into(),
        ),
    }
}

pub fn claims(ours: Option<&Ours<'_>>) -> Vec<Claim> {
    let [.., heaviest] = TCPDUMP.levels else { return Vec::new() };
    let found = ours.and_then(|o| o.beside(heaviest.ours)).filter(|c| c.blocks >= 2);
    let times = |resource| found.and_then(|c| times(c, resource));
    let total = ratio(found);
    let (user, system) = (times(Resource::UserCpu), times(Resource::SystemCpu));
    let claim = |says: &str, there: &str, times, holds| Claim {
        origin: Origin::Source,
        says: says.into(),
        there: format!("{there} ({THERE})"),
        here: format!("{}: {} times as much", heaviest.ours, written(times, 3)),
        holds,
    };
    vec![
        claim(
            "the tar's system time more than doubles",
            "7.301 s become 15.668 s",
            system,
            above(system, SYSTEM_TIMES),
        ),
        claim(
            "its whole time grows by less than 20 %",
            "154.458 s become 183.464 s",
            total,
            below(total, TOTAL),
        ),
        claim("its user time grows by less than 10 %", "61.049 s become 65.750 s", user, below(user, USER)),
    ]
}

/// A resource as a multiple of what it was before.
fn times(of: &Comparison, resource: Resource) -> Option<Estimate> {
    let taken = of.taken.iter().find(|taken| taken.resource == resource && taken.before > 0.0)?;
    let part = |value: f64| value / taken.before;
    Some(Estimate {
        value: 1.0 + part(taken.difference.value),
        half_width: part(taken.difference.half_width),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_times_bear_its_conclusions_out() {
        let [before, after] = ["intercepted", "tcpdump 80Mbps"].map(|name| tar_times(name).unwrap());
        let times: Vec<f64> = before.iter().zip(after).map(|(before, after)| after / before).collect();
        assert!(times[0] < TOTAL && times[1] < USER && times[2] > SYSTEM_TIMES, "{times:?}");
    }

    #[test]
    fn the_papers_rows_stand_alone_before_there_is_a_trial() {
        let table = table(None);
        assert_eq!(table.rows.len(), 1 + TCPDUMP.levels.len());
        assert!(table.rows.iter().all(|row| !row.here && row.cells.len() == 3), "{:?}", table.rows);
        let who: Vec<&str> = table.rows.iter().map(|row| row.who.as_str()).collect();
        assert_eq!(who[..2], ["Qian & Wang, 0", "Qian & Wang, 800kbps"]);
        assert_eq!(claims(None).len(), 3);
    }
}
