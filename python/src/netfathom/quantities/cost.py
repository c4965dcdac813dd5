"""Of ``netfathom cost``."""

from __future__ import annotations

import math
from typing import Dict, List, Tuple

from . import Quantity, Record, of as quantity, time, word


def of(result: Record) -> List[Quantity]:
    """What each benchmark takes in each condition, and how many times that is of what it is compared with, block by
    block."""
    effects = {comparison["effect"] for b in result["benchmarks"] for comparison in b["comparisons"]}
    headline = next((e for e in ("program", "load", "observation") if e in effects), "program")
    quantities = []
    for benchmark in result["benchmarks"]:
        asked = any(comparison["effect"] == headline for comparison in benchmark["comparisons"])
        quantities += [_slowdown(result, benchmark, c, c["effect"] == headline) for c in benchmark["comparisons"]]
        for place, condition in enumerate(result["conditions"]):
            # A program that was only looked at has nothing beside it: its time is what was measured.
            quantities += _times(benchmark, place, condition["name"], not asked)
    return quantities


def _slowdown(result: Record, benchmark: Record, comparison: Record, main: bool) -> Quantity:
    conditions = result["conditions"]
    names = [
        conditions[place]["name"] if place < len(conditions) else "unknown"
        for place in (comparison["condition"], comparison["against"])
    ]
    name = f"{word(benchmark['name'])}.{word(names[0])}.over.{word(names[1])}"
    title = f"{benchmark['name']}, slowdown: {names[0]}, over {names[1]}"
    ratios = _blocks(benchmark, comparison["condition"], comparison["against"])
    return quantity(name, title, "ratio", "less", ratios, main)


def _blocks(benchmark: Record, condition: int, against: int) -> List[float]:
    blocks: Dict[int, Tuple[List[float], List[float]]] = {}
    for trial in _counted(benchmark):
        if trial["total_ns"] > 0.0:
            block = blocks.setdefault(trial["block"], ([], []))
            if trial["condition"] == condition:
                block[0].append(math.log(trial["total_ns"]))
            elif trial["condition"] == against:
                block[1].append(math.log(trial["total_ns"]))
    # There and back; half a block has the drift of the machine in it.
    whole = max((len(of) for block in blocks.values() for of in block), default=0)
    both = [blocks[key] for key in sorted(blocks) if whole and all(len(of) == whole for of in blocks[key])]
    return [math.exp(sum(after) / len(after) - sum(before) / len(before)) for after, before in both]


def _times(benchmark: Record, place: int, condition: str, main: bool) -> List[Quantity]:
    trials = [trial for trial in _counted(benchmark) if trial["condition"] == place]
    prefix, who = f"{word(benchmark['name'])}.{word(condition)}", f"{benchmark['name']}, {condition}"
    quantities = [time(f"{prefix}.time", f"{who}: time", (t["total_ns"] for t in trials), main)]
    for number, name in enumerate(benchmark["spans"]):
        values = (t["spans_ns"][number] for t in trials if number < len(t["spans_ns"]))
        quantities.append(time(f"{prefix}.{word(name)}.span", f"{who}: {name}", values))
    return quantities


def _counted(benchmark: Record) -> List[Record]:
    return [trial for trial in benchmark["trials"] if trial["failed"] is None]
