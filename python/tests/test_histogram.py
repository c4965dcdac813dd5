"""Histograms against what the records say of themselves."""

import math
import unittest

from fixtures import FIXTURES, records

import netfathom
from netfathom.histogram import bucket_bounds, bucket_index


class Quantiles(unittest.TestCase):
    def test_they_are_those_of_the_record(self):
        seen = 0
        for file in records():
            for times in (h["times"] for h in netfathom.read(file).record["figures"]["histograms"]):
                histogram = netfathom.Histogram.of(times)
                self.assertEqual(len(histogram), times["n"])
                shown = histogram.quantiles(0.5, 0.9, 0.99, 0.999)
                self.assertEqual(shown, [times[f"p{q}_ns"] for q in ("50", "90", "99", "999")], file.stem)
                seen += 1
        self.assertGreater(seen, 100)

    def test_merged_they_are_those_of_all_trials(self):
        run = netfathom.read(FIXTURES / "stack.json")
        tx = next(s for s in run.measurement["summaries"] if s["direction"] == "tx")["total"]
        together = run.histogram("tx")
        self.assertEqual((len(together), together.negative), (tx["n"], tx["negative"]))
        self.assertEqual(together.quantiles(0.5, 0.999), [tx["p50_ns"], tx["p999_ns"]])
        self.assertLess(len(run.histogram("tx", 0)), len(together))

    def test_an_unknown_name_is_refused_with_the_known_ones(self):
        run = netfathom.read(FIXTURES / "stack.json")
        with self.assertRaisesRegex(KeyError, "tx.socket"):
            run.histogram("elsewhere")

    def test_of_nothing_there_is_none(self):
        empty = netfathom.Histogram(5)
        self.assertIsNone(empty.quantile(0.5))
        self.assertTrue(math.isnan(empty.share_above(0)))
        with self.assertRaises(ValueError):
            netfathom.Histogram.merged([])
        with self.assertRaises(ValueError):
            empty.quantile(99)

    def test_negative_times_count_and_have_no_size(self):
        histogram = netfathom.Histogram(5, {10: 1}, negative=9)
        self.assertEqual(histogram.quantiles(0.5, 1.0), [-1, 10])
        self.assertEqual(histogram.share_above(10), 0.1)

    def test_buckets_hold_their_values(self):
        for grain in (0, 3, 5, 10):
            for value in [*range(200), 1023, 1024, 10**6, 2**62]:
                low, high = bucket_bounds(bucket_index(value, grain), grain)
                self.assertTrue(low <= value < high, (grain, value))

    def test_grains_are_merged_at_the_coarser(self):
        fine = netfathom.Histogram(5, {bucket_index(1000, 5): 2})
        coarse = netfathom.Histogram(3, {bucket_index(1000, 3): 1})
        together = netfathom.Histogram.merged([fine, coarse])
        self.assertEqual((together.grain, list(together.buckets())), (3, [(960, 1024, 3)]))


if __name__ == "__main__":
    unittest.main()
