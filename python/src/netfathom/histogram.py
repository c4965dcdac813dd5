"""Histograms as records keep them: log-linear buckets, negative times counted apart."""

from __future__ import annotations

import math
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple


def bucket_bounds(index: int, grain: int) -> Tuple[int, int]:
    """Lower bound and upper bound (exclusive) of a bucket, with ``2**grain`` buckets an octave."""
    per_octave = 1 << grain
    if index < per_octave:
        return index, index + 1
    octave = (index >> grain) - 1
    mantissa = index - (octave << grain)
    return mantissa << octave, (mantissa + 1) << octave


def bucket_index(value: int, grain: int) -> int:
    """The bucket of a value that is not negative."""
    if value < 1 << grain:
        return value
    octave = value.bit_length() - 1 - grain
    return (octave << grain) + (value >> octave)


class Histogram:
    """Counts a bucket. Merging is addition; a quantile is the middle of its bucket, at most half a bucket off."""

    def __init__(
        self,
        grain: int,
        counts: Optional[Dict[int, int]] = None,
        negative: int = 0,
        extremes: Optional[Tuple[int, int]] = None,
    ) -> None:
        """Counts by the index of the bucket; ``extremes`` are the smallest and the largest time, where known."""
        self.grain = grain
        self.counts: Dict[int, int] = dict(counts or {})
        self.negative = negative
        self.extremes = extremes

    @classmethod
    def of(cls, times: Dict[str, Any]) -> "Histogram":
        """Of a set of times, as a record has it."""
        extremes = (times["min_ns"], times["max_ns"]) if times["n"] else None
        return cls(times["grain"], {index: count for index, count in times["buckets"]}, times["negative"], extremes)

    @classmethod
    def merged(cls, histograms: Iterable["Histogram"]) -> "Histogram":
        """All of them together, as fine as the coarsest.

        :raises ValueError: if there is none
        """
        parts = list(histograms)
        if not parts:
            raise ValueError("nothing to merge: give at least one histogram")
        together = cls(min(part.grain for part in parts))
        for part in parts:
            together._count(part)
        filled = [part for part in parts if len(part)]
        if filled and all(part.extremes for part in filled):
            known = [part.extremes for part in filled if part.extremes]
            together.extremes = (min(low for low, _ in known), max(high for _, high in known))
        return together

    def _count(self, other: "Histogram") -> None:
        # Those of another grain at the middle of their buckets.
        self.negative += other.negative
        for index, count in other.counts.items():
            if other.grain != self.grain:
                low, high = bucket_bounds(index, other.grain)
                index = bucket_index(low + (high - low - 1) // 2, self.grain)
            self.counts[index] = self.counts.get(index, 0) + count

    def __len__(self) -> int:
        """How many times, negative ones included."""
        return self.negative + sum(self.counts.values())

    def buckets(self) -> Iterator[Tuple[int, int, int]]:
        """Lower bound, upper bound (exclusive) and count of each bucket that holds anything, in rising order."""
        for index in sorted(self.counts):
            if self.counts[index]:
                low, high = bucket_bounds(index, self.grain)
                yield low, high, self.counts[index]

    def quantile(self, q: float) -> Optional[int]:
        """The time below which a share ``q`` (0 to 1) lies, in nanoseconds, never beyond the extremes; None of an
        empty histogram, -1 among the negative times: their size is not kept.

        :raises ValueError: if ``q`` is not from 0 to 1
        """
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"{q} is no share: write 0 to 1, such as 0.99")
        value = self._middle(q)
        if value is None or self.extremes is None:
            return value
        return min(max(value, self.extremes[0]), self.extremes[1])

    def _middle(self, q: float) -> Optional[int]:
        n = len(self)
        if n == 0:
            return None
        rank = max(math.ceil(q * n), 1)
        seen = self.negative
        if rank <= seen:
            return -1
        for low, high, count in self.buckets():
            seen += count
            if rank <= seen:
                return low + (high - low - 1) // 2
        return None

    def quantiles(self, *shares: float) -> List[Optional[int]]:
        """Several of them."""
        return [self.quantile(q) for q in shares]

    def share_above(self, ns: int) -> float:
        """The share of times in buckets that begin at ``ns`` or later; NaN of an empty histogram."""
        n = len(self)
        above = sum(count for low, _, count in self.buckets() if low >= ns)
        return above / n if n else math.nan
