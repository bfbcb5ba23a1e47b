#include "cluster/scenario/test_file.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/file.h"
#include "base/yaml.h"
#include "cluster/scenario/fields.h"
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

using PlaceOf = std::function<std::string(const std::string& field)>;

// Those that have no place yet: operations of a template are in its file.
void setPlaces(std::vector<Operation>& operations, const PlaceOf& place) {
  for (auto& operation : operations)
    if (operation.place.empty()) operation.place = place(operation.field);
}

void setPlaces(Step& step, const PlaceOf& place) {
  for (auto* block : {&step.try_, &step.catch_, &step.finally, &step.cleanup})
    setPlaces(*block, place);
}

void checkHead(Fields& fields, std::string_view expected) {
  const auto apiVersion = fields.required("apiVersion");
  const auto kind = fields.required("kind");
  if (!apiVersion.empty() && apiVersion != kApiVersion) {
    fields.problems().add("apiVersion", fmt::format("must be {}, is {}", kApiVersion, apiVersion));
  }
  if (!kind.empty() && kind != expected)
    fields.problems().add("kind", fmt::format("must be {}, is {}", expected, kind));
}

// What a step and a step template have in common.
Step readStepSpec(Fields& fields) {
  Problems& problems = fields.problems();
  fields.unsupported({"cluster", "clusters"});
  checkCompiler(fields);
  Step step;
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
  return step;
}

// The spec of a StepTemplate.
Result<Step> readTemplate(const std::filesystem::path& file) {
  const auto text = readFile(file.string());
  if (!text) return fail(text.error());
  const auto document = parseYaml(*text);
  if (!document) return fail(Error(document.error()).within(file.string()));
  Problems problems;
  Fields head(*document, "", problems);
  checkHead(head, "StepTemplate");
  head.take("metadata");
  const auto* spec = head.take("spec");
  const json::value none;
  Fields fields(spec ? *spec : none, "spec", problems);
  Step step = readStepSpec(fields);
  if (step.try_.empty()) problems.add("spec.try", "needs at least one operation");
  fields.finish();
  head.finish();
  const SourceLines lines(*text);
  const PlaceOf place = [&](const std::string& field) {
    return fmt::format("{}:{}", file.string(), lines.lineOf(0, field));
  };
  if (!problems.empty()) return fail(ErrorCode::Invalid, problems.text(place));
  setPlaces(step, place);
  return step;
}

bool isNamed(const std::vector<Binding>& list, const std::string& name) {
  return std::ranges::find(list, name, &Binding::name) != list.end();
}

// `use`: the step does what a template says. Bindings given `with` it take the place of the
// template's own, which are defaults.
void useTemplate(Fields& use, const std::filesystem::path& folder, Step& step) {
  const auto path = use.required("template");
  std::vector<Binding> given;
  if (const auto* with = use.take("with")) {
    Fields inner(*with, use.pathOf("with"), use.problems());
    given = readBindings(inner, "bindings");
    inner.finish();
  }
  use.finish();
  if (path.empty()) return;
  if (path.find("://") != std::string::npos) {
    use.problems().add(use.pathOf("template"),
                       "URLs are not supported; keep the template with the tests");
    return;
  }
  if (!step.try_.empty() || !step.catch_.empty() || !step.finally.empty() ||
      !step.cleanup.empty()) {
    use.problems().add(use.pathOf("template"), "a step with use has no operations of its own");
    return;
  }
  auto used = readTemplate((folder / path).lexically_normal());
  if (!used) {
    use.problems().add(use.pathOf("template"), used.error().message);
    return;
  }
  step.bindings.insert(step.bindings.end(), given.begin(), given.end());
  for (auto& binding : used->bindings)
    if (!isNamed(given, binding.name)) step.bindings.push_back(std::move(binding));
  step.try_ = std::move(used->try_);
  step.catch_ = std::move(used->catch_);
  step.finally = std::move(used->finally);
  step.cleanup = std::move(used->cleanup);
  step.timeouts = over(used->timeouts, step.timeouts);
  if (!step.skipDelete) step.skipDelete = used->skipDelete;
  if (!step.render) step.render = used->render;
  if (step.propagationPolicy.empty()) step.propagationPolicy = used->propagationPolicy;
  if (step.description.empty()) step.description = used->description;
}

Step readStep(const json::value& value, const std::string& path,
              const std::filesystem::path& folder, Problems& problems) {
  Fields fields(value, path, problems);
  Step step = readStepSpec(fields);
  step.name = fields.text("name").value_or("");
  if (const auto* use = fields.take("use")) {
    Fields inner(*use, fields.pathOf("use"), problems);
    useTemplate(inner, folder, step);
  } else if (step.try_.empty()) {
    problems.add(fields.pathOf("try"), "needs at least one operation");
  }
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
    test.steps.push_back(readStep(*item, path, test.folder(), problems));
  }
  if (test.steps.empty()) problems.add("spec.steps", "needs at least one step");
  test.catch_ = readBlock(fields, "catch", true);
  fields.finish();
}

Result<Test> readTest(const json::value& document, const std::filesystem::path& file,
                      const PlaceOf& place) {
  Problems problems;
  Test test;
  test.file = file;
  Fields fields(document, "", problems);
  checkHead(fields, "Test");
  if (const auto* metadata = fields.take("metadata")) test.metadata = *metadata;
  test.name = textAt(document, "metadata", "name");
  if (test.name.empty()) problems.add("metadata.name", "is required");
  const auto* spec = fields.take("spec");
  readSpec(spec ? *spec : json::value(nullptr), test, problems);
  fields.finish();
  if (!problems.empty()) return fail(ErrorCode::Invalid, problems.text(place));
  setPlaces(test.catch_, place);
  for (auto& step : test.steps) setPlaces(step, place);
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

Timeouts over(const Timeouts& base, const Timeouts& more) {
  Timeouts result = base;
  const std::pair<const std::optional<Duration>*, std::optional<Duration>*> fields[] = {
      {&more.apply, &result.apply},     {&more.assert, &result.assert},
      {&more.cleanup, &result.cleanup}, {&more.delete_, &result.delete_},
      {&more.error, &result.error},     {&more.exec, &result.exec}};
  for (const auto& [from, to] : fields) {
    if (*from) *to = *from;
  }
  return result;
}

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
    for (const std::filesystem::recursive_directory_iterator end; it != end; it.increment(ec))
      if (isTestFile(it->path())) result.push_back(it->path());
    // An iterator that fails is at its end.
    if (ec) return fail(ErrorCode::Io, fmt::format("{}: {}", path, ec.message()));
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
