#!/usr/bin/env python3
"""Tests of how pages are read and outputs are compared."""

import os
import tempfile
import unittest

from outputs import agrees
from page import Page


class Outputs(unittest.TestCase):
    def test_ages_times_addresses_and_generated_names_may_differ(self):
        self.assertTrue(agrees(["web-7d4b9c6f5-x2x5z   Running   3s   10.0.0.1"],
                               ["web-6c9d8b7f44-zzkqv  Running   1m4s   10.0.0.99"]))

    def test_amounts_may_not_differ(self):
        self.assertFalse(agrees(["cpu  500m"], ["cpu  400m"]))

    def test_three_dots_stand_for_any_lines(self):
        self.assertTrue(agrees(["a", "...", "d"], ["a", "b", "c", "d"]))
        self.assertTrue(agrees(["a", "..."], ["a"]))
        self.assertFalse(agrees(["a", "...", "d"], ["a", "b"]))

    def test_a_missing_line_is_a_difference(self):
        self.assertFalse(agrees(["a", "b"], ["a"]))
        self.assertFalse(agrees([], ["a"]))


class Pages(unittest.TestCase):
    def page(self, text):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "page.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            return Page(path, folder)
        finally:
            os.remove(path)
            os.rmdir(folder)

    def test_commands_have_their_outputs(self):
        page = self.page("<!-- cluster: --nodes 2 -->\n```console\n$ echo \\\n> b\nb\n$ true\n```\n")
        first, second = page.commands(page.blocks[0])
        self.assertEqual((first.text, first.output, second.output), ("echo \\\nb", ["b"], []))
        self.assertEqual(page.cluster, ["--nodes", "2"])

    def test_commands_without_a_cluster_are_refused(self):
        self.assertIn("page.md:1: a console block needs", self.page("```console\n$ true\n```\n").problems[0])

    def test_commands_that_do_not_run_have_a_reason(self):
        self.assertEqual(self.page("<!-- not run: needs helm -->\n```sh\nhelm ls\n```\n").problems, [])
        self.assertIn("not run", self.page("```sh\nhelm ls\n```\n").problems[0])

    def test_a_file_that_is_not_there_is_named(self):
        self.assertIn("x.yaml does not exist", self.page("<!-- file: x.yaml -->\n```yaml\na: 1\n```\n").problems[0])


if __name__ == "__main__":
    unittest.main()
