#!/usr/bin/env python3
"""Rates of several runs over time, beside each other: what really left, mean of the trials.

    python3 rates.py RUN...
"""

import argparse
import sys
from collections import defaultdict
from typing import Dict, List

import netfathom


def curve(run: netfathom.Run) -> Dict[float, float]:
    """Messages a second by the second at which a window begins, mean of the trials."""
    windows: Dict[float, List[float]] = defaultdict(list)
    for row in run.series():
        if row["series"] == "rate" and row["value"] is not None:
            windows[round(row["start_ns"] / 1e9, 3)].append(row["value"])
    return {start: sum(values) / len(values) for start, values in windows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", help="runs' directories, or their record.json")
    try:
        runs = [netfathom.read(path) for path in parser.parse_args().runs]
    except netfathom.NetfathomError as error:
        sys.exit(f"netfathom: {error}")
    curves = [curve(run) for run in runs]
    for run, points in zip(runs, curves):
        if not points:
            sys.exit(f"netfathom: {run.id} has no rate over time: stack and load send have one")
    width = max(len(run.id) for run in runs)
    print("second  " + "  ".join(f"{run.id:>{width}}" for run in runs))
    print("------  " + "  ".join("-" * width for _ in runs))
    for start in sorted({start for points in curves for start in points}):
        cells = (f"{points[start]:.0f}" if start in points else "-" for points in curves)
        print(f"{start:6.2f}  " + "  ".join(f"{cell:>{width}}" for cell in cells))
    print("highest " + "  ".join(f"{max(points.values()):>{width}.0f}" for points in curves))


if __name__ == "__main__":
    main()
