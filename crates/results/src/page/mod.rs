//! What there is to say of a result, as blocks that every medium draws: a terminal, Markdown, a report.
//!
//! A story fills a page from the top; what draws it knows blocks only.

mod picture;
mod shortened;
mod steers;
mod table;
mod waterfall;

use serde::Serialize;

/// The narrowest page that the tables fit on, in columns of a terminal.
pub const LEAST_WIDTH: usize = 80;

pub use picture::{Axis, Band, Bar, BarGroup, Bars, Chart, Color, Look, Mark, Series};
pub(crate) use shortened::shortened;
pub use steers::{printable, steers};
pub use table::{Align, Cell, Column, Row, Style, Table};
pub use waterfall::{Fill, Step, Waterfall};

/// One thing under another.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// An empty line where a terminal has one.
    Gap,
    Text {
        text: String,
    },
    /// Explains what stands above it.
    Note {
        text: String,
    },
    /// An entry of a list, with lines under it.
    Item {
        text: String,
        details: Vec<String>,
    },
    /// A text behind a label that stands out.
    Labelled {
        style: Style,
        label: String,
        text: String,
    },
    /// A named text under a label.
    Aside {
        name: &'static str,
        text: String,
    },
    Table(Table),
    Bars(Bars),
    Chart(Chart),
    Waterfall(Waterfall),
    /// The single messages that lie beside the record, if any were kept: this value of each.
    Samples {
        value: &'static str,
    },
    /// What is opened by whoever wants it.
    Details {
        summary: String,
        blocks: Vec<Block>,
    },
    /// One of several at a time.
    Choice {
        label: &'static str,
        options: Vec<(String, Vec<Block>)>,
    },
    /// A page of its own, which is opened by whoever wants it. Charts within it may have the names of others outside.
    Nested {
        id: String,
        summary: String,
        page: Page,
    },
}

impl Block {
    /// Whether it is in reports alone: a terminal and Markdown have no room for it.
    #[must_use]
    pub fn is_picture(&self) -> bool {
        matches!(
            self,
            Self::Bars(_)
                | Self::Chart(_)
                | Self::Waterfall(_)
                | Self::Samples { .. }
                | Self::Details { .. }
                | Self::Choice { .. }
                | Self::Nested { .. }
        )
    }
}

/// A heading and what stands under it.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    pub title: String,
    pub blocks: Vec<Block>,
}

/// A page that fills from the top.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What stands before the first heading.
    pub lead: Vec<Block>,
    pub sections: Vec<Section>,
}

impl Page {
    /// A heading; what follows stands under it.
    pub fn heading(&mut self, title: &str) {
        self.sections.push(Section { title: title.to_owned(), blocks: Vec::new() });
    }

    pub fn gap(&mut self) {
        self.push(Block::Gap);
    }

    pub fn text(&mut self, text: &str) {
        self.push(Block::Text { text: text.to_owned() });
    }

    /// A text that explains the table above it.
    pub fn note(&mut self, text: &str) {
        self.push(Block::Note { text: text.to_owned() });
    }

    /// One entry of a list.
    pub fn bullet(&mut self, text: &str) {
        self.push(Block::Item { text: text.to_owned(), details: Vec::new() });
    }

    /// A line under the entry of the list before it.
    pub fn detail(&mut self, text: &str) {
        match self.blocks().last_mut() {
            Some(Block::Item { details, .. }) => details.push(text.to_owned()),
            _ => self.bullet(text),
        }
    }

    /// A named text under a label.
    pub fn aside(&mut self, name: &'static str, text: &str) {
        self.push(Block::Aside { name, text: text.to_owned() });
    }

    /// A text behind a label that stands out.
    pub fn labelled(&mut self, style: Style, label: &str, text: &str) {
        self.push(Block::Labelled { style, label: label.to_owned(), text: text.to_owned() });
    }

    pub fn table(&mut self, table: Table) {
        self.push(Block::Table(table));
    }

    /// Bars, if there are any.
    pub fn bars(&mut self, bars: Bars) {
        if bars.groups.iter().any(|group| !group.bars.is_empty()) {
            self.push(Block::Bars(bars));
        }
    }

    pub fn chart(&mut self, chart: Chart) {
        self.push(Block::Chart(chart));
    }

    pub fn waterfall(&mut self, waterfall: Waterfall) {
        self.push(Block::Waterfall(waterfall));
    }

    /// A place for the single messages that lie beside the record, with this value of each.
    pub fn samples(&mut self, value: &'static str) {
        self.push(Block::Samples { value });
    }

    /// What `fill` puts on an empty page stands in details.
    pub fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        self.push(Block::Details { summary: summary.to_owned(), blocks: Self::filled(fill) });
    }

    /// A page within this one, in details.
    pub fn nested(&mut self, id: String, summary: String, page: Self) {
        self.push(Block::Nested { id, summary, page });
    }

    /// One of several at a time; nothing of none.
    pub fn choice(&mut self, label: &'static str, options: Vec<(String, Vec<Block>)>) {
        if !options.is_empty() {
            self.push(Block::Choice { label, options });
        }
    }

    /// The blocks that `fill` puts on an empty page.
    pub fn filled(fill: impl FnOnce(&mut Self)) -> Vec<Block> {
        let mut page = Self::default();
        fill(&mut page);
        page.lead
    }

    fn push(&mut self, block: Block) {
        self.blocks().push(block);
    }

    fn blocks(&mut self) -> &mut Vec<Block> {
        match self.sections.last_mut() {
            Some(section) => &mut section.blocks,
            None => &mut self.lead,
        }
    }
}
