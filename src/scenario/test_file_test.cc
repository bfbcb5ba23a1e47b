#include "scenario/test_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;
using Kind = Operation::Kind;

std::string testWith(std::string_view spec) {
  std::string text =
      "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nspec:\n";
  std::size_t from = 0;
  while (from < spec.size()) {
    const auto newline = std::min(spec.find('\n', from), spec.size());
    text += "  " + std::string(spec.substr(from, newline - from)) + "\n";
    from = newline + 1;
  }
  return text;
}

TEST(TestFileTest, EveryOperationIsRead) {
  const auto tests = parseTests(testWith(R"(
description: all of it
timeouts: {assert: 1m, exec: 2s}
namespaceTemplate: {metadata: {labels: {team: a}}}
bindings:
- {name: size, value: 3}
scenarios:
- bindings: [{name: x, value: 1}]
catch:
- events: {}
steps:
- name: first
  skipDelete: true
  timeouts: {apply: 7s}
  try:
  - apply: {file: a.yaml, timeout: 1s, outputs: [{match: {kind: Pod}, name: pod, value: (@)}]}
  - create:
      resource: {apiVersion: v1, kind: Pod, metadata: {name: p}}
      expect: [{match: {kind: Pod}, check: {($error != null): true}}]
  - update: {file: a.yaml, dryRun: true}
  - patch: {file: a.yaml, subresource: status}
  - delete: {ref: {apiVersion: v1, kind: Pod, labels: {a: b, c: d}}}
  - assert: {resource: {spec: {(replicas > `1`): true}}}
    continueOnError: true
  - error: {file: a.yaml}
  - wait: {apiVersion: v1, kind: Pod, name: p, for: {condition: {name: Ready, value: 'true'}}}
  - wait: {apiVersion: v1, kind: Pod, selector: a=b, for: {jsonPath: {path: '{.status.phase}', value: Running}}}
  - sleep: {duration: 1h}
  - script: {content: echo hi, env: [{name: A, value: b}], check: {($stdout): hi}}
  - command: {entrypoint: ls, args: [-l]}
  - describe: {apiVersion: v1, kind: Pod, showEvents: false}
  - get: {apiVersion: v1, kind: Pod, format: yaml}
  - podLogs: {name: p, tail: 5}
  finally:
  - sleep: {duration: 1s}
  cleanup:
  - delete: {file: a.yaml, deletionPropagationPolicy: Foreground}
)"),
                                "dir/chainsaw-test.yaml");
  ASSERT_TRUE(tests) << tests.error().message;
  const scenario::Test& test = tests->at(0);
  EXPECT_EQ(test.name, "t");
  EXPECT_EQ(test.folder(), "dir");
  EXPECT_EQ(test.timeouts.assert, 1min);
  EXPECT_EQ(test.inputs.size(), 1U);
  EXPECT_TRUE(test.hasProcesses());
  const Step& step = test.steps.at(0);
  EXPECT_EQ(step.timeouts.apply, 7s);
  const std::vector kinds = {Kind::Apply,    Kind::Create, Kind::Update, Kind::Patch,
                             Kind::Delete,   Kind::Assert, Kind::Error,  Kind::Wait,
                             Kind::Wait,     Kind::Sleep,  Kind::Script, Kind::Command,
                             Kind::Describe, Kind::Get,    Kind::PodLogs};
  ASSERT_EQ(step.try_.size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(step.try_[i].kind, kinds[i]) << i;
  EXPECT_EQ(step.try_[0].field, "spec.steps[0].try[0].apply");
  EXPECT_EQ(step.try_[0].outputs.at(0).binding.name, "pod");
  EXPECT_EQ(step.try_[3].subresource, "status");
  EXPECT_EQ(step.try_[4].selection.labelSelector, "a=b,c=d");
  EXPECT_TRUE(step.try_[5].continueOnError);
  EXPECT_EQ(step.try_[8].wait.name, "{.status.phase}");
  EXPECT_EQ(step.try_[9].duration, 1h);
  EXPECT_EQ(step.try_[10].process.environment.at(0).name, "A");
  EXPECT_EQ(step.cleanup.at(0).propagationPolicy, "Foreground");
}

TEST(TestFileTest, MistakesNameTheField) {
  const struct {
    const char* spec;
    const char* problem;
  } cases[] = {
      {"steps: []", "spec.steps: needs at least one step"},
      {"steps: [{try: []}]", "spec.steps[0].try: needs at least one operation"},
      {"stepz: []", "spec.stepz: unknown field"},
      {"steps: [{try: [{}]}]", "spec.steps[0].try[0]: names no operation"},
      {"steps: [{try: [{sleep: {duration: 1s}, apply: {file: a}}]}]",
       "names more than one operation"},
      {"steps: [{try: [{sleep: {duration: soon}}]}]",
       "spec.steps[0].try[0].sleep.duration: expected a duration such as 15s, got \"soon\""},
      {"steps: [{try: [{sleep: }]}]", "spec.steps[0].try[0].sleep.duration: is required"},
      {"steps: [{try: [{apply: {}}]}]",
       "spec.steps[0].try[0].apply.resource: exactly one of resource and file is required"},
      {"steps: [{try: [{apply: {resource: {kind: Pod}}}]}]", "needs apiVersion and kind"},
      {"steps: [{try: [{apply: {file: 'https://x/y.yaml'}}]}]", "URLs are not supported"},
      {"steps: [{try: [{assert: {resource: {(a ==): 1}}}]}]",
       "spec.steps[0].try[0].assert.resource: (a ==): column 5"},
      {"steps: [{try: [{assert: {file: a, outputs: []}}]}]",
       "spec.steps[0].try[0].assert.outputs: unknown field"},
      {"steps: [{try: [{create: {file: a, subresource: log}}]}]",
       "spec.steps[0].try[0].create.subresource: must be binding or eviction, is log"},
      {"steps: [{try: [{proxy: {}}]}]", "spec.steps[0].try[0].proxy: is not supported"},
      {"steps: [{use: {template: a.yaml}, try: [{sleep: {duration: 1s}}]}]",
       "spec.steps[0].use.template: a step with use cannot have operations"},
      {"steps: [{use: {}}]", "spec.steps[0].use.template: is required"},
      {"steps: [{use: {template: none.yaml}}]", "none.yaml"},
      {"steps: [{use: {template: 'https://x/y.yaml'}}]", "URLs are not supported"},
      {"steps: [{catch: [{apply: {file: a}}], try: [{sleep: {duration: 1s}}]}]",
       "spec.steps[0].catch[0].apply: is supported only in try"},
      {"steps: [{try: [{wait: {apiVersion: v1, kind: Pod, for: {}}}]}]",
       "spec.steps[0].try[0].wait.for: exactly one of creation, deletion, condition and jsonPath "
       "is required"},
      {"steps: [{try: [{delete: {ref: {apiVersion: v1}}}]}]",
       "spec.steps[0].try[0].delete.ref.kind: is required"},
      {"skip: maybe\nsteps: [{try: [{sleep: {duration: 1s}}]}]",
       "spec.skip: expected true or false, got \"maybe\""},
      {"compiler: cel\nsteps: [{try: [{sleep: {duration: 1s}}]}]",
       "spec.compiler: only jp is supported, not cel"},
      {"clusters: {}\nsteps: [{try: [{sleep: {duration: 1s}}]}]",
       "spec.clusters: is not supported"},
      {"deletionPropagationPolicy: Now\nsteps: [{try: [{sleep: {duration: 1s}}]}]",
       "spec.deletionPropagationPolicy: must be Background, Foreground or Orphan, is Now"},
  };
  for (const auto& c : cases) {
    const auto tests = parseTests(testWith(c.spec), "chainsaw-test.yaml");
    ASSERT_FALSE(tests) << c.spec;
    EXPECT_NE(tests.error().message.find(c.problem), std::string::npos)
        << "expected: " << c.problem << "\ngot: " << tests.error().message;
  }
  const auto wrongKind = parseTests("apiVersion: v1\nkind: Pod\nmetadata: {}", "f");
  ASSERT_FALSE(wrongKind);
  EXPECT_EQ(wrongKind.error().message,
            "f:1: apiVersion: must be chainsaw.kyverno.io/v1alpha1, is v1\n"
            "f:2: kind: must be Test, is Pod\nf:3: metadata.name: is required\n"
            "f:1: spec.steps: needs at least one step");
}

// A folder that is removed with the test, no matter how it ends.
struct Folder {
  std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("scenarios-" + std::to_string(::getpid()));
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(TestFileTest, AStepTemplateIsPutIn) {
  const Folder folder;
  const auto& root = folder.path;
  std::filesystem::create_directories(root / "test");
  std::ofstream(root / "pause.yaml")
      << "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: StepTemplate\nmetadata: {name: pause}\n"
         "spec:\n  bindings: [{name: a, value: 1}, {name: b, value: ($a)}]\n"
         "  timeouts: {apply: 1s, exec: 2s}\n"
         "  try:\n  - sleep: {duration: 1s}\n  catch:\n  - events: {}\n";
  const auto file = root / "test/chainsaw-test.yaml";
  const auto tests = parseTests(
      testWith("steps:\n- name: s\n  timeouts: {exec: 9s}\n  use: {template: ../pause.yaml, with: "
               "{bindings: [{name: a, value: 2}]}}"),
      file);
  ASSERT_TRUE(tests) << tests.error().message;
  const Step& step = tests->at(0).steps.at(0);
  EXPECT_EQ(step.name, "s");
  ASSERT_EQ(step.bindings.size(), 2U);
  EXPECT_EQ(step.bindings[0].name, "a");
  EXPECT_EQ(toJson(step.bindings[0].value), "2");
  EXPECT_EQ(step.bindings[1].name, "b");
  EXPECT_EQ(step.timeouts.apply, 1s);
  EXPECT_EQ(step.timeouts.exec, 9s);
  EXPECT_EQ(step.catch_.size(), 1U);
  EXPECT_EQ(step.try_.at(0).place, (root / "pause.yaml").string() + ":8");

  std::ofstream(root / "pause.yaml")
      << "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: StepTemplate\nmetadata: {name: pause}\n"
         "spec:\n  use: {template: other.yaml}\n  try: []\n";
  const auto broken = parseTests(testWith("steps: [{use: {template: ../pause.yaml}}]"), file);
  ASSERT_FALSE(broken);
  for (const char* problem : {"chainsaw-test.yaml:5: spec.steps[0].use.template: ",
                              "pause.yaml:5: spec.use: unknown field",
                              "pause.yaml:6: spec.try: needs at least one operation"})
    EXPECT_NE(broken.error().message.find(problem), std::string::npos)
        << "expected: " << problem << "\ngot: " << broken.error().message;
}

TEST(TestFileTest, FilesAreFoundAndResourcesRead) {
  const Folder folder;
  const auto& root = folder.path;
  std::filesystem::create_directories(root / "b/objects");
  std::filesystem::create_directories(root / "a");
  std::ofstream(root / "b/chainsaw-test.yaml") << "x";
  std::ofstream(root / "a/chainsaw-test.yml") << "x";
  std::ofstream(root / "a/other.yaml") << "x";
  std::ofstream(root / "b/objects/2.yaml") << "kind: List\nitems: [{a: 2}, {a: 3}]\n";
  std::ofstream(root / "b/objects/1.yaml") << "a: 0\n---\na: 1\n";
  std::ofstream(root / "b/empty.yaml") << "";

  const auto files = findTestFiles({root.string()});
  ASSERT_TRUE(files);
  EXPECT_EQ(*files, (std::vector{root / "a/chainsaw-test.yml", root / "b/chainsaw-test.yaml"}));
  EXPECT_FALSE(findTestFiles({(root / "none").string()}));
  EXPECT_FALSE(findTestFiles({(root / "b/objects").string()}));

  const auto resources = readResources(root / "b", "objects/*.yaml");
  ASSERT_TRUE(resources) << resources.error().message;
  ASSERT_EQ(resources->size(), 4U);
  EXPECT_EQ(toJson((*resources)[3]), R"({"a":3})");
  EXPECT_FALSE(readResources(root / "b", "objects/*.json"));
  EXPECT_FALSE(readResources(root / "b", "missing.yaml"));
  EXPECT_EQ(readResources(root / "b", "empty.yaml").error().message,
            (root / "b/empty.yaml").string() + ": contains no object");
  std::ofstream(root / "b/scalar.yaml") << "kind: List\nitems: [7]\n";
  EXPECT_EQ(readResources(root / "b", "scalar.yaml").error().message,
            (root / "b/scalar.yaml").string() + ": contains a document that is not an object");
}

TEST(TestFileTest, AFolderThatCannotBeReadIsNoFolderWithoutTests) {
  const Folder folder;
  for (const char* name : {"a", "locked", "z"}) {
    std::filesystem::create_directories(folder.path / name);
    std::ofstream(folder.path / name / "chainsaw-test.yaml") << "x";
  }
  ASSERT_EQ(findTestFiles({folder.path.string()})->size(), 3U);
  std::filesystem::permissions(folder.path / "locked", std::filesystem::perms::none);
  const bool root = ::geteuid() == 0;  // root may read everything
  if (root) {
    ASSERT_EQ(::seteuid(65'534), 0);
  }
  const auto files = findTestFiles({folder.path.string()});
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  std::filesystem::permissions(folder.path / "locked", std::filesystem::perms::owner_all);
  ASSERT_FALSE(files) << files->size() << " files";
  EXPECT_EQ(files.error().code, ErrorCode::Io);
}

}  // namespace
}  // namespace koord::scenario
