//! Why a run could not be exported.

use std::io;

use netfathom_model::record::{Export, Measurement};
use parquet::errors::ParquetError;

use crate::store::SamplesError;

/// Why a run could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The measurement has nothing that the format could hold.
    #[error("a run of netfathom {measurement} has nothing for {wanted}: that comes from {has}")]
    Nothing { wanted: String, measurement: String, has: String },
    /// The measurement has it, but this run has none.
    #[error("this run has nothing for {wanted}: {why}")]
    Empty {
        wanted: String,
        /// Why there is none, and what to do.
        why: String,
    },
    /// `samples.parquet` cannot be read.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// Whoever was to take it refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("cannot be encoded: {0}; this is a defect of netfathom, please report it")]
    Encode(String),
}

impl ExportError {
    pub(super) fn nothing(wanted: &str, measurement: &Measurement, what: Export) -> Self {
        let measurement = measurement.command().into();
        Self::Nothing { wanted: wanted.into(), measurement, has: what.commands() }
    }
}

impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(refused) => Self::Io(*refused),
                Err(other) => Self::Encode(other.to_string()),
            },
            other => Self::Encode(other.to_string()),
        }
    }
}
