"""Of ``netfathom ttcp``."""

from __future__ import annotations

from typing import List

from . import Quantity, Record, of as quantity, time


def of(result: Record) -> List[Quantity]:
    """How fast it was, and what it took. A transfer is one trial, with all of its streams."""
    streams = result["streams"]
    cost = result["cost"]
    transferred = sum(stream["bytes"] for stream in streams)
    ns = max((stream["began_ns"] + stream["duration_ns"] for stream in streams), default=0)
    own = sum(stream["user_ns"] + stream["system_ns"] for stream in streams)
    tcp = [stream["tcp"] for stream in streams if stream["tcp"]]
    udp = [stream["udp"] for stream in streams if stream["udp"]]
    calls = [stream["calls_took"]["p99_ns"] for stream in streams if stream["calls_took"]]
    kib = transferred / 1024.0

    def longest(values: List[float]) -> List[float]:
        return [max(values)] if values else []

    return [
        quantity(
            "rate",
            "bytes transferred",
            "bytes_per_s",
            "more",
            [transferred / (ns / 1e9)] if ns > 0 else [],
            main=True,
        ),
        time(
            "cpu.kib",
            "processor time of the host for 1024 bytes",
            [cost["ns_per_kib"]] if cost else [],
            main=True,
        ),
        time(
            "thread.kib",
            "processor time of the streams' threads for 1024 bytes",
            [own / kib] if kib > 0 else [],
        ),
        time("rtt", "round trip, smoothed, longest of the streams", longest([t["rtt_us"] * 1000.0 for t in tcp])),
        quantity(
            "retransmits", "segments sent again", "count", "less", [sum(t["retransmits"] for t in tcp)] if tcp else []
        ),
        quantity(
            "dropped",
            "datagrams that the socket had no room for",
            "count",
            "less",
            [sum(u["dropped"] for u in udp)] if udp else [],
        ),
        time("call.p99", "a call on the socket, p99, longest of the streams", longest(calls)),
    ]
