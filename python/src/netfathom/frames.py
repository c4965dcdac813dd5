"""Tables in the form that was asked for."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Optional

from .errors import MissingLibraryError, NoSamplesError
from .tables import Columns, Rows

_LIBRARIES = ("pandas", "polars", "pyarrow")


def _library(name: str, why: str = "") -> Any:
    if name not in _LIBRARIES:
        raise ValueError(f"to={name!r} is no form of a table: write one of {', '.join(_LIBRARIES)}, or leave it out")
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingLibraryError(f"{name} is not installed{why}: pip install {name}") from None


def table(rows: Rows, columns: Columns, to: Optional[str]) -> Any:
    """Rows as they are, or as a table of a library; columns keep their types where there are no rows."""
    if to is None:
        return rows
    library = _library(to)
    values = {name: [row[name] for row in rows] for name, _ in columns}
    if to == "pandas":
        # Nullable types: a missing whole number stays whole.
        kinds = {str: "string", int: "Int64", float: "Float64", bool: "boolean"}
        return library.DataFrame({name: library.array(values[name], dtype=kinds[kind]) for name, kind in columns})
    if to == "polars":
        kinds = {str: library.Utf8, int: library.Int64, float: library.Float64, bool: library.Boolean}
        return library.DataFrame(values, schema={name: kinds[kind] for name, kind in columns})
    kinds = {str: library.string(), int: library.int64(), float: library.float64(), bool: library.bool_()}
    return library.table(values, schema=library.schema([(name, kinds[kind]) for name, kind in columns]))


def samples(file: Optional[Path], to: Optional[str]) -> Any:
    """The single messages of a file."""
    if file is None or not file.exists():
        raise NoSamplesError("the run has no single messages: --samples N keeps them")
    if to == "polars":
        return _library("polars").read_parquet(file)
    if to == "pandas":
        return _library("pandas").DataFrame(_arrow(file).to_pandas(types_mapper=_nullable()))
    if to == "pyarrow":
        return _arrow(file)
    if to is not None:
        _library(to)
    try:
        return _arrow(file).to_pylist()
    except MissingLibraryError:
        return _library("polars", ", nor is pyarrow, and one of them reads Parquet").read_parquet(file).to_dicts()


def _arrow(file: Path) -> Any:
    _library("pyarrow", ", which reads Parquet")
    return importlib.import_module("pyarrow.parquet").read_table(file)


def _nullable() -> Any:
    # CLOCK_MONOTONIC ns do not fit a float's 53 bits for ever.
    pandas, pyarrow = _library("pandas"), _library("pyarrow")
    return {pyarrow.int64(): pandas.Int64Dtype()}.get
