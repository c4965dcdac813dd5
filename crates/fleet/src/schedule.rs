//! Which hosts are paired when: rounds in which each host is in one pair.

use netfathom_model::random::SplitMix64;

/// A sender and a receiver, by their places.
pub type Pair = (usize, usize);

/// A tournament of `hosts`: rounds of pairs, in which every two hosts meet once (the circle method), or each has
/// `peers` others. With `both_ways` each round is followed by the same in the other direction.
pub fn rounds(
    hosts: usize,
    peers: Option<usize>,
    parallel: Option<usize>,
    both_ways: bool,
    seed: u64,
) -> Vec<Vec<Pair>> {
    let mut random = SplitMix64::new(seed);
    let mut places: Vec<usize> = (0..hosts).collect();
    random.shuffle(&mut places);
    let mut all = circle(hosts);
    // Each round of the circle gives a host one peer, so k of them are a regular graph.
    all.truncate(peers.unwrap_or(usize::MAX));
    let named =
        |round: Vec<Pair>| -> Vec<Pair> { round.iter().map(|&(a, b)| (places[a], places[b])).collect() };
    let mut rounds = Vec::new();
    for (number, round) in all.into_iter().enumerate() {
        // No host is always the sender where only one way is measured.
        let turned = |&(a, b): &Pair| if (a + b + number) % 2 == 0 { (a, b) } else { (b, a) };
        let round: Vec<Pair> = named(round).iter().map(turned).collect();
        for part in round.chunks(parallel.unwrap_or(usize::MAX).max(1)) {
            rounds.push(part.to_vec());
            if both_ways {
                rounds.push(part.iter().map(|&(a, b)| (b, a)).collect());
            }
        }
    }
    rounds
}

/// The circle method: one host stays fixed, the others rotate. With an odd number of hosts the fixed place is empty.
fn circle(hosts: usize) -> Vec<Vec<Pair>> {
    if hosts < 2 {
        return Vec::new();
    }
    let even = hosts + hosts % 2;
    let seats = even - 1;
    let round = |turn: usize| -> Vec<Pair> {
        let seat = |i: usize| (turn + i) % seats;
        let fixed = (even == hosts).then(|| (hosts - 1, seat(0)));
        let others = (1..even / 2).map(|i| (seat(i), seat(seats - i)));
        fixed.into_iter().chain(others).collect()
    };
    (0..seats).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_two_hosts_meet_once_and_no_host_is_in_two_pairs_of_a_round() {
        for hosts in 2..=33 {
            let rounds = rounds(hosts, None, None, false, 7);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let mut busy = BTreeSet::new();
                for &(a, b) in round {
                    assert!(busy.insert(a) && busy.insert(b), "{hosts}: {round:?}");
                    assert!(met.insert((a.min(b), a.max(b))), "{hosts}: {a} {b} twice");
                }
            }
            assert_eq!(met.len(), hosts * (hosts - 1) / 2);
            assert_eq!(rounds.len(), hosts - 1 + hosts % 2);
        }
        assert!(rounds(1, None, None, true, 7).is_empty());
    }

    #[test]
    fn k_peers_make_a_regular_graph() {
        let rounds = rounds(12, Some(4), None, false, 3);
        let mut degree = [0; 12];
        rounds.iter().flatten().for_each(|&(a, b)| {
            degree[a] += 1;
            degree[b] += 1;
        });
        assert_eq!(degree, [4; 12]);
    }

    #[test]
    fn both_ways_and_a_few_at_a_time() {
        let rounds = rounds(6, None, Some(2), true, 1);
        let all: BTreeSet<Pair> = rounds.iter().flatten().copied().collect();
        assert_eq!((all.len(), rounds.iter().flatten().count()), (30, 30));
        assert!(rounds.iter().all(|round| round.len() <= 2));
    }
}
