// Evictions and the disruption budgets that they are charged to.

#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class EvictionTest : public ServerTest {
 protected:
  // A pod of the application that runs on a node.
  void runPod(const std::string& name, bool ready = true, const char* phase = "Running") {
    ASSERT_EQ(post(kPods, pod(name, "", R"({"app":"web"})")).status, 201);
    ASSERT_EQ(post(path(name) + "/binding", R"({"target":{"kind":"Node","name":"n1"}})").status,
              201);
    ASSERT_EQ(
        mergePatch(
            path(name) + "/status",
            toJson(json::object{
                {"status",
                 {{"phase", phase},
                  {"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}}))
            .status,
        200);
  }
  void budget(const std::string& name, const std::string& status, const std::string& spec = "") {
    ASSERT_EQ(post(kBudgets, R"({"metadata":{"name":")" + name +
                                 R"("},"spec":{"minAvailable":1,"selector":{"matchLabels":)" +
                                 R"({"app":"web"}})" + spec + "}}")
                  .status,
              201);
    ASSERT_EQ(
        mergePatch(kBudgets + ("/" + name) + "/status", R"({"status":)" + status + "}").status,
        200);
  }
  Answer evict(const std::string& pod, const std::string& more = "",
               const std::string& query = "") {
    return post(path(pod) + "/eviction" + query,
                R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + pod +
                    R"("})" + more + "}");
  }
  bool isLeaving(const std::string& pod) {
    return !textAt(get(path(pod)).body, "metadata", "deletionTimestamp").empty();
  }
  std::int64_t allowed() {
    return at(get(std::string(kBudgets) + "/pdb").body, "status", "disruptionsAllowed")
        ->get_int64();
  }
  static std::string causeOf(const Answer& answer) {
    const auto* causes = at(answer.body, "details", "causes");
    if (!causes) return "";
    const auto& cause = causes->get_array().at(0);
    return std::string(textAt(cause, "reason")) + ": " + std::string(textAt(cause, "message"));
  }
  std::string path(const std::string& pod) { return std::string(kPods) + "/" + pod; }

  static constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  static constexpr const char* kRoom =
      R"({"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2})";
  static constexpr const char* kNoRoom =
      R"({"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1})";
};

TEST_F(EvictionTest, takesADisruptionAndDeletesThePod) {
  runPod("a");
  runPod("b");
  budget("pdb", kRoom);
  const auto done = evict("a");
  EXPECT_EQ(done.status, 201) << done.message();
  EXPECT_EQ(textAt(done.body, "status"), "Success");
  const auto leaving = get(path("a")).body;
  EXPECT_FALSE(textAt(leaving, "metadata", "deletionTimestamp").empty());
  EXPECT_EQ(at(leaving, "status", "conditions")->get_array().back(),
            *parseJson(R"({"type":"DisruptionTarget","status":"True",
                "lastTransitionTime":"2026-01-01T00:00:00Z","reason":"EvictionByEvictionAPI",
                "message":"Eviction API: evicting"})"));
  const auto budget = get(std::string(kBudgets) + "/pdb").body;
  EXPECT_EQ(*at(budget, "status", "disruptionsAllowed"), 0);
  EXPECT_NE(at(budget, "status", "disruptedPods", "a"), nullptr);
  const auto& condition = at(budget, "status", "conditions")->get_array().at(0);
  EXPECT_EQ(textAt(condition, "type"), "DisruptionAllowed");
  EXPECT_EQ(textAt(condition, "reason"), "InsufficientPods");
  const auto denied = evict("b");
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(denied.reason(), "TooManyRequests");
  EXPECT_EQ(denied.message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(causeOf(denied),
            "DisruptionBudget: The disruption budget pdb needs 1 healthy pods and has 2 currently");
  EXPECT_EQ(at(denied.body, "details", "retryAfterSeconds"), nullptr);
  EXPECT_FALSE(isLeaving("b"));
}

TEST_F(EvictionTest, whatABudgetSaysDecides) {
  struct Case {
    const char* name;
    const char* status;  // of the budget
    const char* spec;
    bool ready;
    const char* phase;
    int expected;
    const char* cause;
  };
  const Case cases[] = {
      {"a budget that was not looked at yet", R"({"disruptionsAllowed":1})", "", true, "Running",
       429, "DisruptionBudget: The disruption budget pdb is still being processed by the server."},
      {"no room", kNoRoom, "", true, "Running", 429,
       "DisruptionBudget: The disruption budget pdb needs 1 healthy pods and has 1 currently"},
      {"an unhealthy pod while enough others are healthy", kNoRoom, "", false, "Running", 201, ""},
      {"an unhealthy pod that is missed",
       R"({"observedGeneration":1,"currentHealthy":0,"desiredHealthy":1,"expectedPods":1})", "",
       false, "Running", 429,
       "DisruptionBudget: The disruption budget pdb needs 1 healthy pods and has 0 currently"},
      {"an unhealthy pod that may always go",
       R"({"observedGeneration":1,"currentHealthy":0,"desiredHealthy":1,"expectedPods":1})",
       R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")", false, "Running", 201, ""},
      {"a healthy pod of the same budget", kNoRoom,
       R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")", true, "Running", 429,
       "DisruptionBudget: The disruption budget pdb needs 1 healthy pods and has 1 currently"},
      {"a pod that has not begun", kNoRoom, "", true, "Pending", 201, ""},
      {"a pod that is done", kNoRoom, "", true, "Succeeded", 201, ""},
      {"a budget below zero", R"({"observedGeneration":1,"disruptionsAllowed":-1})", "", true,
       "Running", 403, ""}};
  for (const auto& one : cases) {
    runPod("a", one.ready, one.phase);
    budget("pdb", one.status, one.spec);
    const auto answer = evict("a");
    EXPECT_EQ(answer.status, one.expected) << one.name << ": " << answer.message();
    EXPECT_EQ(causeOf(answer), one.cause) << one.name;
    remove(path("a"), R"({"gracePeriodSeconds":0})");
    remove(std::string(kBudgets) + "/pdb");
  }
}

TEST_F(EvictionTest, aBudgetThatIsNotReadySaysWhenToComeBack) {
  runPod("a");
  budget("pdb", R"({"disruptionsAllowed":1})");
  EXPECT_EQ(*at(evict("a").body, "details", "retryAfterSeconds"), 10);
}

TEST_F(EvictionTest, aPodOfTwoBudgetsIsNotEvicted) {
  runPod("a");
  budget("pdb", kRoom);
  budget("other", kRoom);
  const auto refused = evict("a");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.message(),
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.");
  EXPECT_FALSE(isLeaving("a"));
}

TEST_F(EvictionTest, aDryRunChangesNothing) {
  runPod("a");
  budget("pdb", kRoom);
  const auto before = get(path("a")).body;
  EXPECT_EQ(evict("a", R"(,"deleteOptions":{"dryRun":["All"]})").status, 201);
  EXPECT_EQ(evict("a", "", "?dryRun=All").status, 201);
  EXPECT_EQ(get(path("a")).body, before);
  EXPECT_EQ(allowed(), 1);
  mergePatch(std::string(kBudgets) + "/pdb/status", R"({"status":{"disruptionsAllowed":0}})");
  EXPECT_EQ(evict("a", "", "?dryRun=All").status, 429);
}

TEST_F(EvictionTest, preconditionsAndNamesMustHold) {
  runPod("a");
  budget("pdb", kRoom);
  const auto other = evict("a", R"(,"deleteOptions":{"preconditions":{"uid":"other"}})");
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(other.message(), HasSubstr("Precondition failed: UID in precondition: other"));
  const auto named = post(path("a") + "/eviction", R"({"metadata":{"name":"b"}})");
  EXPECT_EQ(named.status, 400);
  EXPECT_EQ(named.message(), "name in URL does not match name in Eviction object");
  EXPECT_EQ(evict("nobody").status, 404);
  EXPECT_EQ(allowed(), 1);
  EXPECT_FALSE(isLeaving("a"));
}

}  // namespace
}  // namespace koord::apiserver::testing
