//! Numbers in print, as both pictures have them.

/// With so many decimals, thousands parted by commas.
#[must_use]
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let whole = text.find('.').unwrap_or(text.len());
    let first = text.find(|c: char| c.is_ascii_digit()).unwrap_or(whole);
    let mut out = String::with_capacity(text.len() + 4);
    for (i, c) in text.char_indices() {
        if i > first && i < whole && (whole - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
