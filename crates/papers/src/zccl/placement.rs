//! Test 2: the ends in user space and in the kernel.

use netfathom_model::grouping::by_key;
use netfathom_model::layer::Layer;
use netfathom_model::plan::Placement;
use netfathom_model::record::{
    AbsentCell, BesideRow, BesideTable, Cell, Claim, Figure, FigureKind, FigureSeries, Holds, MessageTrial,
    Origin,
};

use super::originals::{Placed, WHO, placed, source};
use super::ours::{Ours, Value, a_message_us, per_s, rounds, sockets, zccl};
use super::plans::{ONEWAY, PINGPONG, PLACED_BYTES, sendfile};
use crate::beside::{self, bar, beside_table, named, own};
use crate::rounds::Rounds;

/// A client in the kernel changes little where the rate is significantly within this factor.
const LITTLE: f64 = 1.05;

const ONE_WAY: &str = "one way";
const PARTS: [(&str, &str); 2] = [(ONEWAY, ONE_WAY), (PINGPONG, "round trips")];

#[derive(Clone, Copy)]
struct Part<'a> {
    ours: Option<&'a Ours<'a>>,
    words: &'static str,
}

fn parts<'a>(ours: &'a [Ours<'a>]) -> [Part<'a>; 2] {
    PARTS.map(|(name, words)| Part { ours: named(ours, name), words })
}

impl<'a> Part<'a> {
    fn rounds(&self, placement: Placement, pair: usize, layer: &Layer, value: Value) -> Rounds {
        rounds(self.ours.and_then(|o| o.cell(placement, pair, PLACED_BYTES, layer)), value)
    }

    /// The rate as a multiple of that with both ends in user space.
    fn gain(&self, placement: Placement, pair: usize, layer: &Layer) -> Rounds {
        let of = |placement| self.rounds(placement, pair, layer, per_s);
        of(placement).over(&of(Placement::UU))
    }

    /// kB of 1000 bytes.
    fn kb_per_s(&self, placement: Placement, pair: usize, layer: &Layer) -> Option<Cell> {
        self.rounds(placement, pair, layer, per_s).times(PLACED_BYTES as f64 / 1e3).cell()
    }

    fn pairs(&self) -> Vec<usize> {
        self.ours.map(|o| o.pairs()).unwrap_or_default()
    }

    fn on(&self, pair: usize) -> &'static str {
        self.ours.map_or("", |o| o.on(pair))
    }

    /// Which cells there are not, why, and what is nearest; those of one reason together.
    fn absent(&self) -> String {
        let reason = |cell: &'a AbsentCell| {
            let layer = cell.layer.as_ref().map_or_else(String::new, |layer| format!(" by {layer}"));
            ((&cell.why, &cell.nearest), format!("{}{layer}", cell.placement.name()))
        };
        let reasons = by_key(self.ours.into_iter().flat_map(|ours| &ours.result.absent).map(reason));
        let reasons = reasons.into_iter().map(|((why, nearest), which)| {
            let nearest = if nearest.is_empty() { String::new() } else { format!(" (nearest: {nearest})") };
            format!(" Not there: {}, because {why}{nearest}.", which.join(", "))
        });
        reasons.collect()
    }
}

/// Both parts with the paper's columns, the nearest to a client in the kernel, and processor time.
pub fn tables(ours: &[Ours<'_>]) -> Vec<BesideTable> {
    let parts = parts(ours);
    let beside = parts.iter().map(beside);
    beside.chain([near_client(&parts[0])]).chain(parts.iter().map(processor_time)).collect()
}

fn beside(part: &Part<'_>) -> BesideTable {
    let layers = [sockets(), zccl()];
    let here = |placement: Placement, pair| {
        let kb = layers.each_ref().map(|layer| part.kb_per_s(placement, pair, layer));
        let gain = layers.each_ref().map(|layer| part.gain(placement, pair, layer).percent_cell());
        [own(format!("here, {}, {}", placement.name(), part.on(pair)), [kb, gain].concat())]
    };
    let there = |row: &Placed| source(row.placement.name(), row.cells.iter().cloned().map(Some).collect());
    let rows = placed().into_iter().flat_map(|row| {
        let theirs = (part.words == ONE_WAY).then(|| there(&row));
        theirs.into_iter().chain(measured(part, &[row.placement], here))
    });
    beside_table(
        format!("User space and kernel, {}", part.words),
        "sockets, kB/s|ZCCL; here zccl, kB/s|gain of sockets, %|gain of ZCCL, %",
        rows,
        format!(
            "{}U user space, K kernel, the client first; gain: over UU. Ours: {PLACED_BYTES} B, kB of 1000 bytes.{}",
            if part.words == ONE_WAY { "Tables 7.2 and 7.3. " } else { "The paper's test 2 is one way. " },
            part.absent()
        ),
    )
}

/// The rows of each placement and pair of processors, without those that nothing was measured for.
fn measured<const N: usize>(
    part: &Part<'_>,
    placements: &[Placement],
    rows: impl Fn(Placement, usize) -> [BesideRow; N],
) -> Vec<BesideRow> {
    let of = |&placement: &Placement| part.pairs().into_iter().map(move |pair| (placement, pair));
    let rows = placements.iter().flat_map(of).flat_map(|(placement, pair)| rows(placement, pair));
    rows.filter(|row| row.cells.iter().any(Option::is_some)).collect()
}

fn near_client(part: &Part<'_>) -> BesideTable {
    let row = |placement: Placement, pair| {
        let rate = part.rounds(placement, pair, &sendfile(), per_s);
        let of_sockets = rate.over(&part.rounds(placement, pair, &sockets(), per_s));
        let cells = vec![rate.times(PLACED_BYTES as f64 / 1e3).cell(), of_sockets.cell()];
        [own(format!("here, {}, {}", placement.name(), part.on(pair)), cells)]
    };
    beside_table(
        "The nearest to a client in the kernel, one way: sendfile",
        "sendfile, kB/s|times the sockets",
        measured(part, &Placement::ALL, row),
        "Many messages leave with one call, out of a file in memory and without a copy: the loop is in the kernel, \
         but so is the gain of a call for many. The paper's client in the kernel sent message by message.",
    )
}

fn processor_time(part: &Part<'_>) -> BesideTable {
    let client = |t: &MessageTrial| a_message_us(t, t.client.cpu_ns?);
    let server = |t: &MessageTrial| a_message_us(t, t.server.cpu_ns?);
    let workers = |t: &MessageTrial| a_message_us(t, t.kernel_workers_ns?);
    let sleeps = |t: &MessageTrial| Some(1e3 * t.client.waits? as f64 / t.messages.max(1) as f64);
    let row = |placement: Placement, pair, layer: &Layer| {
        let cells = [client as Value, server, workers, sleeps]
            .map(|value| part.rounds(placement, pair, layer, value).cell());
        own(format!("here, {}, {layer}, {}", placement.name(), part.on(pair)), cells.into())
    };
    let of_layers = |placement, pair| [sockets(), zccl()].map(|layer| row(placement, pair, &layer));
    beside_table(
        format!("CPU time, {}", part.words),
        "client, µs|server, µs|kernel's workers, µs|client's sleeps, of 1000",
        measured(part, &Placement::ALL, of_layers),
        "A message, or a round trip. An end in the kernel is in no thread's name: an echo is sent by the kernel's \
         workers, and their time is that of all they did meanwhile, and a sink runs where its packets arrive. The client sleeps \
         where it waits: of sockets one way for room (7.6.4: a sender that is too fast may have to sleep for room), otherwise for an \
         answer or another thread too.",
    )
}

/// Figure 7.2, and the same of round trips.
pub fn figures(ours: &[Ours<'_>]) -> Vec<Figure> {
    parts(ours).iter().filter_map(rates).collect()
}

fn rates(part: &Part<'_>) -> Option<Figure> {
    let there = |name: &str, column: usize| {
        let bar = |(x, row): (usize, &Placed)| {
            Some(bar(x as f64, row.cells.get(column)?.clone(), row.placement.name()))
        };
        let points = placed().iter().enumerate().filter_map(bar).collect();
        beside::theirs(format!("{WHO}, {name}"), points)
    };
    let here = |pair: usize, name: &str, layer: &Layer| {
        let bar = |(x, &placement): (usize, &Placement)| {
            Some(bar(x as f64, part.kb_per_s(placement, pair, layer)?, placement.name()))
        };
        let points = Placement::ALL.iter().enumerate().filter_map(bar).collect();
        beside::ours(format!("here, {name}, {}", part.on(pair)), points)
    };
    let pairs = part.ours.map(|o| o.extremes()).unwrap_or_default();
    let of_pair = |pair| [here(pair, "sockets", &sockets()), here(pair, "zccl", &zccl())];
    let ours: Vec<FigureSeries> =
        pairs.into_iter().flat_map(of_pair).filter(|s| !s.points.is_empty()).collect();
    let one_way = part.words == ONE_WAY;
    let theirs = if one_way { vec![there("sockets", 0), there("ZCCL", 1)] } else { Vec::new() };
    let number = if one_way { " (figure 7.2)" } else { "" };
    let title = format!("Rate by configuration, {}{number}", part.words);
    let is_here = !ours.is_empty();
    let bars = beside::bars(title, ["client and server", "kB/s"], [theirs, ours].concat());
    is_here.then_some(Figure { kind: FigureKind::LogBars, ..bars })
}

/// Decided where the ends share most, one processor: an end in the kernel runs where its packets come
/// in, on the other end's processor, so that on two the comparison would be of one with two.
pub fn claims(ours: &[Ours<'_>]) -> Vec<Claim> {
    let of_part = |part: &Part<'_>| {
        let Some(pair) = part.ours.and_then(|o| o.extremes().first().copied()) else { return Vec::new() };
        let of = |theirs: &Theirs| {
            [server_gains, client_changes_little, client_is_slower].map(|claim| claim(part, pair, theirs))
        };
        both().iter().flat_map(of).collect()
    };
    parts(ours).iter().flat_map(of_part).collect()
}

/// What the paper has of a layer.
struct Theirs {
    layer: Layer,
    name: &'static str,
    server: &'static str,
    client: &'static str,
}

fn both() -> [Theirs; 2] {
    [
        Theirs {
            layer: sockets(),
            name: "sockets",
            server: "UK 128.92 %, KK 128.97 % of UU",
            client: "KU 99.93 % of UU",
        },
        Theirs {
            layer: zccl(),
            name: "the library",
            server: "UK 223.98 %, KK 234.65 % of UU",
            client: "KU 98.73 % of UU",
        },
    ]
}

fn server_gains(part: &Part<'_>, pair: usize, theirs: &Theirs) -> Claim {
    let gain = |placement| part.gain(placement, pair, &theirs.layer).ratio();
    claim(
        part,
        pair,
        &format!("With {} a server in the kernel is faster", theirs.name),
        theirs.server,
        format!(
            "UK over UU {}, on which this is decided; KK over UU {}",
            gain(Placement::UK).percent(1),
            gain(Placement::KK).percent(1)
        ),
        gain(Placement::UK).above(1.0),
    )
}

fn client_changes_little(part: &Part<'_>, pair: usize, theirs: &Theirs) -> Claim {
    let gain = part.gain(Placement::KU, pair, &theirs.layer);
    let undecidable = undecidable(part, &gain);
    let near = part.rounds(Placement::UU, pair, &sendfile(), per_s);
    let near = near.over(&part.rounds(Placement::UU, pair, &sockets(), per_s));
    let instead = if gain.is_empty() && !near.is_empty() {
        format!(
            "; the nearest, sendfile, is {} times as fast as sockets, but with many messages a call, so it decides \
             nothing",
            near.ratio().written(1.0, 1)
        )
    } else {
        String::new()
    };
    let gain = gain.ratio();
    claim(
        part,
        pair,
        &format!("With {} a client in the kernel changes little", theirs.name),
        theirs.client,
        format!(
            "KU over UU {}; little: significantly between {:.0} and {:.0} %{undecidable}{instead}",
            gain.percent(1),
            100.0 / LITTLE,
            100.0 * LITTLE
        ),
        gain.within(1.0 / LITTLE, LITTLE),
    )
}

/// The surprise of 7.6.4.
fn client_is_slower(part: &Part<'_>, pair: usize, theirs: &Theirs) -> Claim {
    let gain = part.gain(Placement::KU, pair, &theirs.layer);
    let undecidable = undecidable(part, &gain);
    let gain = gain.ratio();
    claim(
        part,
        pair,
        &format!("With {} a client in the kernel alone is slower", theirs.name),
        theirs.client,
        format!("KU over UU {}{undecidable}", gain.percent(2)),
        gain.below(1.0),
    )
}

/// One way no run decides a claim of a client in the kernel, for there is none.
fn undecidable(part: &Part<'_>, gain: &Rounds) -> &'static str {
    if part.words == ONE_WAY && gain.is_empty() {
        "; no end in the kernel sends one way here, so this cannot be decided"
    } else {
        ""
    }
}

fn claim(part: &Part<'_>, pair: usize, says: &str, there: &str, here: String, holds: Holds) -> Claim {
    // The paper's test 2 is one way.
    let (source, there) = match part.words == ONE_WAY {
        true => (Origin::Source, format!("{there} (table 7.3 and 7.6.4)")),
        false => (Origin::Ours, format!("not in the paper; one way {there} (table 7.3)")),
    };
    Claim {
        origin: source,
        says: format!("{says} ({})", part.words),
        there,
        here: format!("{here} ({}; 95 % intervals between rounds of trials)", part.on(pair)),
        holds,
    }
}

#[cfg(test)]
mod tests;
