"""Of ``netfathom reproduce``."""

from __future__ import annotations

from dataclasses import replace
from typing import List

from . import Quantity, Record, quantities_of, word


def of(result: Record) -> List[Quantity]:
    """What each of its measurements says, with the measurement's name before it."""
    return [
        replace(quantity, name=f"{word(run['name'])}.{quantity.name}", title=f"{run['name']}: {quantity.title}")
        for run in result["runs"]
        for quantity in quantities_of(run["measurement"])
    ]
