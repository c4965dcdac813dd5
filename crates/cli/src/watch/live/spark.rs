//! Curves of characters.

const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Points as columns, the highest full: the last ones, or where they do not fit the highest of neighbors. Nothing has no
/// column.
pub fn spark(points: impl Iterator<Item = f64>, width: usize) -> String {
    let points: Vec<f64> = points.collect();
    if width == 0 || points.is_empty() {
        return String::new();
    }
    let most = points.iter().copied().fold(0.0, f64::max);
    let together = points.len().div_ceil(width);
    // From the end, so that a column keeps its points as long as they are whole.
    let columns = points.rchunks(together).map(|points| points.iter().copied().fold(0.0, f64::max));
    let column = |value: f64| match value {
        v if v <= 0.0 || most <= 0.0 => ' ',
        v => EIGHTHS[((v / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    let mut text: Vec<char> = columns.map(column).collect();
    text.reverse();
    text.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_point_is_full_and_neighbors_share_a_column() {
        assert_eq!(spark([1.0, 8.0, 0.0, 4.0].into_iter(), 10), "▁█ ▄");
        assert_eq!(spark([1.0, 8.0, 0.0, 4.0].into_iter(), 2), "█▄");
        assert_eq!(spark([0.0, 0.0].into_iter(), 2), "  ");
    }
}
