"""What a run says, quantity by quantity, in one form for every measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import List


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
