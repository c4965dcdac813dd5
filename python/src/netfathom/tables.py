"""Rows of the tables, as ``netfathom export --to csv`` has them."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

from .histogram import Histogram

Figures = Dict[str, Any]
Rows = List[Dict[str, Any]]
Columns = Tuple[Tuple[str, type], ...]

TRIALS: Columns = (
    ("measurement", str),
    ("quantity", str),
    ("title", str),
    ("unit", str),
    ("better", str),
    ("main", bool),
    ("trial", int),
    ("value", float),
)
SERIES: Columns = (
    ("measurement", str),
    ("series", str),
    ("unit", str),
    ("trial_index", int),
    ("start_ns", int),
    ("end_ns", int),
    ("n", int),
    ("value", float),
    ("min", float),
    ("max", float),
)
HISTOGRAMS: Columns = (
    ("measurement", str),
    ("histogram", str),
    ("trial_index", int),
    ("low_ns", int),
    ("high_ns", int),
    ("count", int),
)


def _rows(columns: Columns, figures: Figures, rows: Iterator[Tuple[Any, ...]]) -> Rows:
    names = [name for name, _ in columns]
    return [dict(zip(names, (figures["measurement"], *row))) for row in rows]


def trials(figures: Figures) -> Rows:
    """A row a quantity and trial."""
    rows = (
        (q["name"], q["title"], q["unit"], q["better"], q["main"], trial, value)
        for q in figures["quantities"]
        for trial, value in enumerate(q["trials"], 1)
    )
    return _rows(TRIALS, figures, rows)


def series(figures: Figures) -> Rows:
    """A row a window of time."""
    rows = (
        (s["name"], s["unit"], s["trial"], *point)
        for s in figures["series"]
        for point in s["points"]
    )
    return _rows(SERIES, figures, rows)


def histograms(figures: Figures) -> Rows:
    """A row a bucket; times below zero share a row without a lower end."""

    def buckets(times: Dict[str, Any]) -> Iterator[Tuple[Any, int, int]]:
        if times["negative"]:
            yield None, 0, times["negative"]
        yield from Histogram.of(times).buckets()

    rows = ((h["name"], h["trial"], *bucket) for h in figures["histograms"] for bucket in buckets(h["times"]))
    return _rows(HISTOGRAMS, figures, rows)
