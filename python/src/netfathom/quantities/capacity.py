"""Of ``netfathom capacity``."""

from __future__ import annotations

from typing import List

from . import Quantity, Record, rate, word


def of(result: Record) -> List[Quantity]:
    """What each engine reaches with each number of workers, one value per search, and what was inferred."""
    quantities = []
    for row in result["rows"]:
        workers = "1 worker" if row["workers"] == 1 else f"{row['workers']} workers"
        prefix, who = f"{word(row['engine'])}.{row['workers']}", f"{row['engine']}, {workers}"
        found = row["searches"]
        bursts, sleeping = row["flat_out_per_s"], row["blocking"]
        quantities += [
            rate(f"{prefix}.capacity", f"{who}: in time", (s["capacity_per_s"] for s in found), main=True),
            rate(f"{prefix}.sustained", f"{who}: kept up", (s["sustained_per_s"] for s in found), main=True),
            rate(
                f"{prefix}.blocking",
                f"{who}: kept up with a receiver that sleeps",
                [sleeping["sustained_per_s"]] if sleeping else [],
            ),
            rate(f"{prefix}.flat_out", f"{who}: in bursts, mean", [bursts["mean_per_s"]] if bursts else []),
        ]
    inferred = result["inferred"]
    title = "load capability inferred from the stack time"
    return quantities + [rate("inferred", title, [inferred["theoretical_per_s"]] if inferred else [])]
