"""Rows of the tables, as ``netfathom export --to csv`` has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .histogram import Histogram
from .quantities import Quantity, word
from .quantities.join import span_names
from .quantities.message import cell_name
from .quantities.stack import distribution

Record = Dict[str, Any]
Rows = List[Dict[str, Any]]

TRIALS = (
    ("measurement", str),
    ("quantity", str),
    ("title", str),
    ("unit", str),
    ("better", str),
    ("main", bool),
    ("trial", int),
    ("value", float),
)
SERIES = (
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
HISTOGRAMS = (
    ("measurement", str),
    ("histogram", str),
    ("trial_index", int),
    ("low_ns", int),
    ("high_ns", int),
    ("count", int),
)
_KINDS = {"measured": "", "control": "control.", "witness": "witness.", "alternating": "alternating."}


def trials(kind: str, quantities: List[Quantity]) -> Rows:
    """A row a quantity and trial."""
    return [
        {
            "measurement": kind,
            "quantity": q.name,
            "title": q.title,
            "unit": q.unit,
            "better": q.better,
            "main": q.main,
            "trial": trial,
            "value": value,
        }
        for q in quantities
        for trial, value in enumerate(q.trials, 1)
    ]


@dataclass(frozen=True)
class TimeSet:
    """A set of times, its name, and the index of its trial; None where all trials are in one."""

    name: str
    trial: Optional[int]
    times: Record


def time_sets(measurement: Record) -> List[TimeSet]:
    """All that hold a time, in the order of the record."""
    found = [s for s in _time_sets(measurement) if s.times["n"] > 0]
    seen: Dict[Tuple[str, Optional[int]], int] = {}
    apart = []
    for s in found:
        n = seen[s.name, s.trial] = seen.get((s.name, s.trial), 0) + 1
        apart.append(s if n == 1 else TimeSet(f"{s.name}-{n}", s.trial, s.times))
    return apart


def _time_sets(measurement: Record) -> Iterator[TimeSet]:
    kind = measurement["kind"]
    if kind == "stack":
        for trial in measurement["trials"]:
            yield from _of_stack_trial(trial)
    elif kind == "load":
        for trial in measurement["trials"]:
            yield from _of_load_trial(trial)
    elif kind == "join":
        for name, span in zip(span_names(measurement), measurement["spans"]):
            yield TimeSet(name, None, span["times"])
    elif kind == "message":
        for cell in measurement["cells"]:
            name = cell_name(measurement, cell)
            yield TimeSet(name, None, cell["times"])
            for part in ("service", "lag"):
                if cell[part]:
                    yield TimeSet(f"{name}.{part}", None, cell[part])
    elif kind == "reproduce":
        for run in measurement["runs"]:
            for s in time_sets(run["measurement"]):
                yield TimeSet(f"{word(run['name'])}.{s.name}", s.trial, s.times)


def _of_stack_trial(trial: Record) -> Iterator[TimeSet]:
    kind, index = _KINDS[trial["kind"]], trial["index"]
    for path in trial["paths"]:
        way = path["direction"]
        yield TimeSet(f"{kind}{way}", index, path["total"])
        for stage in path["stages"]:
            times = distribution(stage["times"])
            if times:
                yield TimeSet(f"{kind}{way}.{stage['stage']}", index, times)
    yield TimeSet(f"{kind}lag", index, trial["load"]["lag"])
    yield TimeSet(f"{kind}send_call", index, trial["load"]["send_call"])


def _of_load_trial(trial: Record) -> Iterator[TimeSet]:
    idle, index = trial["kind"] == "idle", trial["index"]
    if not idle:
        yield TimeSet("lag", index, trial["load"]["lag"])
        yield TimeSet("send_call", index, trial["load"]["send_call"])
        yield TimeSet("intervals", index, trial["intervals"])
        yield TimeSet("intervals.wanted", index, trial["wanted_intervals"])
    if trial["echo"]:
        prefix = "echo.idle" if idle else "echo"
        for part in ("response", "service"):
            yield TimeSet(f"{prefix}.{part}", index, trial["echo"][part])


def histograms(kind: str, measurement: Record) -> Rows:
    """A row a bucket; times below zero share a row without a lower end."""
    rows: Rows = []
    for s in time_sets(measurement):
        histogram = Histogram.of(s.times)
        buckets: List[Tuple[Optional[int], int, int]] = list(histogram.buckets())
        if histogram.negative:
            buckets.insert(0, (None, 0, histogram.negative))
        for low, high, count in buckets:
            values = (kind, s.name, s.trial, low, high, count)
            rows.append({name: value for (name, _), value in zip(HISTOGRAMS, values)})
    return rows


def series(kind: str, measurement: Record) -> Rows:
    """A row a window of time."""
    rows = []
    for name, unit, trial, points in _curves(measurement):
        for point in points:
            values = (kind, name, unit, trial, *point)
            rows.append({column: value for (column, _), value in zip(SERIES, values)})
    return rows


# Begin, end, n, value, smallest, largest.
_Point = Tuple[int, int, Optional[int], Optional[float], Optional[float], Optional[float]]
_Curve = Tuple[str, str, Optional[int], List[_Point]]


def _times(name: str, trial: Optional[int], s: Record) -> _Curve:
    points: List[_Point] = []
    for i, n in enumerate(s["n"]):
        begin = s["window_ns"] * i
        bounds = (s["sum_ns"][i] / n, float(s["min_ns"][i]), float(s["max_ns"][i])) if n else (None, None, None)
        points.append((begin, begin + s["window_ns"], n, *bounds))
    return name, "ns", trial, points


def _rate(name: str, trial: Optional[int], window_ns: int, counts: List[int]) -> _Curve:
    points: List[_Point] = [
        (window_ns * i, window_ns * (i + 1), n, n / (window_ns / 1e9) if window_ns else None, None, None)
        for i, n in enumerate(counts)
    ]
    return name, "per_s", trial, points


def _curves(measurement: Record) -> Iterator[_Curve]:
    kind = measurement["kind"]
    if kind in ("stack", "load"):
        for trial in measurement["trials"]:
            prefix = _KINDS.get(trial["kind"], "idle." if trial["kind"] == "idle" else "")
            departures = trial["load"]["series"]
            yield _rate(f"{prefix}rate", trial["index"], departures["window_ns"], departures["n"])
            yield _times(f"{prefix}lag", trial["index"], departures)
            for path in trial.get("paths", ()):
                way = f"{prefix}{path['direction']}"
                yield _times(way, trial["index"], path["series"])
                for stage in path["stages"]:
                    if "measured" in stage["times"]:
                        name = f"{way}.{stage['stage']}"
                        yield _times(name, trial["index"], stage["times"]["measured"]["series"])
    elif kind == "reverse":
        for variant in measurement["variants"]:
            yield from _of_variant(variant)
    elif kind == "join":
        for name, span in zip(span_names(measurement), measurement["spans"]):
            yield _times(name, None, span["series"])
    elif kind == "reproduce":
        for run in measurement["runs"]:
            for name, unit, trial, points in _curves(run["measurement"]):
                yield f"{word(run['name'])}.{name}", unit, trial, points
    elif kind == "transfer":
        for number, stream in enumerate(measurement["streams"], 1):
            if stream["samples"]:
                yield from _of_stream(number, stream)


def _of_variant(variant: Record) -> Iterator[_Curve]:
    prefix = word(variant["variant"].replace("_", "-"))
    for trial in variant["trials"]:
        for what, counts in (("rate", trial["outgoing"]), ("inbound", trial["inbound"])):
            yield _rate(f"{prefix}.{what}", trial["index"], trial["window_ns"], counts)
        if trial["stack"]:
            yield _times(f"{prefix}.stack", trial["index"], trial["stack"])


def _of_stream(number: int, stream: Record) -> Iterator[_Curve]:
    looks = stream["samples"]
    # The first look may be a little before the stream's own beginning was taken.
    begin_ns = min(stream["began_ns"], looks[0]["at_ns"])
    befores = [{"at_ns": begin_ns, "bytes": 0}, *looks]
    pairs = list(zip(befores, looks))

    def throughput(before: Record, look: Record) -> Optional[float]:
        ns = look["at_ns"] - before["at_ns"]
        return max(look["bytes"] - before["bytes"], 0) * 1e9 / ns if ns > 0 else None

    def curve(what: str, unit: str, values: List[Optional[float]]) -> _Curve:
        points: List[_Point] = [
            (before["at_ns"], look["at_ns"], None, value, None, None) for (before, look), value in zip(pairs, values)
        ]
        return f"stream.{number}.{what}", unit, None, points

    yield curve("throughput", "bytes_per_s", [throughput(*pair) for pair in pairs])
    yield curve("rtt", "ns", [look["rtt_us"] * 1e3 for look in looks])
    yield curve("cwnd", "segments", [float(look["cwnd"]) for look in looks])
    yield curve("queued", "bytes", [float(look["queued_bytes"]) for look in looks])
    yield curve("retransmits", "count", [float(look["retransmits"]) for look in looks])
