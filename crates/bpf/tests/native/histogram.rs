//! The kernel programs put a value into the bucket that `netfathom_stats` has for it, and
//! square it without losing a bit.

use netfathom_bpf::stack::GRAIN;
use netfathom_stats::bucket_index;

use super::printed;

/// Around every power of two, where buckets begin and words overflow.
fn values() -> Vec<i64> {
    let around = |bit: u32| [-3i64, -1, 0, 1, 7].map(|d| (1i64 << bit).wrapping_add(d));
    let positive: Vec<i64> = (0..63).flat_map(around).collect();
    let negative: Vec<i64> = positive.iter().map(|v| v.wrapping_neg()).collect();
    [positive, negative].concat()
}

#[test]
fn the_kernels_arithmetic_is_that_of_stats() {
    let text: String = values().iter().map(|v| format!("{v}\n")).collect();
    let lines = printed("histogram", &text);
    assert_eq!(lines.len(), values().len());
    // Values beyond 2^40 ns share the last bucket there.
    let last = bucket_index((1 << 40) - 1, GRAIN);
    for (value, line) in values().into_iter().zip(lines) {
        let want = bucket_index(value.max(0) as u64, GRAIN).min(last);
        assert_eq!(line[0] as usize, want, "{value}");
        let square = u128::from(line[1]) << 64 | u128::from(line[2]);
        assert_eq!(square, u128::from(value.unsigned_abs()).pow(2), "{value}");
    }
}
