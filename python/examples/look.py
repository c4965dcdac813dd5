#!/usr/bin/env python3
"""A look at a run: what it is, how far it can be trusted, what it says.

    python3 look.py RUN [--all]
"""

import argparse
import sys

import netfathom

UNITS = {
    "ns": (1e-3, "us"),
    "per_s": (1.0, "/s"),
    "bytes_per_s": (8e-6, "Mbit/s"),
    "share": (100.0, "%"),
    "ratio": (1.0, "times"),
    "count": (1.0, ""),
}


def line(quantity: netfathom.Quantity) -> str:
    """Mean of the trials, and the lowest and highest of them."""
    factor, unit = UNITS[quantity.unit]
    mean, low, high = (factor * v for v in (quantity.mean, min(quantity.trials), max(quantity.trials)))
    spread = f"  ({low:.2f} to {high:.2f} in {len(quantity.trials)} trials)" if len(quantity.trials) > 1 else ""
    return f"{quantity.name:<32} {mean:.2f} {unit}{spread}  {quantity.title}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="a run's directory, or its record.json")
    parser.add_argument("--all", action="store_true", help="every quantity, not only the main ones")
    arguments = parser.parse_args()
    try:
        run = netfathom.read(arguments.run)
    except netfathom.NetfathomError as error:
        sys.exit(f"netfathom: {error}")
    print(f"{run.id}  {run.kind}  {run.verdict}")
    for reason in run.reasons:
        print(f"  {reason}")
    environment = run.environment
    print(f"on {environment['cpu_model']}, {environment['cpus']} processors, Linux {environment['kernel']}\n")
    for quantity in run.quantities():
        if quantity.main or arguments.all:
            print(line(quantity))


if __name__ == "__main__":
    main()
