"""Of ``netfathom join``."""

from __future__ import annotations

from typing import Dict, List

from . import Quantity, Record, time


def span_names(result: Record) -> List[str]:
    """``tx``, ``rx``, ``between``; those after the first with a number."""
    seen: Dict[str, int] = {}
    names = []
    for span in result["spans"]:
        way = span["direction"] or "between"
        seen[way] = seen.get(way, 0) + 1
        names.append(way if seen[way] == 1 else f"{way}.{seen[way]}")
    return names


def of(result: Record) -> List[Quantity]:
    """The times of each way, and between captures."""
    quantities = []
    for prefix, span in zip(span_names(result), result["spans"]):
        times = span["times"]
        if times["n"] > 0:
            for what in ("mean", "p50", "p99", "p999"):
                title = f"{span['from']} to {span['to']}, {what}"
                values = [times[f"{what}_ns"]]
                quantities.append(time(f"{prefix}.{what}", title, values, main=what in ("mean", "p99")))
    return quantities
