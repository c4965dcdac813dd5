//! The performance cost of Qian & Wang 2006.

/// PCost of one benchmark: the sum over its spans of `(d' - d) / (d' + d)`, with `d` the span without
/// the program and `d'` with it. 1 is 100 %. The paper prints times of marks in the denominator; the results it
/// prints come out with spans only. A span that takes no time in either adds nothing. It saturates: a
/// benchmark of one span that takes twice as long has 1/3. `None` if the two have different numbers of spans, or none.
pub fn pcost(baseline: &[f64], loaded: &[f64]) -> Option<f64> {
    if baseline.len() != loaded.len() || baseline.is_empty() {
        return None;
    }
    let of_span = |(&d, &with): (&f64, &f64)| if d + with > 0.0 { (with - d) / (with + d) } else { 0.0 };
    Some(baseline.iter().zip(loaded).map(of_span).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_long_is_a_third_a_span() {
        assert!((pcost(&[1.0], &[2.0]).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert!((pcost(&[1.0, 5.0], &[2.0, 10.0]).unwrap() - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn it_only_changes_its_sign_if_the_two_are_exchanged() {
        let (a, b) = ([3.0, 13.0, 40.0], [4.0, 16.0, 47.0]);
        assert!((pcost(&a, &b).unwrap() + pcost(&b, &a).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn what_takes_no_time_adds_nothing() {
        assert_eq!(pcost(&[0.0, 1.0], &[0.0, 1.0]), Some(0.0));
        assert_eq!((pcost(&[], &[]), pcost(&[1.0], &[1.0, 2.0])), (None, None));
    }
}
