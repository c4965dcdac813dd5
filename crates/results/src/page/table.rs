//! A table of any medium: figures to the right, words to the left.

use serde::Serialize;

/// Rows of a table; the record may have a million.
const MOST_ROWS: usize = 2_000;

/// Rows in the short view of a page.
const MOST_SHORT_ROWS: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    Left,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    Plain,
    Strong,
    Good,
    Warning,
    Bad,
    Faint,
}

impl Style {
    /// The name of its color in reports.
    pub(crate) fn tone(self) -> &'static str {
        match self {
            Self::Good => "valid",
            Self::Warning => "degraded",
            Self::Bad => "void",
            Self::Plain | Self::Strong | Self::Faint => "",
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// A line break makes it stand on several lines in a terminal.
    pub head: String,
    pub align: Align,
    /// What it means, where a reader can ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<&'static str>,
    /// Whether its heading may stand on several lines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wraps: bool,
    /// Columns of the longest bar in a terminal; 0 where the column has texts.
    #[serde(skip)]
    pub longest_bar: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    Text(String),
    /// A value and half its interval, which may stand below it.
    Interval {
        value: String,
        half: String,
    },
    /// A share of the longest bar, 0 to 1.
    Bar {
        bar: f64,
    },
    /// A word that is set off, and why.
    Marked {
        text: String,
        style: Style,
        why: String,
    },
}

impl Cell {
    /// The text of the cell on one line; bars have none.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) | Self::Marked { text, .. } => text.clone(),
            Self::Interval { value, half } => format!("{value} ± {half}"),
            Self::Bar { .. } => String::new(),
        }
    }
}

impl<S: AsRef<str>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self::Text(text.as_ref().to_owned())
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// One a column, or fewer with a text across the rest of the width.
    pub cells: Vec<Cell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Rows beyond the most.
    pub left_out: usize,
}

impl Table {
    /// Columns with these heads, parted by `|`: of figures, or after a `<` of words.
    pub fn of(heads: &str) -> Self {
        heads.split('|').fold(Self::default(), |table, head| match head.strip_prefix('<') {
            Some(head) => table.words([head]),
            None => table.figures([head]),
        })
    }

    pub fn figures(self, heads: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.with(heads, Align::Right)
    }

    pub fn words(self, heads: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.with(heads, Align::Left)
    }

    fn with(mut self, heads: impl IntoIterator<Item = impl AsRef<str>>, align: Align) -> Self {
        self.columns.extend(heads.into_iter().map(|head| Column {
            head: head.as_ref().to_owned(),
            align,
            about: None,
            wraps: false,
            longest_bar: 0,
        }));
        self
    }

    /// The column holds bars of at most this length in a terminal.
    pub fn bars(mut self, column: usize, longest: usize) -> Self {
        self.columns[column].longest_bar = longest;
        self
    }

    /// Headings are broken where they are wider than their figures.
    pub fn wrapped_heads(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.wraps = true);
        self
    }

    /// Says what each column means, in their order; an empty text where the heading says it.
    pub fn about(mut self, texts: &[&'static str]) -> Self {
        for (column, text) in self.columns.iter_mut().zip(texts) {
            column.about = Some(*text).filter(|text| !text.is_empty());
        }
        self
    }

    /// Adds a row with a cell for each column.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.push(cells, None, false);
    }

    /// Adds a row that is set off from the others.
    pub fn row_strong<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.push(cells, None, true);
    }

    /// Adds a row with one text across the columns after the first.
    pub fn row_across(&mut self, first: &str, text: &str) {
        self.push([first], Some(text), false);
    }

    /// Adds a row with a text in the last column, wrapped under itself.
    pub fn row_open<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>, text: &str) {
        self.push(cells, Some(text), false);
    }

    fn push<C: Into<Cell>>(
        &mut self,
        cells: impl IntoIterator<Item = C>,
        across: Option<&str>,
        strong: bool,
    ) {
        if self.rows.len() >= MOST_ROWS {
            self.left_out += 1;
            return;
        }
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(Row { cells, across: across.map(str::to_owned), strong });
    }

    /// The first rows, and the last one, which is often the sum.
    pub(super) fn short(&self) -> Self {
        let left_out = self.rows.len().saturating_sub(MOST_SHORT_ROWS);
        let is_shown = |place: usize| place + 1 < MOST_SHORT_ROWS || place + 1 == self.rows.len();
        let rows =
            self.rows.iter().enumerate().filter(|(place, _)| is_shown(*place)).map(|(_, row)| row.clone());
        Self { columns: self.columns.clone(), rows: rows.collect(), left_out: self.left_out + left_out }
    }

    /// What stands under a table that has not all of its rows.
    pub fn cut(&self) -> Option<String> {
        (self.left_out > 0)
            .then(|| format!("{} more rows were left out here; the record has them all", self.left_out))
    }
}
