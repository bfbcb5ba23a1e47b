#include "scenario/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/yaml.h"
#include "scenario/fake_cluster.h"
#include "scenario/report.h"

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Status = TestResult::Status;

Test testOf(std::string_view spec, const std::filesystem::path& file = "chainsaw-test.yaml") {
  std::string text =
      "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nspec:";
  for (const char c : spec) {
    text += c;
    if (c == '\n') text += "  ";
  }
  auto tests = parseTests(text, file);
  EXPECT_TRUE(tests) << (tests ? "" : tests.error().message);
  return tests ? tests->at(0) : Test{};
}

class RunnerTest : public testing::Test {
 protected:
  TestResult run(std::string_view spec, std::size_t inputs = 0) {
    test_ = testOf(spec);
    return runTestToEnd(cluster, test_, inputs, {});
  }
  // The first failed operation of a result.
  static OperationResult failure(const TestResult& result) {
    for (const auto& step : result.steps) {
      for (const auto& operation : step.try_) {
        if (operation.failed()) return operation;
      }
    }
    return {};
  }

  FakeCluster cluster;
  scenario::Test test_;
};

constexpr const char* kConfigMap = R"(
steps:
- try:
  - create:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1"}}
  - assert:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1"}}
)";

TEST_F(RunnerTest, ATestHasItsOwnNamespaceAndLeavesNothingBehind) {
  const auto result = run(kConfigMap);
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  EXPECT_EQ(result.namespace_, "scenario-t-1");
  EXPECT_THAT(cluster.objects, IsEmpty());
  EXPECT_THAT(cluster.calls(),
              ElementsAre("create namespaces/", "create configmaps/scenario-t-1/",
                          "get configmaps/scenario-t-1/a", "delete configmaps/scenario-t-1/a",
                          "get configmaps/scenario-t-1/a", "delete namespaces/scenario-t-1",
                          "get namespaces/scenario-t-1"));
}

TEST_F(RunnerTest, ATakenNamespaceNameIsSkipped) {
  cluster.objects["namespaces/scenario-t-1"] = json::object{};
  EXPECT_EQ(run(kConfigMap).namespace_, "scenario-t-2");
  EXPECT_TRUE(cluster.objects.contains("namespaces/scenario-t-1"));
}

TEST_F(RunnerTest, ANamespaceThatWasThereStays) {
  cluster.objects["namespaces/own"] = *parseYaml("{metadata: {name: own}}");
  const auto result = run("\nnamespace: own" + std::string(kConfigMap));
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  EXPECT_TRUE(cluster.objects.contains("namespaces/own"));
}

TEST_F(RunnerTest, AnAssertionWaitsUntilItHolds) {
  cluster.loop.runAfter(20s, [&] {
    cluster.objects["nodes/n1"] =
        *parseYaml("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {x: 2}}");
  });
  const auto result = run(R"(
steps:
- try:
  - assert: {resource: {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {(x > `1`): true}}}
)");
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  EXPECT_GE(result.elapsed, 20s);
  EXPECT_LT(result.elapsed, 21s);
}

TEST_F(RunnerTest, AnAssertionThatNeverHoldsTellsWhatIsThere) {
  cluster.objects["nodes/n1"] =
      *parseYaml("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {x: 2, other: 3}}");
  cluster.objects["events/default/e"] = *parseYaml(
      "{involvedObject: {kind: Node, name: n1}, type: Warning, reason: Bad, count: 2, message: too "
      "hot, source: {component: kubelet}}");
  const auto result = run(R"(
timeouts: {assert: 10s}
steps:
- try:
  - assert: {resource: {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {x: 1}}}
  - sleep: {duration: 1s}
  catch:
  - get: {apiVersion: v1, kind: Node}
)");
  EXPECT_EQ(result.status, Status::Failed);
  const auto operation = failure(result);
  EXPECT_EQ(operation.error, "status.x: expected 1, got 2");
  EXPECT_EQ(operation.field, "spec.steps[0].try[0].assert");
  EXPECT_EQ(operation.place, "chainsaw-test.yaml:8");
  ASSERT_EQ(operation.deviations.size(), 1U);
  EXPECT_EQ(toJson(operation.deviations[0].actual),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"x":2}})");
  EXPECT_THAT(operation.deviations[0].events, ElementsAre("Warning Bad (x2, kubelet): too hot"));
  EXPECT_EQ(result.steps[0].try_.size(), 1U) << "what follows a failure does not run";
  ASSERT_EQ(result.steps[0].catch_.size(), 1U);
  EXPECT_THAT(result.steps[0].catch_[0].output, HasSubstr("other: 3"));
  EXPECT_GE(result.elapsed, 10s);
  EXPECT_LT(result.elapsed, 11s);

  const auto text = describe(result, {});
  EXPECT_THAT(text, HasSubstr("FAIL t ("));
  EXPECT_THAT(text, HasSubstr("  x: 1         |   x: 2\n"));
  EXPECT_THAT(text, HasSubstr("- Warning Bad (x2, kubelet): too hot"));
}

TEST_F(RunnerTest, WithoutANameOneObjectOfTheLabelsIsEnough) {
  for (const char* name : {"a", "b"}) {
    cluster.objects[std::string("nodes/") + name] =
        *parseYaml(std::string("{metadata: {name: ") + name +
                   ", labels: {pool: x}}, spec: {id: " + name + "}}");
  }
  const auto holds = run(R"(
steps:
- try:
  - assert: {resource: {apiVersion: v1, kind: Node, metadata: {labels: {pool: x}}, spec: {id: b}}}
)");
  EXPECT_EQ(holds.status, Status::Passed) << describe(holds, {});
  const auto fails = run(R"(
steps:
- try:
  - assert: {resource: {apiVersion: v1, kind: Node, metadata: {labels: {pool: x}}, spec: {id: c}}}
)");
  EXPECT_EQ(failure(fails).error, "none of 2 objects is as expected");
  const auto none = run(R"(
steps:
- try:
  - assert: {resource: {apiVersion: v1, kind: Node, metadata: {labels: {pool: other}}}}
)");
  EXPECT_EQ(failure(none).error, "the object does not exist");
}

TEST_F(RunnerTest, AnErrorOperationWantsThatNothingMatches) {
  cluster.objects["nodes/n1"] =
      *parseYaml("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {a: 1}}");
  cluster.loop.runAfter(5s, [&] { cluster.objects.erase("nodes/n1"); });
  constexpr const char* kGone = R"(
steps:
- try:
  - error: {resource: {apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {a: 1}}}
)";
  const auto waits = run(kGone);
  EXPECT_EQ(waits.status, Status::Passed) << describe(waits, {});
  EXPECT_GE(waits.elapsed, 5s);
  cluster.objects["nodes/n1"] =
      *parseYaml("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {a: 1}}");
  EXPECT_EQ(failure(run(kGone)).error, "it matches but must not: v1/Node n1");
}

TEST_F(RunnerTest, BindingsTemplatesAndOutputsFlow) {
  const auto result = run(R"(
bindings:
- name: prefix
  value: (join('-', [$namespace, 'x']))
steps:
- bindings: [{name: size, value: 3}]
  try:
  - apply:
      resource:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: ($prefix)}
        data: {size: (to_string($size)), test: ($test.metadata.name)}
      outputs: [{name: made, value: (@)}]
  - assert:
      resource: {($made.metadata.name): scenario-t-1-x, ($made.data.size): '3'}
  - patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($prefix)}, data: {size: null, more: it}}}
  - assert:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($prefix)}, data: {test: t, more: it, (size): null}}
  - update: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($prefix)}, data: {z: '1'}}}
  - assert:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($prefix)}, (data): {z: '1', (length(@)): 1}}
  - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($prefix)}, data: {q: '2'}}}
  - assert:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($prefix)}, data: {z: '1', q: '2'}}
)");
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  EXPECT_THAT(cluster.objects, IsEmpty());
}

TEST_F(RunnerTest, SetsOfInputsRunTheTestWithOtherBindings) {
  constexpr const char* kSpec = R"(
scenarios:
- bindings: [{name: v, value: one}]
- name: second
  bindings: [{name: v, value: two}]
steps:
- try:
  - assert: {resource: {($v): two, ($test.scenarioId): 2}, timeout: 0s}
)";
  EXPECT_EQ(run(kSpec, 0).status, Status::Failed);
  const auto second = run(kSpec, 1);
  EXPECT_EQ(second.status, Status::Passed) << describe(second, {});
  EXPECT_EQ(second.name, "t/second");
}

TEST_F(RunnerTest, AnExpectedErrorIsASuccess) {
  cluster.refused["pods"] = Error{ErrorCode::Forbidden, "denied: no profile", {}};
  constexpr const char* kCreate = R"(
steps:
- try:
  - create:
      timeout: 1s
      resource: {apiVersion: v1, kind: Pod, metadata: {name: p}}
)";
  EXPECT_EQ(failure(run(kCreate)).error, "denied: no profile");
  const auto expected = run(std::string(kCreate) + R"(
      expect:
      - match: {kind: Pod}
        check:
          (contains($error, 'no profile')): true
)");
  EXPECT_EQ(expected.status, Status::Passed) << describe(expected, {});
  const auto other = run(std::string(kCreate) + R"(
      expect:
      - match: {kind: Service}
        check: {($error != null): true}
)");
  EXPECT_EQ(failure(other).error, "denied: no profile");
  cluster.refused.clear();
  const auto unexpected = run(std::string(kCreate) + R"(
      expect:
      - check: {($error != null): true}
)");
  EXPECT_THAT(failure(unexpected).error,
              HasSubstr("expected true, got false (the operation succeeded)"));
}

TEST_F(RunnerTest, AWriteThatIsRefusedForNowIsTriedAgain) {
  cluster.refused["pods"] = Error{ErrorCode::Internal, "webhook not ready", {}};
  cluster.loop.runAfter(3s, [&] { cluster.refused.clear(); });
  const auto result = run(R"(
steps:
- try:
  - apply: {resource: {apiVersion: v1, kind: Pod, metadata: {name: p}}}
)");
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
}

TEST_F(RunnerTest, WaitsForConditionsPathsCreationAndDeletion) {
  const auto pod = [](const char* status) {
    return *parseYaml(
        std::string(
            "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: scenario-t-1}, status: ") +
        status + "}");
  };
  const std::string key = "pods/scenario-t-1/p";
  cluster.loop.runAfter(10s, [&] { cluster.objects[key] = pod("{phase: Pending}"); });
  cluster.loop.runAfter(20s, [&] {
    cluster.objects[key] = pod("{phase: Running, conditions: [{type: Ready, status: 'True'}]}");
  });
  cluster.loop.runAfter(30s, [&] { cluster.objects.erase(key); });
  const auto result = run(R"(
timeouts: {exec: 1m}
steps:
- try:
  - wait: {apiVersion: v1, kind: Pod, name: p, for: {creation: {}}}
  - wait: {apiVersion: v1, kind: Pod, for: {condition: {name: Ready, value: 'true'}}}
  - wait: {apiVersion: v1, kind: Pod, name: p, for: {jsonPath: {path: '{.status.conditions[0].type}', value: Ready}}}
  - wait: {apiVersion: v1, kind: Pod, name: p, for: {jsonPath: {path: '{.status.conditions[?(@.type=="Ready")].status}', value: 'True'}}}
  - wait: {apiVersion: v1, kind: Pod, name: p, for: {deletion: {}}}
)");
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  EXPECT_GE(result.elapsed, 30s);
  const auto late = run(R"(
steps:
- try:
  - wait: {apiVersion: v1, kind: Pod, name: p, timeout: 2s, for: {creation: {}}}
)");
  EXPECT_EQ(failure(late).error, "the object does not exist after 2s");
}

TEST_F(RunnerTest, AnHourOfSleepIsNothingOnVirtualTime) {
  const auto result = run("\nsteps:\n- try:\n  - sleep: {duration: 1h}\n");
  EXPECT_EQ(result.status, Status::Passed);
  EXPECT_GE(result.elapsed, 1h);
}

TEST_F(RunnerTest, DeletionWaitsAndNamesTheFinalizersThatHoldIt) {
  cluster.sticky.insert("configmaps");
  const auto result = run("\ntimeouts: {cleanup: 3s}" + std::string(kConfigMap));
  EXPECT_EQ(result.status, Status::Failed);
  ASSERT_EQ(result.cleanup.size(), 1U);
  EXPECT_EQ(result.cleanup[0].error, R"(still exists after 3s, finalizers: ["test/hold"])");
}

TEST_F(RunnerTest, CleanupGoesBackwardsAndStepsMayAddToIt) {
  const auto result = run(R"(
steps:
- try:
  - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
  cleanup:
  - delete: {ref: {apiVersion: v1, kind: Node, name: left}}
- skipDelete: true
  try:
  - create: {resource: {apiVersion: v1, kind: Node, metadata: {name: kept}}}
  - create: {resource: {apiVersion: v1, kind: Node, metadata: {name: left}}}
)");
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  std::vector<std::string> deletions;
  for (const auto& call : cluster.calls()) {
    if (call.starts_with("delete")) deletions.push_back(call);
  }
  EXPECT_THAT(deletions,
              ElementsAre("delete configmaps/scenario-t-1/b", "delete configmaps/scenario-t-1/a",
                          "delete nodes/left", "delete namespaces/scenario-t-1"));
  EXPECT_TRUE(cluster.objects.contains("nodes/kept"));
}

TEST_F(RunnerTest, AnUpdateWithoutMetadataIsNoCrash) {
  cluster.objects["nodes/"] = *parseYaml("{metadata: {resourceVersion: '7'}}");  // as a list is
  const auto result = run(R"(
steps:
- try:
  - update: {timeout: 1s, resource: {apiVersion: v1, kind: Node}}
)");
  EXPECT_FALSE(result.steps.empty());
}

TEST_F(RunnerTest, CustomKindsAreFoundThroughTheirDefinitions) {
  cluster.objects["customresourcedefinitions/profiles.x.io"] = *parseYaml(
      "{spec: {group: x.io, scope: Cluster, names: {kind: Profile, plural: profiles}, versions: "
      "[{name: v1}]}}");
  const auto result = run(R"(
steps:
- try:
  - create: {resource: {apiVersion: x.io/v1, kind: Profile, metadata: {name: p}}}
  - assert: {resource: {apiVersion: x.io/v1, kind: Profile, metadata: {name: p}}}
)");
  EXPECT_EQ(result.status, Status::Passed) << describe(result, {});
  const auto unknown = run(R"(
steps:
- try:
  - assert: {timeout: 1s, resource: {apiVersion: x.io/v2, kind: Profile, metadata: {name: p}}}
)");
  EXPECT_EQ(failure(unknown).error, "the server has no kind Profile in x.io/v2");
}

TEST_F(RunnerTest, ErrorsInExpressionsAreReportedWithTheirPlace) {
  EXPECT_THAT(
      run("\nbindings: [{name: a, value: ($nope)}]\nsteps: [{try: [{sleep: {duration: 1s}}]}]")
          .error,
      HasSubstr("unknown binding $nope"));
  const auto result = run(R"(
steps:
- try:
  - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($nope)}}}
)");
  EXPECT_EQ(failure(result).error, "metadata: name: ($nope): unknown binding $nope");
}

TEST_F(RunnerTest, ProcessesNeedRealTime) {
  const auto result = run("\nsteps:\n- try:\n  - script: {content: echo hi}\n");
  EXPECT_THAT(failure(result).error, HasSubstr("virtual time"));
}

TEST_F(RunnerTest, SkippedTestsDoNothing) {
  EXPECT_EQ(run("\nskip: true" + std::string(kConfigMap)).status, Status::Skipped);
  EXPECT_THAT(cluster.calls(), IsEmpty());
}

}  // namespace
}  // namespace koord::scenario
