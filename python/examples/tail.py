#!/usr/bin/env python3
"""The tail of a run's times: quantiles from a histogram, and the slowest sampled messages of its direction.

    python3 tail.py RUN [HISTOGRAM]
"""

import argparse
import sys

import netfathom

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
# Where each direction begins, its hooks, and what lies before each.
DIRECTIONS = {
    "tx": ("sent_ns", (("net_dev_queue_ns", "socket"), ("net_dev_start_xmit_ns", "device and queue"))),
    "rx": (
        "netif_receive_skb_ns",
        (
            ("sk_data_ready_ns", "protocol"),
            ("sched_switch_ns", "wakeup and runqueue"),
            ("sock_recv_length_ns", "read"),
            ("received_ns", "return"),
        ),
    ),
}
SHOWN = 5


def quantiles(histogram: netfathom.Histogram) -> None:
    """As many as the histogram has times for."""
    n = len(histogram)
    print(f"{n} times")
    if histogram.negative:
        print(f"{histogram.negative} of {n} times are below zero")
    for share in SHARES:
        if n * (1 - share) >= 1:
            print(f"{100 * share:>8.5g} %  {histogram.quantile(share) / 1000:.2f} us")


def slowest(run: netfathom.Run, direction: str) -> None:
    """Where the slowest sampled messages spent their time."""
    begin, hooks = DIRECTIONS[direction]
    try:
        samples = run.samples()
    except (netfathom.NoSamplesError, netfathom.MissingLibraryError) as why:
        print(f"\nno single messages: {why}")
        return
    end = hooks[-1][0]
    whole = [s for s in samples if s[begin] is not None and s[end] is not None]
    print(f"\nthe slowest of {len(whole)} sampled messages")
    for sample in sorted(whole, key=lambda s: s[begin] - s[end])[:SHOWN]:
        at, parts = sample[begin], []
        for hook, stage in hooks:
            if sample[hook] is not None:
                parts.append(f"{stage} {(sample[hook] - at) / 1000:.2f}")
                at = sample[hook]
        total = (sample[end] - sample[begin]) / 1000
        disturbed = ", disturbed" if sample.get(f"{direction}_disturbed") else ""
        where = f"trial index {sample['trial']}, message {sample['sequence']}{disturbed}"
        print(f"  {where}: {total:.2f} us {direction} ({', '.join(parts)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="a run's directory, or its record.json")
    parser.add_argument("histogram", nargs="?", default="tx", help="such as tx, rx.read or lag")
    arguments = parser.parse_args()
    try:
        run = netfathom.read(arguments.run)
        quantiles(run.histogram(arguments.histogram))
    except (netfathom.NetfathomError, KeyError) as error:
        sys.exit(f"netfathom: {error.args[0]}")
    direction = arguments.histogram.split(".")[0]
    if direction in DIRECTIONS:
        slowest(run, direction)


if __name__ == "__main__":
    main()
