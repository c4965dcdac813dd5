"""Of ``netfathom message``."""

from __future__ import annotations

from typing import List, Optional

from . import Quantity, Record, rate, share, time, word

SHARES = {"same": "same processor", "core": "same core", "cache": "same cache", "nothing": "apart"}
COUNTS = {"oneway": "messages", "pingpong": "round trips", "post": "replies"}
OPTIONS = {"no_delay": "nodelay", "quick_ack": "quickack"}


def layer_text(layer: Record) -> str:
    """As it is typed: ``write+nodelay``, ``two+nodelay@client``, ``adaptive``, ``zmq``."""
    if layer["kind"] == "library":
        return str(layer["strategy"])
    if layer["kind"] == "peer":
        return str(layer["name"])
    options = (
        f"+{OPTIONS.get(option, option)}" + (f"@{end}" if end else "") for option, end in layer["options"]
    )
    return str(layer["form"]) + "".join(options)


def cell_name(result: Record, cell: Record) -> str:
    """``LAYER.BYTES.PLACEMENT.PROCESSORS``"""
    words = (word(cell["placement"]), word(_shares(result, cell)))
    return f"{word(layer_text(cell['layer']))}.{cell['bytes']}.{words[0]}.{words[1]}"


def _shares(result: Record, cell: Record) -> str:
    pairs = result["pairs"]
    return SHARES[pairs[cell["pair"]]["shares"]] if cell["pair"] < len(pairs) else "processors unknown"


def of(result: Record) -> List[Quantity]:
    """What each cell reached."""
    return [quantity for cell in result["cells"] for quantity in _of_cell(result, cell)]


def _of_cell(result: Record, cell: Record) -> List[Quantity]:
    prefix, trials, test = cell_name(result, cell), cell["trials"], result["plan"]["test"]
    place, shares = cell["placement"], _shares(result, cell)
    who = f"{layer_text(cell['layer'])}, {cell['bytes']} bytes, {place}, {shares}"
    there_and_back = test == "pingpong"
    timed = [trial for trial in trials if cell["times"]["n"] > 0 and trial["messages"] > 0]
    rates = (
        t["messages"] / (t["duration_ns"] / 1e9) for t in trials if t["duration_ns"] > 0 and t["messages"] > 0
    )
    # The client worked for what was lost, too.
    client = (_per(t["client"]["cpu_ns"], t["sent"]) for t in trials)
    server = (_per(t["server"]["cpu_ns"], t["messages"]) for t in trials)
    return [
        rate(f"{prefix}.rate", f"{who}: {COUNTS[test]}", rates, main=not there_and_back),
        time(f"{prefix}.p50", f"{who}: time, p50", (t["p50_ns"] for t in timed), main=there_and_back),
        time(f"{prefix}.p99", f"{who}: time, p99", (t["p99_ns"] for t in timed), main=there_and_back),
        share(f"{prefix}.lost", f"{who}: messages that did not come", map(_lost, trials)),
        time(f"{prefix}.client.cpu", f"{who}: processor time of the client a message", client),
        time(f"{prefix}.server.cpu", f"{who}: processor time of the server a message", server),
    ]


def _lost(trial: Record) -> Optional[float]:
    return trial["lost"] / trial["sent"] if trial["sent"] else None


def _per(count: Optional[int], messages: int) -> Optional[float]:
    return count / messages if count is not None and messages > 0 else None
