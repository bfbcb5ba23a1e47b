#include "cluster/scenario/test_file.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/file.h"
#include "base/yaml.h"
#include "cluster/scenario/fields.h"
#include "cluster/scenario/jmespath.h"
#include "cluster/scenario/operation_reader.h"
#include "cluster/scenario/source_lines.h"

namespace koord::scenario {
namespace {

constexpr std::string_view kApiVersion = "chainsaw.kyverno.io/v1alpha1";

Timeouts readTimeouts(const json::value& value, const std::string& path, Problems& problems) {
  Fields fields(value, path, problems);
  Timeouts timeouts;
  timeouts.apply = fields.duration("apply");
  timeouts.assert = fields.duration("assert");
  timeouts.cleanup = fields.duration("cleanup");
  timeouts.delete_ = fields.duration("delete");
  timeouts.error = fields.duration("error");
  timeouts.exec = fields.duration("exec");
  fields.finish();
  return timeouts;
}

std::vector<Operation> readBlock(Fields& fields, std::string_view key, bool gatheringOnly) {
  std::vector<Operation> operations;
  for (const auto& [item, path] : fields.items(key)) {
    operations.push_back(readOperation(*item, path, gatheringOnly, fields.problems()));
  }
  return operations;
}

Step readStep(const json::value& value, const std::string& path, Problems& problems) {
  Fields fields(value, path, problems);
  fields.unsupported({"use", "cluster", "clusters"});
  checkCompiler(fields);
  Step step;
  step.name = fields.text("name").value_or("");
  step.description = fields.text("description").value_or("");
  if (const auto* timeouts = fields.take("timeouts")) {
    step.timeouts = readTimeouts(*timeouts, fields.pathOf("timeouts"), problems);
  }
  step.skipDelete = fields.boolean("skipDelete");
  step.render = fields.boolean("template");
  step.propagationPolicy = readPropagationPolicy(fields);
  step.bindings = readBindings(fields, "bindings");
  step.try_ = readBlock(fields, "try", false);
  step.catch_ = readBlock(fields, "catch", true);
  step.finally = readBlock(fields, "finally", true);
  step.cleanup = readBlock(fields, "cleanup", true);
  if (step.try_.empty()) problems.add(fields.pathOf("try"), "needs at least one operation");
  fields.finish();
  return step;
}

void readSpec(const json::value& value, Test& test, Problems& problems) {
  Fields fields(value, "spec", problems);
  fields.unsupported({"cluster", "clusters", "forceTerminationGracePeriod"});
  checkCompiler(fields, "compiler");
  checkCompiler(fields, "namespaceTemplateCompiler");
  test.description = fields.text("description").value_or("");
  test.failFast = fields.boolean("failFast").value_or(false);
  if (const auto* timeouts = fields.take("timeouts")) {
    test.timeouts = readTimeouts(*timeouts, fields.pathOf("timeouts"), problems);
  }
  test.skip = fields.boolean("skip").value_or(false);
  test.concurrent = fields.boolean("concurrent").value_or(true);
  test.skipDelete = fields.boolean("skipDelete").value_or(false);
  test.render = fields.boolean("template").value_or(true);
  test.namespace_ = fields.text("namespace").value_or("");
  test.fastNamespaceDeletion = fields.boolean("fastNamespaceDeletion").value_or(false);
  if (const auto* shape = fields.take("namespaceTemplate")) test.namespaceTemplate = *shape;
  test.delayBeforeCleanup = fields.duration("delayBeforeCleanup").value_or(Duration{});
  if (auto policy = readPropagationPolicy(fields); !policy.empty()) test.propagationPolicy = policy;
  for (const auto& [item, path] : fields.items("scenarios")) {
    Fields inputs(*item, path, problems);
    Inputs set;
    set.name = inputs.text("name").value_or("");
    set.bindings = readBindings(inputs, "bindings");
    inputs.finish();
    test.inputs.push_back(std::move(set));
  }
  test.bindings = readBindings(fields, "bindings");
  for (const auto& [item, path] : fields.items("steps")) {
    test.steps.push_back(readStep(*item, path, problems));
  }
  if (test.steps.empty()) problems.add("spec.steps", "needs at least one step");
  test.catch_ = readBlock(fields, "catch", true);
  fields.finish();
}

using PlaceOf = std::function<std::string(const std::string& field)>;

void setPlaces(std::vector<Operation>& operations, const PlaceOf& place) {
  for (auto& operation : operations) operation.place = place(operation.field);
}

Result<Test> readTest(const json::value& document, const std::filesystem::path& file,
                      const PlaceOf& place) {
  Problems problems;
  Test test;
  test.file = file;
  Fields fields(document, "", problems);
  const auto apiVersion = fields.required("apiVersion");
  const auto kind = fields.required("kind");
  if (!apiVersion.empty() && apiVersion != kApiVersion) {
    problems.add("apiVersion", fmt::format("must be {}, is {}", kApiVersion, apiVersion));
  }
  if (!kind.empty() && kind != "Test")
    problems.add("kind", fmt::format("must be Test, is {}", kind));
  if (const auto* metadata = fields.take("metadata")) test.metadata = *metadata;
  test.name = textAt(document, "metadata", "name");
  if (test.name.empty()) problems.add("metadata.name", "is required");
  const auto* spec = fields.take("spec");
  readSpec(spec ? *spec : json::value(nullptr), test, problems);
  fields.finish();
  if (!problems.empty()) return fail(ErrorCode::Invalid, problems.text(place));
  setPlaces(test.catch_, place);
  for (auto& step : test.steps) {
    for (auto* block : {&step.try_, &step.catch_, &step.finally, &step.cleanup})
      setPlaces(*block, place);
  }
  return test;
}

bool hasProcess(const std::vector<Operation>& operations) {
  return std::any_of(operations.begin(), operations.end(), [](const Operation& operation) {
    return operation.kind == Operation::Kind::Script || operation.kind == Operation::Kind::Command;
  });
}

bool isTestFile(const std::filesystem::path& path) {
  return path.filename() == "chainsaw-test.yaml" || path.filename() == "chainsaw-test.yml";
}

}  // namespace

bool Test::hasProcesses() const {
  return hasProcess(catch_) || std::any_of(steps.begin(), steps.end(), [](const Step& step) {
           return hasProcess(step.try_) || hasProcess(step.catch_) || hasProcess(step.finally) ||
                  hasProcess(step.cleanup);
         });
}

Result<std::vector<Test>> parseTests(std::string_view yaml, const std::filesystem::path& file) {
  const auto documents = parseYamlDocuments(yaml);
  if (!documents) return fail(Error(documents.error()).within(file.string()));
  std::vector<Test> tests;
  const SourceLines lines(yaml);
  for (std::size_t i = 0; i < documents->size(); ++i) {
    auto test = readTest((*documents)[i], file, [&](const std::string& field) {
      return fmt::format("{}:{}", file.string(), lines.lineOf(i, field));
    });
    if (!test) return fail(std::move(test.error()));
    tests.push_back(*std::move(test));
  }
  return tests;
}

Result<std::vector<Test>> readTestFile(const std::filesystem::path& file) {
  const auto text = readFile(file.string());
  if (!text) return fail(text.error());
  return parseTests(*text, file);
}

Result<std::vector<std::filesystem::path>> findTestFiles(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> result;
  for (const auto& path : paths) {
    std::error_code ec;
    if (std::filesystem::is_regular_file(path, ec)) {
      result.emplace_back(path);
      continue;
    }
    std::filesystem::recursive_directory_iterator it(path, ec);
    if (ec) return fail(ErrorCode::NotFound, fmt::format("{}: {}", path, ec.message()));
    const std::size_t before = result.size();
    for (const std::filesystem::recursive_directory_iterator end; it != end; it.increment(ec)) {
      if (ec) return fail(ErrorCode::Io, fmt::format("{}: {}", path, ec.message()));
      if (isTestFile(it->path())) result.push_back(it->path());
    }
    if (result.size() == before) {
      return fail(ErrorCode::NotFound,
                  fmt::format("{}: there is no chainsaw-test.yaml below", path));
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace koord::scenario
