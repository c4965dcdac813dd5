"""Of ``netfathom ttcp sweep``."""

from __future__ import annotations

from typing import List, Optional

from . import Quantity, Record, of as quantity, time


def of(result: Record) -> List[Quantity]:
    """The rate of each point, named ``BUFFER.WRITE.nagle`` or ``BUFFER.WRITE.nodelay``."""
    return [quantity for point in result["points"] for quantity in _of_point(point)]


def _of_point(point: Record) -> List[Quantity]:
    asked = point["socket_buffer_bytes"]
    buffer = "auto" if asked is None else str(asked)
    mode, words = ("nodelay", ", no delay") if point["no_delay"] else ("nagle", "")
    prefix = f"{buffer}.{point['write_bytes']}.{mode}"
    who = f"buffer {buffer}, writes of {point['write_bytes']}{words}"
    # The others did not come to their end.
    whole = [trial for trial in point["trials"] if _rate(trial) is not None]
    again = (trial["tcp"]["retransmits"] for trial in whole if trial["tcp"])
    calls = (trial["calls_took"]["p99_ns"] for trial in whole if trial["calls_took"])
    return [
        quantity(f"{prefix}.rate", who, "bytes_per_s", "more", map(_rate, whole), main=True),
        quantity(f"{prefix}.retransmits", f"{who}: segments sent again", "count", "less", again),
        time(f"{prefix}.call.p99", f"{who}: a call on the socket, p99", calls),
    ]


def _rate(trial: Record) -> Optional[float]:
    ns = trial["duration_ns"] if trial["closed_ns"] is None else trial["closed_ns"]
    whole = trial["end"]["how"] in ("whole", "acknowledged")
    return trial["bytes"] / (ns / 1e9) if whole and ns > 0 else None
