"""Where the runs stand that are read here; netfathom's own tests say so by the environment."""

import os
import unittest
from pathlib import Path

_HERE = Path(__file__).resolve().parent
FIXTURES = Path(os.environ.get("NETFATHOM_FIXTURES", "fixtures"))
EXAMPLES = Path(os.environ.get("NETFATHOM_EXAMPLES", _HERE / "../examples"))


def records():
    """All of the fixtures."""
    found = sorted(FIXTURES.glob("*.json"))
    assert len(found) >= 15, f"no fixtures in {FIXTURES}"
    return found


def exports() -> Path:
    """What ``netfathom export`` made of them."""
    directory = os.environ.get("NETFATHOM_EXPORTS")
    if directory is None:
        raise unittest.SkipTest("run by `cargo test -p netfathom-results --test export package`, which makes exports")
    return Path(directory)
