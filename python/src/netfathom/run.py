"""Runs on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union

from . import frames, tables
from .errors import DamagedError, NetfathomError, NewerSchemaError, NotARunError
from .histogram import Histogram
from .quantity import Quantity

SCHEMA_VERSION = 1
"""The newest schema of a record that this package reads."""

RECORD_FILE = "record.json"
SAMPLES_FILE = "samples.parquet"

PathLike = Union[str, "os.PathLike[str]"]


class Run:
    """One run: what was measured, where, and how far it can be trusted."""

    def __init__(self, record: Dict[str, Any], directory: Optional[Path] = None) -> None:
        """Of a record that was read already; :func:`read` reads one. ``directory`` is where its samples stand."""
        self.record = record
        """The whole record, as its JSON has it (``netfathom`` writes a schema beside its source)."""
        self.directory = directory

    @property
    def id(self) -> str:
        """The name of its directory."""
        return str(self.record["id"])

    @property
    def kind(self) -> str:
        """What was measured, such as ``stack`` or ``ttcp``."""
        return str(self._figures["measurement"])

    @property
    def _figures(self) -> Dict[str, Any]:
        return dict(self.record["figures"])

    @property
    def state(self) -> str:
        """``complete``, ``interrupted`` by its user, or ``partial``: what a killed run leaves."""
        return str(self.record["state"])

    @property
    def verdict(self) -> str:
        """How far it can be trusted: ``VALID``, ``DEGRADED`` or ``VOID``."""
        return str(self.record["verdict"]["level"])

    @property
    def reasons(self) -> List[str]:
        """Why it is not VALID."""
        return [str(reason["text"]) for reason in self.record["verdict"]["reasons"]]

    @property
    def environment(self) -> Dict[str, Any]:
        """The machine: kernel, processor, settings."""
        return dict(self.record["environment"])

    @property
    def measurement(self) -> Dict[str, Any]:
        """The plan and its result, as the record has it."""
        return dict(self.record["measurement"])

    def quantities(self) -> List[Quantity]:
        """What the run says, the main quantities first. The same as ``netfathom export --to csv`` tells."""
        return [Quantity(**quantity) for quantity in self._figures["quantities"]]

    def trials(self, to: Optional[str] = None) -> Any:
        """A row a quantity and trial: measurement, quantity, title, unit, better, main, trial (from 1), value.

        :param to: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; without it a list of dicts
        """
        return frames.table(tables.trials(self._figures), tables.TRIALS, to)

    def series(self, to: Optional[str] = None) -> Any:
        """A row a window of time: measurement, series, unit, trial_index, start_ns, end_ns, n, value, min, max.

        Empty of measurements that keep nothing over time.
        """
        return frames.table(tables.series(self._figures), tables.SERIES, to)

    def histograms(self, to: Optional[str] = None) -> Any:
        """A row a bucket: measurement, histogram, trial_index, low_ns, high_ns (exclusive), count.

        Times below zero share a row with ``low_ns`` None. Empty for measurements without histograms.
        """
        return frames.table(tables.histograms(self._figures), tables.HISTOGRAMS, to)

    def histogram(self, name: str, trial_index: Optional[int] = None) -> Histogram:
        """The histogram of that name, such as ``tx``; of one trial, or of all of them together.

        :raises KeyError: if there is none; the message names those there are
        """
        sets = self._figures["histograms"]
        wanted = [s for s in sets if s["name"] == name and trial_index in (None, s["trial"])]
        if not wanted:
            there = ", ".join(sorted({s["name"] for s in sets})) or "none"
            raise KeyError(f"{self.id} has no histogram {name!r} of that trial; there are: {there}")
        return Histogram.merged(Histogram.of(s["times"]) for s in wanted)

    def samples(self, to: Optional[str] = None) -> Any:
        """A row a sampled message: trial (its index), sequence, and CLOCK_MONOTONIC ns at each hook, None where it
        was not seen there. Needs pyarrow or polars.

        :raises NoSamplesError: if none were kept (``netfathom stack --samples N`` keeps them)
        """
        return frames.samples(None if self.directory is None else self.directory / SAMPLES_FILE, to)

    def __repr__(self) -> str:
        return f"<netfathom.Run {self.id} {self.state} {self.verdict}>"


class Broken(NamedTuple):
    """A directory that should be a run, and cannot be read."""

    path: Path
    error: NetfathomError


def read(path: PathLike) -> Run:
    """Reads a run by its directory or its ``record.json``.

    :raises NotARunError: if there is none
    :raises DamagedError: if it is no whole record
    :raises NewerSchemaError: if a newer netfathom wrote it
    """
    path = Path(path)
    try:
        file = path / RECORD_FILE if path.is_dir() else path
        if file.exists() and not file.is_file():
            # A pipe would be waited for, and a device has no end.
            raise DamagedError(f"{file} is no plain file")
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotARunError(f"{path}: there is no {RECORD_FILE}; name a run's directory or its record") from None
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path} cannot be read: {error}") from error
    return Run(_parsed(file, text), file.parent)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _parsed(file: Path, text: str) -> Dict[str, Any]:
    try:
        record = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{file} is damaged: {error}; look for a copy from before it was changed") from error
    version = record.get("schema_version") if isinstance(record, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise NotARunError(f"{file} has no schema_version, which every record has: it is none of netfathom")
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(
            f"{file} was written by a newer netfathom, schema {version}; this package reads up to "
            f"{SCHEMA_VERSION}: upgrade it to read this run"
        )
    known: Dict[str, Any] = record
    missing = [key for key in ("id", "state") if key not in known]
    parts = ("verdict", "environment", "measurement", "figures")
    missing += [key for key in parts if not isinstance(known.get(key), dict)]
    if missing:
        raise DamagedError(f"{file} is damaged: it lacks {', '.join(missing)}")
    return known


def runs(directory: PathLike) -> Iterator[Union[Run, Broken]]:
    """The runs of a directory, oldest first by name. One that cannot be read comes as :class:`Broken`, not silently
    left out; what holds no record is no run.

    :raises NotARunError: if there is no such directory
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise NotARunError(f"{directory} is no directory of runs")
    for path in sorted(directory.iterdir()):
        # Links may lead anywhere; a run is a directory.
        if path.is_symlink() or not (path / RECORD_FILE).exists():
            continue
        if (path / RECORD_FILE).is_symlink():
            yield Broken(path, DamagedError(f"{path / RECORD_FILE} is a symbolic link, which is not followed"))
            continue
        try:
            yield read(path)
        except NetfathomError as error:
            yield Broken(path, error)
