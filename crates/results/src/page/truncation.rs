//! Texts that must fit.

/// The text, cut where it is longer than that many letters; one that is cut is seen to be.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_fits_and_is_seen_to_be() {
        assert_eq!(shortened(" as it is ", 8), "as it is");
        assert_eq!(shortened("as it is", 7), "as it…");
        assert_eq!(shortened("as it is", 5), "as i…");
        assert_eq!(shortened("µµµ", 2), "µ…");
        assert_eq!(shortened("abc", 0), "…");
    }
}
