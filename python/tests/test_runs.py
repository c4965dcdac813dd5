"""Reading runs, whole ones and others."""

import json
import tempfile
import unittest
from pathlib import Path

from fixtures import FIXTURES, records

import netfathom


class Reading(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_of(self, name, text):
        run = self.directory / name
        run.mkdir()
        (run / "record.json").write_text(text)
        return run

    def test_every_fixture_is_a_run(self):
        kinds = {netfathom.read(file).kind for file in records()}
        expected = "stack load capacity reverse join reproduce ttcp sweep message cost fleet watch"
        self.assertEqual(kinds, set(expected.split()))

    def test_a_run_says_what_it_is(self):
        text = (FIXTURES / "stack.json").read_text()
        run = netfathom.read(self.run_of("a", text))
        record = json.loads(text)
        self.assertEqual(run.id, record["id"])
        self.assertEqual((run.state, run.verdict), (record["state"], record["verdict"]["level"]))
        self.assertEqual(len(run.reasons), len(record["verdict"]["reasons"]))
        self.assertEqual(run.environment, record["environment"])
        self.assertEqual(run.measurement["plan"], record["measurement"]["plan"])

    def test_another_schema_is_refused_by_name(self):
        text = (FIXTURES / "join.json").read_text().replace('"schema_version":1', '"schema_version":2', 1)
        with self.assertRaisesRegex(netfathom.NewerSchemaError, "schema 2; this package reads up to 1: upgrade"):
            netfathom.read(self.run_of("future", text))

    def test_what_is_no_run_is_reported(self):
        whole = (FIXTURES / "join.json").read_text()
        cases = [
            ("cut", whole[:1000], netfathom.DamagedError, "is damaged"),
            ("empty", "", netfathom.DamagedError, "is damaged"),
            ("list", "[1]", netfathom.NotARunError, "no schema_version"),
            ("other", '{"a": 1}', netfathom.NotARunError, "no schema_version"),
            ("true", '{"schema_version": true}', netfathom.NotARunError, "no schema_version"),
            ("bare", '{"schema_version": 1}', netfathom.DamagedError, "lacks id, state"),
        ]
        for name, text, error, words in cases:
            with self.subTest(name), self.assertRaisesRegex(error, words):
                netfathom.read(self.run_of(name, text))
        with self.assertRaisesRegex(netfathom.NotARunError, "there is no record.json"):
            netfathom.read(self.directory)
        with self.assertRaises(netfathom.NotARunError):
            netfathom.read(self.directory / "nowhere")

    def test_a_directory_tells_of_the_damaged_too(self):
        whole = (FIXTURES / "join.json").read_text()
        self.run_of("a", whole)
        self.run_of("b", whole[:50])
        (self.directory / "no-run").mkdir()
        self.run_of("c", whole)
        found = list(netfathom.runs(self.directory))
        self.assertEqual([type(one) for one in found], [netfathom.Run, netfathom.Broken, netfathom.Run])
        self.assertEqual(found[1].path.name, "b")
        self.assertIsInstance(found[1].error, netfathom.DamagedError)
        with self.assertRaises(netfathom.NotARunError):
            list(netfathom.runs(self.directory / "nowhere"))


if __name__ == "__main__":
    unittest.main()
