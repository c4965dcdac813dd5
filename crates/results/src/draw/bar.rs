//! Bars of letters, in eighths of a column.

/// Eighths of a block, from none to seven.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar that is `columns` long where the share is 1. What is there at all is seen.
pub fn bar(share: f64, columns: usize) -> String {
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * columns as f64 * 8.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.0625, 4), "▎");
        assert_eq!(bar(1e-9, 4), "▏");
        assert_eq!((bar(0.0, 4), bar(f64::NAN, 4), bar(9.0, 2)), (String::new(), String::new(), "██".into()));
    }
}
