//! Comparisons as Markdown and HTML; for a terminal they are drawn beside the other tables.

pub mod html;
pub mod markdown;
