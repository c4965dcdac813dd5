"""Tables: the same as netfathom exports, in every form."""

import csv
import importlib
import math
import unittest

from fixtures import FIXTURES, exports, records

import netfathom

TABLES = ("trials", "series", "histograms")


def text(value):
    """As CSV has it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


class SameAsExported(unittest.TestCase):
    def same(self, mine, theirs, where):
        if isinstance(mine, float):
            self.assertTrue(theirs and math.isclose(mine, float(theirs), rel_tol=1e-12), f"{where}: {mine} {theirs}")
        else:
            self.assertEqual(text(mine), theirs, where)

    def test_every_table_of_every_fixture(self):
        compared = 0
        for file in records():
            run = netfathom.read(file)
            for table in TABLES:
                rows = getattr(run, table)()
                exported = exports() / f"{file.stem}.{table}.csv"
                if not exported.exists():
                    self.assertEqual(rows, [], f"{file.stem}: netfathom has no {table}")
                    continue
                with exported.open(newline="", encoding="utf-8") as lines:
                    theirs = list(csv.DictReader(lines))
                self.assertEqual(len(rows), len(theirs), f"{file.stem}, {table}")
                for row, other in zip(rows, theirs):
                    self.assertEqual(list(row), list(other))
                    for column, value in row.items():
                        self.same(value, other[column], f"{file.stem}, {table}, {column} of {row}")
                        compared += 1
        self.assertGreater(compared, 100_000)


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


class Forms(unittest.TestCase):
    def rows(self, form, table):
        library(form)
        run = netfathom.read(FIXTURES / "stack.json")
        return getattr(run, table)(), getattr(run, table)(to=form)

    def test_pandas(self):
        for table in TABLES:
            rows, frame = self.rows("pandas", table)
            shown = frame.astype(object).where(frame.notna(), None).to_dict("records")
            self.assertEqual(shown, rows)

    def test_polars(self):
        for table in TABLES:
            rows, frame = self.rows("polars", table)
            self.assertEqual(frame.to_dicts(), rows)

    def test_pyarrow(self):
        for table in TABLES:
            rows, frame = self.rows("pyarrow", table)
            self.assertEqual(frame.to_pylist(), rows)

    def test_a_table_without_rows_has_its_columns(self):
        library("polars")
        frame = netfathom.read(FIXTURES / "cost.json").histograms(to="polars")
        self.assertEqual((frame.height, frame.columns[1]), (0, "histogram"))

    def test_another_form_is_refused(self):
        with self.assertRaisesRegex(ValueError, "one of pandas, polars, pyarrow"):
            netfathom.read(FIXTURES / "join.json").trials(to="excel")

    def test_a_library_that_is_missing_is_named(self):
        try:
            importlib.import_module("pandas")
        except ImportError:
            with self.assertRaisesRegex(netfathom.MissingLibraryError, "pip install pandas") as caught:
                netfathom.read(FIXTURES / "join.json").trials(to="pandas")
            print(caught.exception)


class Samples(unittest.TestCase):
    def test_single_messages_in_every_form(self):
        run = netfathom.read(exports() / "sampled")
        for name in ("pandas", "polars", "pyarrow"):
            library(name)
        rows = run.samples()
        self.assertEqual([row["sequence"] for row in rows], list(range(50)))
        self.assertEqual([row["sequence"] for row in rows if row["received_ns"] is None], [7])
        self.assertEqual(run.samples(to="pyarrow").to_pylist(), rows)
        self.assertEqual(run.samples(to="polars").to_dicts(), rows)
        frame = run.samples(to="pandas")
        self.assertEqual(str(frame["received_ns"].dtype), "Int64")
        self.assertEqual(int(frame["received_ns"].isna().sum()), 1)

    def test_a_run_without_them_says_how_to_get_them(self):
        with self.assertRaisesRegex(netfathom.NoSamplesError, "--samples N"):
            netfathom.read(FIXTURES / "stack.json").samples()


if __name__ == "__main__":
    unittest.main()
