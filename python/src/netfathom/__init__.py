"""Reads the runs of netfathom: quantities, series, histograms and single messages.

No other package is needed; tables come as lists of dicts, or with ``to=`` as those of pandas, polars or pyarrow.
"""

from .errors import (
    DamagedError,
    MissingLibraryError,
    NetfathomError,
    NewerSchemaError,
    NoSamplesError,
    NotARunError,
)
from .histogram import Histogram
from .quantity import Quantity
from .run import SCHEMA_VERSION, Broken, Run, read, runs

__all__ = [
    "SCHEMA_VERSION",
    "Broken",
    "DamagedError",
    "Histogram",
    "MissingLibraryError",
    "NetfathomError",
    "NewerSchemaError",
    "NoSamplesError",
    "NotARunError",
    "Quantity",
    "Run",
    "read",
    "runs",
]
