//! What there is to say of a result, as blocks that every medium draws: a terminal, Markdown, a report.
//!
//! A story fills a page from the top; what draws it knows blocks only.

mod control_characters;
mod picture;
mod table;
mod truncation;
mod waterfall;

use netfathom_model::print::counted;
use serde::Serialize;

/// The narrowest page that the tables fit on, in columns of a terminal.
pub const LEAST_WIDTH: usize = 80;

/// Entries under the answer in the short view.
pub const MOST_REMARKS: usize = 3;

pub use control_characters::{printable, steers};
pub use picture::{Axis, Band, Bar, BarGroup, Bars, Chart, Color, Look, Mark, Series};
pub use table::{Align, Cell, Column, Row, Style, Table};
pub(crate) use truncation::shortened;
pub use waterfall::{Fill, Waterfall, WaterfallStep};

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
    fn short(&self) -> Self {
        match self {
            Self::Table(table) => Self::Table(table.short()),
            block => block.clone(),
        }
    }

    /// Whether it is in reports alone: a terminal and Markdown have no room for it.
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

#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    pub title: String,
    pub blocks: Vec<Block>,
    /// Blocks from its top that stand in the short view of the page too.
    #[serde(skip)]
    short: usize,
    /// What stands there for the others.
    #[serde(skip)]
    stands_for_rest: Option<String>,
    /// Whether an option asked for it: then no line of it is cut.
    #[serde(skip)]
    pub(crate) is_whole: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// What stands before the first heading.
    pub lead: Section,
    pub sections: Vec<Section>,
}

impl Default for Page {
    fn default() -> Self {
        Self { lead: Section { short: usize::MAX, ..Section::default() }, sections: Vec::new() }
    }
}

impl Page {
    /// A heading; what follows stands under it, in the whole page alone.
    pub fn heading(&mut self, title: &str) {
        self.sections.push(Section { title: title.to_owned(), ..Section::default() });
    }

    /// A heading; what follows stands in the short view too, as far as [`Self::rest`].
    pub fn main(&mut self, title: &str) {
        self.heading(title);
        self.section().short = usize::MAX;
    }

    /// An option asked for what stands under this heading: the short view has all of it.
    pub fn whole(&mut self) {
        self.section().is_whole = true;
    }

    /// A heading of the one kind or the other.
    pub fn head(&mut self, title: &str, is_main: bool) {
        if is_main { self.main(title) } else { self.heading(title) }
    }

    /// What follows under this heading stands in the whole page alone.
    pub fn rest(&mut self) {
        let section = self.section();
        section.short = section.short.min(section.blocks.len());
    }

    /// The same, with `text` in the short view in the place of what follows.
    pub fn rest_as(&mut self, text: &str) {
        self.rest();
        self.section().stands_for_rest = Some(text.to_owned());
    }

    /// The page as a reader first needs it: the answer, the first entries of the list under it, and the main tables.
    pub fn short(&self) -> Self {
        let cut = |section: &Section| Section {
            title: section.title.clone(),
            blocks: (section.blocks.iter().take(section.short))
                .map(|block| if section.is_whole { block.clone() } else { block.short() })
                .chain(section.stands_for_rest.clone().map(|text| Block::Note { text }))
                .collect(),
            is_whole: section.is_whole,
            ..Section::default()
        };
        let mut lead = cut(&self.lead);
        let mut entries = 0;
        lead.blocks.retain(|block| {
            entries += usize::from(matches!(block, Block::Item { .. }));
            !matches!(block, Block::Item { .. }) || entries <= MOST_REMARKS
        });
        if let Some(more) = entries.checked_sub(MOST_REMARKS).filter(|&more| more > 0) {
            lead.blocks.push(Block::Note { text: format!("{}: -v", counted(more, "more remark")) });
        }
        let sections = self.sections.iter().filter(|section| section.short > 0).map(cut).collect();
        Self { lead, sections }
    }

    /// Takes away the last note in a section that has a table. False if there is none.
    pub(crate) fn drop_note(&mut self) -> bool {
        let has_table = |of: &Section| of.blocks.iter().any(|block| matches!(block, Block::Table(_)));
        self.sections.iter_mut().rev().filter(|of| !of.is_whole && has_table(of)).any(|section| {
            let last = section.blocks.iter().rposition(|of| matches!(of, Block::Note { .. }));
            last.map(|place| section.blocks.remove(place)).is_some()
        })
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

    pub fn bullet(&mut self, text: &str) {
        self.push(Block::Item { text: text.to_owned(), details: Vec::new() });
    }

    /// A line under the entry of the list before it.
    pub fn detail(&mut self, text: &str) {
        match self.section().blocks.last_mut() {
            Some(Block::Item { details, .. }) => details.push(text.to_owned()),
            _ => self.bullet(text),
        }
    }

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

    pub fn bars(&mut self, bars: impl Into<Option<Bars>>) {
        let has_some = |bars: &Bars| bars.groups.iter().any(|group| !group.bars.is_empty());
        bars.into().filter(has_some).into_iter().for_each(|bars| self.push(Block::Bars(bars)));
    }

    pub fn chart(&mut self, chart: impl Into<Option<Chart>>) {
        chart.into().into_iter().for_each(|chart| self.push(Block::Chart(chart)));
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
        page.lead.blocks
    }

    fn push(&mut self, block: Block) {
        self.section().blocks.push(block);
    }

    fn section(&mut self) -> &mut Section {
        self.sections.last_mut().unwrap_or(&mut self.lead)
    }
}
