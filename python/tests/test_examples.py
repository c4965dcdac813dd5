"""The examples, with real runs."""

import subprocess
import sys
import unittest

from fixtures import EXAMPLES, FIXTURES, exports

import netfathom


def output(script, *arguments, status=0):
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != status:
        raise AssertionError(f"{command}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout if status == 0 else ended.stderr


class Examples(unittest.TestCase):
    def test_a_look_at_a_run(self):
        run = netfathom.read(FIXTURES / "stack.json")
        text = output("look.py", FIXTURES / "stack.json")
        self.assertIn(f"{run.id}  stack  {run.verdict}", text)
        main = [q for q in run.quantities() if q.main]
        for quantity in main:
            line = next(line for line in text.splitlines() if line.startswith(f"{quantity.name} "))
            self.assertIn(f"{quantity.mean / 1000:.2f} us", line)
        self.assertNotIn("tx.p50", text)
        self.assertIn("tx.p50", output("look.py", FIXTURES / "stack.json", "--all"))
        self.assertIn("netfathom", output("look.py", FIXTURES / "nowhere.json", status=1))

    def test_rates_of_several_runs_beside_each_other(self):
        text = output("rates.py", FIXTURES / "stack.json", FIXTURES / "load.json")
        lines = text.splitlines()
        self.assertIn("stack", lines[0])
        self.assertIn("load", lines[0])
        # The profile of the fixture rises and falls.
        rates = [float(line.split()[1]) for line in lines[2:-1] if line.split()[1] != "-"]
        self.assertGreater(max(rates), 5 * rates[0])
        run = netfathom.read(FIXTURES / "stack.json")
        first = [r["value"] for r in run.series() if r["series"] == "rate" and r["start_ns"] == 0]
        self.assertAlmostEqual(rates[0], sum(first) / len(first), delta=0.5)
        self.assertIn("no rate over time", output("rates.py", FIXTURES / "cost.json", status=1))

    def test_the_tail_from_histograms(self):
        run = netfathom.read(FIXTURES / "stack.json")
        text = output("tail.py", FIXTURES / "stack.json", "tx")
        self.assertIn(f"{run.histogram('tx').quantile(0.999) / 1000:.2f} us", text)
        self.assertIn(f"{run.histogram('tx').negative} of {len(run.histogram('tx'))} times are below zero", text)
        self.assertIn("no histogram", output("tail.py", FIXTURES / "stack.json", "zz", status=1))

    def test_the_tail_from_single_messages(self):
        sampled = exports() / "sampled"
        try:
            netfathom.read(sampled).samples()
        except netfathom.MissingLibraryError as error:
            self.assertIn(str(error), output("tail.py", sampled, "tx"))
            self.skipTest(str(error))
        text = output("tail.py", sampled, "tx")
        self.assertIn("trial index 0, message 0: 0.60 us tx", text)
        self.assertIn("socket 0.50", text)
        text = output("tail.py", sampled, "rx")
        self.assertIn("message 0: 1.90 us rx (protocol 0.30, wakeup and runqueue 1.10, read 0.30, return 0.20)", text)
        self.assertNotIn("sampled messages", output("tail.py", sampled, "lag"))


if __name__ == "__main__":
    unittest.main()
