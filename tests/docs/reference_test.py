#!/usr/bin/env python3
"""Tests of how scripts/reference.py finds names and events in the sources."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import event_help  # noqa: E402
import reference  # noqa: E402


class Events(unittest.TestCase):
    def found(self, text, path="src/koordlet/x.cc"):
        problems, found = event_help.compare([(path, text)])
        return [problem for problem in problems if path in problem], {key[1:] for key in found}

    def test_reasons_are_literals_in_either_case(self):
        self.assertEqual(self.found('events_.record(about, "Warning", "evictPodFail", text + ": " + why);'),
                         ([], {("evictPodFail", "Warning")}))

    def test_reasons_may_be_a_choice(self):
        self.assertEqual(self.found('events_.record(about, "Warning", made ? "evictPodSuccess" : "evictPodFail", text(1, "b"));')[1],
                         {("evictPodSuccess", "Warning"), ("evictPodFail", "Warning")})

    def test_reasons_may_be_constants(self):
        text = 'constexpr const char* kFail = "evictPodFail";\nevents_.record(about, "Warning", reason::kFail, message);'
        self.assertEqual(self.found(text), ([], {("evictPodFail", "Warning")}))

    def test_a_variable_that_is_not_declared_is_a_problem(self):
        self.assertIn("reason `why.reason`", self.found('events_.record(about, "Warning", why.reason, message);')[0][0])

    def test_a_type_that_is_no_literal_is_a_problem(self):
        self.assertIn("1 events are written, 0 types", self.found("events_.record(about, type, reason, message);")[0][0])

    def test_a_reason_without_an_entry_is_a_problem(self):
        self.assertIn("event Surprise (Normal) of koordlet has no entry", self.found('tell(pod, "Normal", "Surprise", text);')[0][0])

    def test_an_entry_without_a_source_is_a_problem(self):
        problems, _ = event_help.compare([])
        self.assertIn("scripts/event_help.py explains the event evictPodFail (Warning) of koordlet, which no source writes", problems)


class Names(unittest.TestCase):
    def names(self, text):
        found = set()
        for pattern in (reference.NAME, reference.NAME_CONSTANT, reference.SLASHED_CONSTANT):
            found.update(name for name in pattern.findall(text) if not reference.NOT_A_NAME.fullmatch(name))
        return found

    def test_names_of_koordinator_are_found_wherever_they_stand(self):
        self.assertEqual(self.names('labels["node.koordinator.sh/gpu-model"] = "x"; f("huawei.com/npu-core", "koordinator.sh/fpga");'),
                         {"node.koordinator.sh/gpu-model", "huawei.com/npu-core", "koordinator.sh/fpga"})

    def test_constants_for_labels_need_no_domain(self):
        self.assertEqual(self.names('inline constexpr std::string_view kLabelPodGroup =\n    "pod-group.scheduling.sigs.k8s.io";'),
                         {"pod-group.scheduling.sigs.k8s.io"})

    def test_versions_of_apis_are_no_names(self):
        self.assertEqual(self.names('"scheduling.koordinator.sh/v1alpha1"'), set())


if __name__ == "__main__":
    unittest.main()
