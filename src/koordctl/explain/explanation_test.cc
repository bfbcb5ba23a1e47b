#include "koordctl/explain/explanation.h"

#include <gtest/gtest.h>

namespace koord::koordctl {
namespace {

std::string text(std::string_view answer) {
  return explanationText(*parseJson(answer));
}

TEST(ExplanationTest, APendingPodIsToldWhoRejectsItAndWhatItLacks) {
  EXPECT_EQ(
      text(
          R"({"pod": "shop/web", "state": "unschedulable", "attempts": 3, "waitsFor": ["NodeResourcesFit"],
    "totalNodes": 5, "feasibleNodes": 0, "rejections": [
      {"plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu", "Insufficient memory"], "count": 4,
       "nodes": ["a", "b", "c", "d"]},
      {"plugin": "TaintToleration", "reasons": ["node(s) had untolerated taint {k: v}"], "count": 1, "nodes": ["e"]}],
    "nearestMiss": {"node": "b", "missing": {"cpu": "500m", "memory": "1Gi"}},
    "butForOne": [{"plugin": "TaintToleration", "reasons": ["node(s) had untolerated taint {k: v}"], "count": 1,
      "nodes": ["e"], "change": "tolerate k=v:NoSchedule"}],
    "decisions": [{"time": "T", "attempt": 3, "result": "unschedulable", "node": "", "feasibleNodes": 0,
      "evaluatedNodes": 5, "message": "0/5 nodes are available"}]})"),
      R"(Pod    shop/web
State  unschedulable, tried 3 times
Waits  for a change that concerns NodeResourcesFit

It fits on 0 of 5 nodes now.
  NODES  REJECTED BY       BECAUSE                                FOR EXAMPLE
  4      NodeResourcesFit  Insufficient cpu, Insufficient memory  a, b, c, d
  1      TaintToleration   node(s) had untolerated taint {k: v}   e

It would fit on b if it requested 500m cpu, 1Gi memory less, or if that much were freed there.

Nodes that fail only one check
  NODES  REJECTED BY      BECAUSE                               FOR EXAMPLE  WHAT WOULD HELP
  1      TaintToleration  node(s) had untolerated taint {k: v}  e            tolerate k=v:NoSchedule

Decisions
  TIME  ATTEMPT  RESULT         NODE  FEASIBLE  MESSAGE
  T     3        unschedulable        0/5       0/5 nodes are available
)");
}

TEST(ExplanationTest, APodThatFitsIsToldTheScoresOfTheBestNodes) {
  EXPECT_EQ(
      text(
          R"({"pod": "d/p", "state": "unknown", "totalNodes": 2, "feasibleNodes": 2, "rejections": [],
    "bestNodes": [{"node": "b", "score": 150, "plugins": {"Fit": 50, "Taints": 100}},
                  {"node": "long-name", "score": 9, "plugins": {"Fit": 9, "Taints": 0}}]})"),
      R"(Pod    d/p

It fits on 2 of 2 nodes now.

The best nodes, with each plugin's weighted score
  NODE       SCORE  Fit  Taints
  b          150    50   100
  long-name  9      9    0
)");
}

TEST(ExplanationTest, ABoundPodIsToldWhereItIs) {
  EXPECT_EQ(text(R"({"pod": "d/p", "state": "bound", "node": "a", "decisions": []})"),
            "Pod    d/p\nState  bound on a\n");
}

TEST(ExplanationTest, WhateverTheAnswerIsItDoesNotCrash) {
  EXPECT_EQ(text("[]"), "Pod    \n");
  EXPECT_EQ(
      text(
          R"({"pod": 3, "rejections": {}, "totalNodes": null, "bestNodes": [1], "decisions": [null]})"),
      "Pod    \n\nThe best nodes, with each plugin's weighted score\n  NODE  SCORE\n\n\nDecisions\n"
      "  TIME  ATTEMPT  RESULT  NODE  FEASIBLE  MESSAGE\n                               /\n");
}

}  // namespace
}  // namespace koord::koordctl
