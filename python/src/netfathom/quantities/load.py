"""Of ``netfathom load send``."""

from __future__ import annotations

from typing import List, Optional

from . import Quantity, Record, rate, share, time


def of(result: Record) -> List[Quantity]:
    """The rate that was reached, how late messages left, how many were lost, and what answers took."""
    loaded = [trial for trial in result["trials"] if trial["kind"] == "loaded"]
    idle = [trial for trial in result["trials"] if trial["kind"] == "idle"]
    loads = [trial["load"] for trial in loaded]
    calls = [load["send_call"] for load in loads]
    lags = [load["lag"] for load in loads if load["lag"]["n"] > 0]
    missed = (load["missed_slots"] / load["sent"] for load in loads if load["sent"] > 0)
    quantities = [
        rate("rate", "messages that left", (trial["reached_per_s"] for trial in loaded), main=True),
        share("lost", "messages that did not arrive", map(_lost, loaded), main=True),
        share("missed", "messages that left after the next one was due", missed),
        time("send_call.mean", "a send call, mean", (call["mean_ns"] for call in calls if call["n"] > 0)),
    ]
    for what in ("mean", "p50", "p99", "p999"):
        values = (lag[f"{what}_ns"] for lag in lags)
        quantities.append(time(f"lag.{what}", f"lag behind the plan, {what}", values, main=what == "p99"))
    return quantities + _echoes("echo", "under load", loaded) + _echoes("echo.idle", "at rest", idle)


def _echoes(prefix: str, when: str, trials: List[Record]) -> List[Quantity]:
    quantities = []
    for kind in ("response", "service"):
        times = [trial["echo"][kind] for trial in trials if trial["echo"]]
        for what in ("p50", "p99", "p999"):
            values = (t[f"{what}_ns"] for t in times if t["n"] > 0)
            main = (prefix, kind, what) == ("echo", "response", "p99")
            quantities.append(time(f"{prefix}.{kind}.{what}", f"{kind} time {when}, {what}", values, main))
    return quantities


def _lost(trial: Record) -> Optional[float]:
    accounting = trial["accounting"]

    def ended(fate: str) -> int:
        return sum(f["count"] for f in accounting["fates"] if f["fate"] == fate)

    known = accounting["sent"] > 0 and ended("untold") == 0
    return 1.0 - ended("delivered") / accounting["sent"] if known else None
