#!/usr/bin/env python3
"""The tail of a run's times: quantiles from its histograms, and the slowest of its sampled messages, if it has any.

    python3 tail.py RUN [HISTOGRAM]
"""

import argparse
import sys

import netfathom

SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
# Hooks on the way out, and what lies before each.
WAY_OUT = (("net_dev_queue_ns", "socket"), ("net_dev_start_xmit_ns", "device and queue"))
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


def slowest(run: netfathom.Run) -> None:
    """Where the slowest sampled messages spent their time on the way out."""
    try:
        samples = run.samples()
    except (netfathom.NoSamplesError, netfathom.MissingLibraryError) as why:
        print(f"\nno single messages: {why}")
        return
    end = WAY_OUT[-1][0]
    left = [s for s in samples if s[end] is not None]
    print(f"\nthe slowest of {len(left)} sampled messages")
    for sample in sorted(left, key=lambda s: s["sent_ns"] - s[end])[:SHOWN]:
        at, parts = sample["sent_ns"], []
        for hook, stage in WAY_OUT:
            if sample[hook] is not None:
                parts.append(f"{stage} {(sample[hook] - at) / 1000:.2f}")
                at = sample[hook]
        total = (sample[end] - sample["sent_ns"]) / 1000
        where = f"trial index {sample['trial']}, message {sample['sequence']}"
        print(f"  {where}: {total:.2f} us out ({', '.join(parts)})")


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
    slowest(run)


if __name__ == "__main__":
    main()
