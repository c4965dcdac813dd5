"""Of ``netfathom reverse``."""

from __future__ import annotations

from typing import List, Optional

from . import Quantity, Record, of as quantity, rate, share, time, word

PHASES = ("before", "rise", "peak", "after")


def of(result: Record) -> List[Quantity]:
    """What incoming messages take from the outgoing rate, by what becomes of them."""
    return [quantity for variant in result["variants"] for quantity in _of_variant(variant)]


def _of_variant(variant: Record) -> List[Quantity]:
    name = variant["variant"].replace("_", "-")
    prefix = word(name)
    trials = variant["trials"]
    peaks = [_part(trial, "peak") for trial in trials]
    afters = (_part(trial, "after") for trial in trials)
    quantities = [
        share(
            f"{prefix}.drop",
            f"{name}: part of the outgoing rate that is taken",
            (1.0 - part for part in peaks if part is not None),
            main=True,
        ),
        quantity(
            f"{prefix}.recovery", f"{name}: outgoing rate afterwards, of that before", "ratio", "more", afters
        ),
    ]
    for phase in PHASES:
        times = [found for trial in trials for found in [_times(trial, phase)] if found]
        at, title = f"{prefix}.{phase}", f"{name}:"
        quantities += [
            rate(
                f"{at}.rate",
                f"{title} outgoing messages, {phase}",
                (t["outgoing_per_s"] for t in times),
                main=phase == "peak",
            ),
            rate(f"{at}.inbound", f"{title} incoming messages, {phase}", (t["inbound_per_s"] for t in times)),
            time(f"{at}.stack.mean", f"{title} stack time out, {phase}", (t["stack_mean_ns"] for t in times)),
            share(
                f"{at}.waited",
                f"{title} the sender waits for its processor, {phase}",
                (t["sender_waited"] for t in times),
            ),
        ]
    return quantities


def _times(trial: Record, phase: str) -> Optional[Record]:
    return next((times for times in trial["phases"] if times["phase"] == phase), None)


def _part(trial: Record, phase: str) -> Optional[float]:
    before, there = _times(trial, "before"), _times(trial, phase)
    if before is None or there is None or before["outgoing_per_s"] <= 0.0:
        return None
    return float(there["outgoing_per_s"] / before["outgoing_per_s"])
