//! What there is to say of a result, as blocks that every medium draws: a terminal, Markdown, a report.
//!
//! A story fills a page from the top; what draws it knows blocks only.

mod picture;
mod shortened;
mod steers;
mod table;

use serde::Serialize;

pub use picture::{Axis, Band, Bar, BarGroup, Bars, Chart, Color, Look, Mark, Series};
pub(crate) use shortened::shortened;
pub use steers::steers;
pub use table::{Align, Cell, Column, Row, Style, Table};

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
    /// From here on in reports alone: a terminal has no room for it.
    Bars(Bars),
    Chart(Chart),
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

    pub fn bars(&mut self, bars: Bars) {
        self.push(Block::Bars(bars));
    }

    pub fn chart(&mut self, chart: Chart) {
        self.push(Block::Chart(chart));
    }

    /// What `fill` puts on an empty page stands in details.
    pub fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        self.push(Block::Details { summary: summary.to_owned(), blocks: Self::filled(fill) });
    }

    pub fn choice(&mut self, label: &'static str, options: Vec<(String, Vec<Block>)>) {
        self.push(Block::Choice { label, options });
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
