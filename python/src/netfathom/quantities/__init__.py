"""What a run says, quantity by quantity, in one form for every measurement.

The same names and values as netfathom's own; a test of netfathom holds the two against each other.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, Optional, Set

Record = Dict[str, Any]


@dataclass(frozen=True)
class Quantity:
    """One thing that a run says about what was measured."""

    name: str
    """The same in every run of its kind, such as ``tx.mean``."""
    title: str
    """What it is, in words."""
    unit: str
    """``ns``, ``per_s``, ``bytes_per_s``, ``share``, ``ratio`` or ``count``."""
    better: str
    """``less`` or ``more``."""
    main: bool = False
    """Whether it is one of the few that the measurement is made for."""
    trials: List[float] = field(default_factory=list)
    """A value a trial, in the order in which they were made."""

    @property
    def mean(self) -> float:
        """Mean of the trials."""
        return math.fsum(self.trials) / len(self.trials)


def time(name: str, title: str, trials: Iterable[Optional[float]], main: bool = False) -> Quantity:
    """Nanoseconds that something takes; trials that do not know are left out."""
    return of(name, title, "ns", "less", trials, main)


def rate(name: str, title: str, trials: Iterable[Optional[float]], main: bool = False) -> Quantity:
    """A rate per second."""
    return of(name, title, "per_s", "more", trials, main)


def share(name: str, title: str, trials: Iterable[Optional[float]], main: bool = False) -> Quantity:
    """A part of a whole that is lost or wasted."""
    return of(name, title, "share", "less", trials, main)


def of(
    name: str, title: str, unit: str, better: str, trials: Iterable[Optional[float]], main: bool = False
) -> Quantity:
    """Any quantity."""
    return Quantity(name, title, unit, better, main, [float(value) for value in trials if value is not None])


def word(text: str) -> str:
    """A part of a name: lower-case letters, digits, ``_`` and ``-``."""
    return re.sub(r"[^a-z0-9_]+", "-", re.sub(r"[A-Z]", lambda m: m[0].lower(), text)).strip("-") or "unnamed"


def quantities_of(measurement: Record) -> List[Quantity]:
    """All that a measurement says, the main quantities first, no name twice."""
    from . import capacity, cost, join, load, message, reproduce, reverse, stack, sweep, transfer

    kinds = {
        "stack": stack.of,
        "load": load.of,
        "capacity": capacity.of,
        "reverse": reverse.of,
        "join": join.of,
        "reproduce": reproduce.of,
        "transfer": transfer.of,
        "sweep": sweep.of,
        "message": message.of,
        "cost": cost.of,
    }
    made = kinds.get(measurement["kind"])
    known = made(measurement) if made else []
    known = [q for q in known if q.trials and all(math.isfinite(value) for value in q.trials)]
    return sorted(_told_apart(known), key=lambda q: not q.main)


def _told_apart(quantities: List[Quantity]) -> List[Quantity]:
    seen: Set[str] = set()
    apart = []
    for quantity in quantities:
        name, number = quantity.name, 1
        while name in seen:
            number += 1
            name = f"{quantity.name}-{number}"
        seen.add(name)
        apart.append(replace(quantity, name=name))
    return apart
