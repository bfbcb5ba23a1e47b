#include "koordctl/explain/starts_text.h"

#include <gtest/gtest.h>

#include "koordctl/common/active_jobs.h"
#include "koordctl/explain/explanation.h"
#include "koordctl/explain/plugin_answers.h"

namespace koord::koordctl {
namespace {

std::string lineOf(std::string_view estimate) {
  return startsText(*parseJson(estimate));
}

TEST(StartsText, says_when_why_and_how_sure) {
  EXPECT_EQ(lineOf(R"({"kind": "pod", "namespace": "team-a", "name": "p", "state": "estimated",
      "pods": 1, "node": "n1", "interval": 0.8,
      "next": {"earliest": 720, "likely": 840, "latest": 1140},
      "runs": [{"namespace": "team-a", "kind": "Job", "name": "train", "pods": 3, "nodes": ["n1"],
        "nodeCount": 1, "runs": 12, "shortest": 1860, "median": 2000, "longest": 2640}]})"),
            "Starts in 12 to 19 min (likely 14 min), likely on node n1\n"
            "       3 pods of Job team-a/train on node n1 end first; 12 earlier runs took 31\n"
            "       to 44 min\n"
            "       in 80 of 100 cases, if no other pods are created\n");
}

TEST(StartsText, a_quota_has_its_next_and_its_last_pod) {
  EXPECT_EQ(lineOf(R"({"kind": "quota", "name": "a", "state": "estimated", "pods": 4,
      "next": {"earliest": 5, "likely": 40, "latest": 90},
      "all": {"earliest": 600, "likely": 7000, "latest": 90000}, "runs": []})"),
            "Starts the next pod in 5 to 90 s (likely 40 s); all 4 pods in 10 min to 25 h\n"
            "       (likely 117 min)\n");
}

TEST(StartsText, a_deadline_is_only_the_latest_time) {
  EXPECT_EQ(lineOf(R"({"kind": "pod", "state": "latestOnly", "pods": 1, "next": {"latest": 600}})"),
            "Starts within 10 min, at an unknown time\n"
            "       of some pods on the node only a deadline is known\n");
}

TEST(StartsText, without_an_estimate_the_pods_in_the_way_are_named) {
  EXPECT_EQ(lineOf(R"({"kind": "pod", "state": "none", "lastMessage": "0/1 nodes are available",
      "unknown": [{"namespace": "d", "name": "web", "node": "n"}], "unknownPods": 3})"),
            "Starts no estimate: nothing is known about the end of d/web on n and 2 other\n"
            "       pods\n");
  EXPECT_EQ(lineOf(R"({"kind": "pod", "state": "none", "unknownPods": 2})"),
            "Starts no estimate: nothing is known about the ends of 2 pods\n")
      << "the names are hidden";
  EXPECT_EQ(lineOf(R"({"kind": "pod", "state": "none", "message": "why"})"),
            "Starts no estimate: why\n");
}

TEST(StartsText, no_document_does_harm) {
  EXPECT_EQ(lineOf(R"({"state": "running"})"), "");
  for (const char* document :
       {"null", "[]", "7", R"({"state": "estimated"})", R"({"state": "estimated", "next": 7})",
        R"({"state": "estimated", "next": {"earliest": -1e300, "latest": 1e300}, "runs": [7]})",
        R"({"state": "none", "unknown": {}, "unknownPods": -5})"})
    lineOf(document);
  EXPECT_TRUE(estimateIn(*parseJson(R"({"status": {"when": {"estimates": [7]}}})")).is_null());
  EXPECT_TRUE(estimateIn(json::value()).is_null());
}

TEST(StartsText, is_a_line_of_the_explanations_of_pods_gangs_and_quotas) {
  const char* starts = R"("starts": {"state": "none", "message": "why"})";
  const std::string line = "Starts no estimate: why\n";
  const std::string pod =
      std::string(R"({"pod": "a/b", "state": "unschedulable", )") + starts + "}";
  const std::string gang = std::string(R"({"name": "a/b", )") + starts + "}";
  const std::string quota = std::string(R"({"name": "a", )") + starts + "}";
  EXPECT_NE(explanationText(*parseJson(pod)).find(line), std::string::npos);
  EXPECT_NE(gangText(*parseJson(gang)).find(line), std::string::npos);
  EXPECT_NE(quotaText(*parseJson(quota)).find(line), std::string::npos);
}

TEST(ActiveJobs, keep_what_a_question_needs_of_jobs_that_run) {
  const json::array jobs = activeJobsIn(*parseJson(R"({"items": [
      {"metadata": {"uid": "1", "name": "a"}, "spec": {"completions": 3, "parallelism": 1,
        "template": {"spec": {"nodeSelector": {"a": "b"}, "containers": [{"env": []}]}}},
       "status": {"active": 1, "succeeded": 2, "startTime": "T"}},
      {"metadata": {"uid": "2"}, "spec": {}, "status": {"succeeded": 3}}, 7]})"));
  EXPECT_EQ(toJson(jobs),
            R"([{"metadata":{"uid":"1"},"spec":{"parallelism":1,"completions":3,"template":)"
            R"({"spec":{"nodeSelector":{"a":"b"}}}},"status":{"startTime":"T","succeeded":2}}])");
  EXPECT_TRUE(activeJobsIn(json::value(7)).empty());
}

}  // namespace
}  // namespace koord::koordctl
