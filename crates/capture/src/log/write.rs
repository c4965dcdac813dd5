//! Logs written: one type for both forms, so that who writes need not know which.

use std::io::{self, Write};

use super::{Columns, LogEntry, MAGIC, MESSAGES, MOST_OF_A_BLOCK, STATEMENT, VERSION};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Binary,
    Csv,
}

impl LogFormat {
    /// By the name of a file: `.csv` is CSV, all else binary.
    pub fn of_name(name: &str) -> Self {
        if name.to_ascii_lowercase().ends_with(".csv") { Self::Csv } else { Self::Binary }
    }
}

/// Writes a log. It writes each block with one call, so no buffer is needed around a file.
#[derive(Debug)]
pub struct LogWriter<W: Write> {
    out: W,
    format: LogFormat,
    columns: Columns,
    /// Kept, so that no block allocates.
    block: Vec<u8>,
}

impl<W: Write> LogWriter<W> {
    /// Begins a log of messages that have these times.
    ///
    /// # Errors
    /// If the header cannot be written, or there is no time in `columns`.
    pub fn new(mut out: W, format: LogFormat, columns: Columns) -> io::Result<Self> {
        if columns.bits() == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a log of messages without a time"));
        }
        let mut block = Vec::new();
        match format {
            LogFormat::Binary => {
                block.extend(MAGIC);
                block.extend(VERSION.to_le_bytes());
                block.extend(columns.bits().to_le_bytes());
            }
            LogFormat::Csv => block.extend(csv_header(columns).as_bytes()),
        }
        out.write_all(&block)?;
        Ok(Self { out, format, columns, block })
    }

    pub fn write_block(&mut self, flow: u32, entries: &[LogEntry]) -> io::Result<()> {
        for entries in entries.chunks(MOST_OF_A_BLOCK) {
            self.block.clear();
            match self.format {
                LogFormat::Binary => self.binary(flow, entries),
                LogFormat::Csv => self.csv(flow, entries)?,
            }
            self.out.write_all(&self.block)?;
        }
        Ok(())
    }

    /// States the clock: what CLOCK_REALTIME was ahead of the log's clock at a moment of the latter.
    /// It holds for the messages that are written after it.
    pub fn write_clock(&mut self, monotonic_ns: u64, realtime_ahead_ns: i64) -> io::Result<()> {
        self.block.clear();
        match self.format {
            LogFormat::Binary => {
                self.block.extend(STATEMENT.to_le_bytes());
                self.block.extend([0; 4]);
                self.block.extend(monotonic_ns.to_le_bytes());
                self.block.extend(realtime_ahead_ns.to_le_bytes());
            }
            LogFormat::Csv => {
                writeln!(
                    self.block,
                    "# clock=monotonic realtime_ahead_ns={realtime_ahead_ns} at_ns={monotonic_ns}"
                )?;
            }
        }
        self.out.write_all(&self.block)
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn binary(&mut self, flow: u32, entries: &[LogEntry]) {
        let columns = self.columns;
        self.block.extend(MESSAGES.to_le_bytes());
        self.block.extend(flow.to_le_bytes());
        self.block.extend((entries.len() as u32).to_le_bytes());
        self.block.extend([0; 4]);
        self.block.reserve(entries.len() * columns.stride());
        for entry in entries {
            self.block.extend(entry.sequence.to_le_bytes());
            for (there, time_ns) in times(columns, entry) {
                if there {
                    self.block.extend(time_ns.to_le_bytes());
                }
            }
        }
    }

    fn csv(&mut self, flow: u32, entries: &[LogEntry]) -> io::Result<()> {
        for entry in entries {
            write!(self.block, "{flow},{}", entry.sequence)?;
            for (there, time_ns) in times(self.columns, entry) {
                match (there, time_ns) {
                    (false, _) => {}
                    (true, 0) => self.block.push(b','),
                    (true, time_ns) => write!(self.block, ",{time_ns}")?,
                }
            }
            self.block.push(b'\n');
        }
        Ok(())
    }
}

fn times(columns: Columns, entry: &LogEntry) -> [(bool, u64); 3] {
    [
        (columns.intended, entry.intended_ns),
        (columns.sent, entry.sent_ns),
        (columns.received, entry.received_ns),
    ]
}

fn csv_header(columns: Columns) -> String {
    let named =
        [(columns.intended, ",intended_ns"), (columns.sent, ",sent_ns"), (columns.received, ",received_ns")];
    let times: String = named.iter().filter(|(there, _)| *there).map(|(_, name)| *name).collect();
    format!("flow,sequence{times}\n")
}
