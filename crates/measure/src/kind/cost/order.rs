//! The order of trials: each block has every condition twice, there and back (ABBA), so that what drifts
//! evenly within a block is the same for all of them.

use netfathom_model::random::SplitMix64;

pub fn block(conditions: &[usize], random: &mut SplitMix64) -> Vec<usize> {
    let mut there = conditions.to_vec();
    // Which one is in the middle of a block is left to chance.
    random.shuffle(&mut there);
    let back = there.iter().rev().copied().collect::<Vec<_>>();
    there.extend(back);
    there
}

/// How many runs a block has.
pub fn runs(conditions: &[usize]) -> u32 {
    2 * conditions.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_is_there_twice_around_the_same_moment() {
        let mut random = SplitMix64::new(7);
        let orders: Vec<_> = (0..20).map(|_| block(&[0, 1, 2], &mut random)).collect();
        for order in &orders {
            assert_eq!(order.len() as u32, runs(&[0, 1, 2]));
            for condition in 0..3 {
                let at: Vec<usize> = (0..6).filter(|&i| order[i] == condition).collect();
                assert!(at.len() == 2 && at[0] + at[1] == 5, "{order:?}");
            }
        }
        assert!(orders.iter().any(|order| order != &orders[0]), "always the same: {:?}", orders[0]);
    }
}
