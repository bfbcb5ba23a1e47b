#include "scenario/test_file.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/fields.h"
#include "base/file.h"
#include "base/yaml.h"
#include "scenario/operation_reader.h"
#include "scenario/source_lines.h"

namespace koord::scenario {
namespace {

constexpr std::string_view kApiVersion = "chainsaw.kyverno.io/v1alpha1";

using Errors = std::vector<std::string>;  // "path: what", as Fields notes them

Timeouts readTimeouts(Fields fields) {
  Timeouts timeouts;
  timeouts.apply = optionalDuration(fields, "apply");
  timeouts.assert = optionalDuration(fields, "assert");
  timeouts.cleanup = optionalDuration(fields, "cleanup");
  timeouts.delete_ = optionalDuration(fields, "delete");
  timeouts.error = optionalDuration(fields, "error");
  timeouts.exec = optionalDuration(fields, "exec");
  fields.refuseUnknown();
  return timeouts;
}

std::vector<Operation> readBlock(Fields& fields, std::string_view key, bool gatheringOnly) {
  std::vector<Operation> operations;
  for (auto& item : fields.list(key))
    operations.push_back(readOperation(std::move(item), gatheringOnly));
  return operations;
}

using PlaceOf = std::function<std::string(const std::string& field)>;

// All errors, one per line, each after the position of its field ("chainsaw-test.yaml:3").
std::unexpected<Error> failWith(const Errors& errors, const PlaceOf& place) {
  std::string text;
  for (const auto& error : errors)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n",
                        place(error.substr(0, error.find(": "))), error);
  return fail(ErrorCode::Invalid, std::move(text));
}

// Sets missing positions: operations of a template have positions in its file.
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
  if (!apiVersion.empty() && apiVersion != kApiVersion)
    fields.error("apiVersion", fmt::format("must be {}, is {}", kApiVersion, apiVersion));
  if (!kind.empty() && kind != expected)
    fields.error("kind", fmt::format("must be {}, is {}", expected, kind));
}

// The common fields of a step and a step template.
Step readStepSpec(Fields& fields) {
  refuseUnsupported(fields, {"cluster", "clusters"});
  checkCompiler(fields);
  Step step;
  step.description = fields.text("description");
  step.timeouts = readTimeouts(fields.object("timeouts"));
  step.skipDelete = optionalBoolean(fields, "skipDelete");
  step.render = optionalBoolean(fields, "template");
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
  Errors errors;
  Fields head(&*document, "", errors);
  checkHead(head, "StepTemplate");
  head.raw("metadata");
  Fields fields = head.object("spec");
  Step step = readStepSpec(fields);
  if (step.try_.empty()) fields.error("try", "needs at least one operation");
  fields.refuseUnknown();
  head.refuseUnknown();
  const SourceLines lines(*text);
  const PlaceOf place = [&](const std::string& field) {
    return fmt::format("{}:{}", file.string(), lines.lineOf(0, field));
  };
  if (!errors.empty()) return failWith(errors, place);
  setPlaces(step, place);
  return step;
}

bool isNamed(const std::vector<Binding>& list, const std::string& name) {
  return std::ranges::find(list, name, &Binding::name) != list.end();
}

// `use`: the step uses a template. Bindings in `with` override the template's own, which are
// defaults.
void useTemplate(Fields& use, const std::filesystem::path& folder, Step& step) {
  const auto path = use.required("template");
  Fields with = use.object("with");
  const auto given = readBindings(with, "bindings");
  with.refuseUnknown();
  use.refuseUnknown();
  if (path.empty()) return;
  if (path.find("://") != std::string::npos) {
    use.error("template", "URLs are not supported; keep the template with the tests");
    return;
  }
  if (!step.try_.empty() || !step.catch_.empty() || !step.finally.empty() ||
      !step.cleanup.empty()) {
    use.error("template", "a step with use cannot have operations");
    return;
  }
  auto used = readTemplate((folder / path).lexically_normal());
  if (!used) {
    use.error("template", used.error().message);
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

Step readStep(Fields fields, const std::filesystem::path& folder) {
  Step step = readStepSpec(fields);
  step.name = fields.text("name");
  if (fields.has("use")) {
    Fields use = fields.object("use");
    useTemplate(use, folder, step);
  } else if (step.try_.empty()) {
    fields.error("try", "needs at least one operation");
  }
  fields.refuseUnknown();
  return step;
}

void readSpec(Fields fields, Test& test) {
  refuseUnsupported(fields, {"cluster", "clusters", "forceTerminationGracePeriod"});
  checkCompiler(fields, "compiler");
  checkCompiler(fields, "namespaceTemplateCompiler");
  test.description = fields.text("description");
  test.failFast = fields.boolean("failFast", false);
  test.timeouts = readTimeouts(fields.object("timeouts"));
  test.skip = fields.boolean("skip", false);
  test.concurrent = fields.boolean("concurrent", true);
  test.skipDelete = fields.boolean("skipDelete", false);
  test.render = fields.boolean("template", true);
  test.namespace_ = fields.text("namespace");
  test.fastNamespaceDeletion = fields.boolean("fastNamespaceDeletion", false);
  if (const auto* shape = fields.raw("namespaceTemplate")) test.namespaceTemplate = *shape;
  test.delayBeforeCleanup = optionalDuration(fields, "delayBeforeCleanup").value_or(Duration{});
  if (auto policy = readPropagationPolicy(fields); !policy.empty()) test.propagationPolicy = policy;
  for (auto& inputs : fields.list("scenarios")) {
    Inputs set;
    set.name = inputs.text("name");
    set.bindings = readBindings(inputs, "bindings");
    inputs.refuseUnknown();
    test.inputs.push_back(std::move(set));
  }
  test.bindings = readBindings(fields, "bindings");
  for (auto& step : fields.list("steps"))
    test.steps.push_back(readStep(std::move(step), test.folder()));
  if (test.steps.empty()) fields.error("steps", "needs at least one step");
  test.catch_ = readBlock(fields, "catch", true);
  fields.refuseUnknown();
}

Result<Test> readTest(const json::value& document, const std::filesystem::path& file,
                      const PlaceOf& place) {
  Errors errors;
  Test test;
  test.file = file;
  Fields fields(&document, "", errors);
  checkHead(fields, "Test");
  if (const auto* metadata = fields.raw("metadata")) test.metadata = *metadata;
  test.name = textAt(document, "metadata", "name");
  if (test.name.empty()) fields.error("metadata.name", "is required");
  readSpec(fields.object("spec"), test);
  fields.refuseUnknown();
  if (!errors.empty()) return failWith(errors, place);
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
    // An iterator that fails becomes the end iterator.
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
