"""Of ``netfathom stack``."""

from __future__ import annotations

from typing import Any, List, Optional

from . import Quantity, Record, rate, time

STAGES = {
    "tx": ("socket", "qdisc", "device", "driver"),
    "rx": ("backlog", "protocol", "wakeup", "runqueue", "sockqueue", "read", "return"),
}
WAYS = {"tx": "out", "rx": "in"}


def distribution(times: Any) -> Optional[Record]:
    """The times of a stage, if it was measured."""
    return times["measured"]["distribution"] if "measured" in times else None


def of(result: Record) -> List[Quantity]:
    """Stack time of each direction, its stages, and the rate that was reached."""
    trials = [trial for trial in result["trials"] if trial["kind"] == "measured"]
    quantities = []
    for direction, stages in STAGES.items():
        paths = [path for trial in trials for path in trial["paths"] if path["direction"] == direction]
        totals = [path["total"] for path in paths if path["total"]["n"] > 0]
        for what in ("mean", "p50", "p99", "p999"):
            title = f"stack time {WAYS[direction]}, {what}"
            values = [total[f"{what}_ns"] for total in totals]
            quantities.append(time(f"{direction}.{what}", title, values, main=what in ("mean", "p99")))
        for stage in stages:
            outcomes = (distribution(s["times"]) for path in paths for s in path["stages"] if s["stage"] == stage)
            values = [times["mean_ns"] for times in outcomes if times and times["n"] > 0]
            quantities.append(time(f"{direction}.{stage}.mean", f"stage {stage}, mean", values))
    loads = [trial["load"] for trial in trials if trial["load"]["span_ns"] > 0]
    quantities.append(rate("rate", "messages accepted", (load["sent"] * 1e9 / load["span_ns"] for load in loads)))
    return quantities
