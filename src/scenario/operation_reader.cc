#include "scenario/operation_reader.h"

#include <array>

#include <fmt/format.h>

namespace koord::scenario {
namespace {

using Kind = Operation::Kind;

struct KindEntry {
  std::string_view field;
  Kind kind;
  std::string_view name;
  bool gathering;  // allowed in catch, finally and cleanup
};

constexpr std::array kKinds = {
    KindEntry{"apply", Kind::Apply, "APPLY", false},
    KindEntry{"create", Kind::Create, "CREATE", false},
    KindEntry{"update", Kind::Update, "UPDATE", false},
    KindEntry{"patch", Kind::Patch, "PATCH", false},
    KindEntry{"delete", Kind::Delete, "DELETE", true},
    KindEntry{"assert", Kind::Assert, "ASSERT", false},
    KindEntry{"error", Kind::Error, "ERROR", false},
    KindEntry{"wait", Kind::Wait, "WAIT", true},
    KindEntry{"sleep", Kind::Sleep, "SLEEP", true},
    KindEntry{"script", Kind::Script, "SCRIPT", true},
    KindEntry{"command", Kind::Command, "COMMAND", true},
    KindEntry{"describe", Kind::Describe, "DESCRIBE", true},
    KindEntry{"get", Kind::Get, "GET", true},
    KindEntry{"events", Kind::Events, "EVENTS", true},
    KindEntry{"podLogs", Kind::PodLogs, "POD LOGS", true},
};

bool isProcess(Kind kind) {
  return kind == Kind::Script || kind == Kind::Command;
}
bool takesResources(Kind kind) {
  return kind == Kind::Apply || kind == Kind::Create || kind == Kind::Update ||
         kind == Kind::Patch || kind == Kind::Assert || kind == Kind::Error;
}
bool takesExpectations(Kind kind) {
  return kind == Kind::Delete ||
         (takesResources(kind) && kind != Kind::Assert && kind != Kind::Error);
}

std::optional<AssertionTree> readTree(Fields& fields, std::string_view key) {
  const auto* value = fields.raw(key);
  if (!value) return std::nullopt;
  auto tree = AssertionTree::parse(*value);
  if (tree) return *std::move(tree);
  fields.error(key, tree.error().message);
  return std::nullopt;
}

Binding readBinding(Fields& fields) {
  Binding binding;
  binding.name = fields.required("name");
  checkCompiler(fields);
  const auto* value = fields.raw("value");
  if (value) binding.value = *value;
  if (!value && !fields.has("value")) binding.value = nullptr;
  return binding;
}

void readResources(Fields& fields, Operation& operation) {
  operation.file = fields.text("file");
  if (const auto* resource = fields.raw("resource")) operation.resource = *resource;
  if (operation.file.find("://") != std::string::npos) {
    fields.error("file", "URLs are not supported; keep the file with the test");
  }
  if (operation.file.empty() == !operation.resource.has_value()) {
    fields.error("resource", "exactly one of resource and file is required");
    return;
  }
  if (!operation.resource) return;
  const bool assertion = operation.kind == Kind::Assert || operation.kind == Kind::Error;
  if (assertion) {
    if (auto tree = AssertionTree::parse(*operation.resource); !tree) {
      fields.error("resource", tree.error().message);
    }
  } else if (textAt(*operation.resource, "apiVersion").empty() ||
             textAt(*operation.resource, "kind").empty()) {
    fields.error("resource", "needs apiVersion and kind");
  }
}

void readExpectations(Fields& fields, Operation& operation) {
  for (auto& inner : fields.list("expect")) {
    Expectation expectation;
    expectation.match = readTree(inner, "match");
    auto check = readTree(inner, "check");
    if (!inner.has("check")) inner.error("check", "is required");
    if (check) expectation.check = *std::move(check);
    inner.refuseUnknown();
    operation.expect.push_back(std::move(expectation));
  }
}

void readOutputs(Fields& fields, Operation& operation) {
  for (auto& inner : fields.list("outputs")) {
    Output output;
    output.match = readTree(inner, "match");
    output.binding = readBinding(inner);
    inner.refuseUnknown();
    operation.outputs.push_back(std::move(output));
  }
}

void readSelection(Fields& fields, Operation& operation) {
  Selection& selection = operation.selection;
  const bool typed = operation.kind != Kind::Events && operation.kind != Kind::PodLogs;
  if (typed) {
    selection.apiVersion = fields.required("apiVersion");
    selection.kind = fields.required("kind");
  }
  selection.namespace_ = fields.text("namespace");
  selection.name = fields.text("name");
  selection.labelSelector = fields.text("selector");
  if (!selection.name.empty() && !selection.labelSelector.empty()) {
    fields.error("selector", "must not be given together with name");
  }
}

void readReference(Fields fields, Operation& operation) {
  Selection& selection = operation.selection;
  selection.apiVersion = fields.required("apiVersion");
  selection.kind = fields.required("kind");
  selection.namespace_ = fields.text("namespace");
  selection.name = fields.text("name");
  for (const auto& [key, value] : fields.textsByName("labels"))
    selection.labelSelector +=
        fmt::format("{}{}={}", selection.labelSelector.empty() ? "" : ",", key, value);
  fields.refuseUnknown();
}

void readWait(Fields& fields, Operation& operation) {
  if (!fields.has("for")) {
    fields.error("for", "is required");
    return;
  }
  Fields outer = fields.object("for");
  int given = 0;
  if (outer.raw("creation")) ++given;
  if (outer.raw("deletion")) {
    operation.wait.kind = WaitFor::Kind::Deletion;
    ++given;
  }
  if (outer.has("condition")) {
    Fields inner = outer.object("condition");
    operation.wait = {WaitFor::Kind::Condition, inner.required("name"),
                      optionalText(inner, "value")};
    inner.refuseUnknown();
    ++given;
  }
  if (outer.has("jsonPath")) {
    Fields inner = outer.object("jsonPath");
    operation.wait = {WaitFor::Kind::JsonPath, inner.required("path"),
                      optionalText(inner, "value")};
    inner.refuseUnknown();
    ++given;
  }
  if (given != 1) {
    outer.error("", "exactly one of creation, deletion, condition and jsonPath is required");
  }
  outer.refuseUnknown();
}

void readProcess(Fields& fields, Operation& operation) {
  Process& process = operation.process;
  if (operation.kind == Kind::Script) {
    process.script = true;
    process.content = fields.required("content");
    process.shell = fields.text("shell", "sh");
    if (fields.has("shellArgs")) process.shellArguments = fields.texts("shellArgs");
  } else {
    process.entrypoint = fields.required("entrypoint");
    process.arguments = fields.texts("args");
  }
  process.workDir = fields.text("workDir");
  process.environment = readBindings(fields, "env");
  process.hideOutput = fields.boolean("skipLogOutput", false);
  process.hideCommand = fields.boolean("skipCommandOutput", false);
  operation.check = readTree(fields, "check");
}

void readBody(Fields fields, Operation& operation) {
  const Kind kind = operation.kind;
  if (kind == Kind::Sleep) {
    if (!fields.has("duration")) fields.error("duration", "is required");
    operation.duration = optionalDuration(fields, "duration").value_or(Duration{});
    fields.refuseUnknown();
    return;
  }
  refuseUnsupported(fields, {"cluster", "clusters"});
  operation.timeout = optionalDuration(fields, "timeout");
  if (takesResources(kind) || isProcess(kind) || kind == Kind::Delete) {
    operation.bindings = readBindings(fields, "bindings");
  }
  if (takesResources(kind)) {
    operation.render = optionalBoolean(fields, "template");
    readResources(fields, operation);
  }
  if (takesExpectations(kind)) readExpectations(fields, operation);
  if (takesExpectations(kind) && kind != Kind::Delete) {
    operation.dryRun = fields.boolean("dryRun", false);
  }
  if ((takesExpectations(kind) && kind != Kind::Delete) || isProcess(kind)) {
    readOutputs(fields, operation);
  }
  if (kind == Kind::Patch || kind == Kind::Create)
    operation.subresource = fields.text("subresource");
  if (kind == Kind::Create && !operation.subresource.empty() &&
      operation.subresource != "binding" && operation.subresource != "eviction") {
    fields.error("subresource",
                 fmt::format("must be binding or eviction, is {}", operation.subresource));
  }
  if (isProcess(kind)) readProcess(fields, operation);
  if (kind == Kind::Delete) {
    operation.render = optionalBoolean(fields, "template");
    operation.propagationPolicy = readPropagationPolicy(fields);
    operation.file = fields.text("file");
    const bool byReference = fields.has("ref");
    if (operation.file.empty() == !byReference)
      fields.error("ref", "exactly one of ref and file is required");
    if (byReference) readReference(fields.object("ref"), operation);
  }
  if (kind == Kind::Wait || kind == Kind::Describe || kind == Kind::Get || kind == Kind::Events ||
      kind == Kind::PodLogs) {
    readSelection(fields, operation);
  }
  if (kind == Kind::Wait || kind == Kind::Get || kind == Kind::Events) fields.raw("format");
  if (kind == Kind::Wait) readWait(fields, operation);
  if (kind == Kind::Describe) operation.showEvents = fields.boolean("showEvents", true);
  if (kind == Kind::PodLogs) {
    operation.container = fields.text("container");
    if (fields.has("tail")) operation.tail = fields.integer("tail", 0, INT64_MIN, INT64_MAX);
  }
  fields.refuseUnknown();
}

}  // namespace

std::string_view nameOf(Operation::Kind kind) {
  for (const auto& entry : kKinds) {
    if (entry.kind == kind) return entry.name;
  }
  return "";
}

std::vector<Binding> readBindings(Fields& fields, std::string_view key) {
  std::vector<Binding> bindings;
  for (auto& inner : fields.list(key)) {
    bindings.push_back(readBinding(inner));
    inner.refuseUnknown();
  }
  return bindings;
}

std::string readPropagationPolicy(Fields& fields) {
  const auto policy = fields.text("deletionPropagationPolicy");
  if (!policy.empty() && policy != "Background" && policy != "Foreground" && policy != "Orphan") {
    fields.error("deletionPropagationPolicy",
                 fmt::format("must be Background, Foreground or Orphan, is {}", policy));
  }
  return policy;
}

void checkCompiler(Fields& fields, std::string_view key) {
  const auto compiler = fields.text(key, "jp");
  if (compiler != "jp") {
    fields.error(key, fmt::format("only jp is supported, not {}", compiler));
  }
}

void refuseUnsupported(Fields& fields, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    if (fields.raw(key)) fields.error(key, "is not supported");
}

std::optional<bool> optionalBoolean(Fields& fields, std::string_view key) {
  const bool given = fields.has(key);
  const bool value = fields.boolean(key, false);
  return given ? std::optional(value) : std::nullopt;
}

std::optional<std::string> optionalText(Fields& fields, std::string_view key) {
  const bool given = fields.has(key);
  auto value = fields.text(key);
  return given ? std::optional(std::move(value)) : std::nullopt;
}

std::optional<Duration> optionalDuration(Fields& fields, std::string_view key) {
  const bool given = fields.has(key);
  const Duration value = fields.duration(key, Duration{});
  if (value < Duration{}) fields.error(key, "must not be negative");
  return given ? std::optional(value) : std::nullopt;
}

Operation readOperation(Fields fields, bool gatheringOnly) {
  Operation operation;
  operation.field = fields.path();
  operation.description = fields.text("description");
  checkCompiler(fields);
  if (!gatheringOnly) operation.continueOnError = fields.boolean("continueOnError", false);
  refuseUnsupported(fields, {"proxy"});
  int given = 0;
  for (const auto& entry : kKinds) {
    // "sleep:" without members counts, too.
    if (!fields.names(entry.field)) continue;
    Fields body = fields.object(entry.field);
    ++given;
    if (gatheringOnly && !entry.gathering) {
      fields.error(entry.field, "is supported only in try");
      continue;
    }
    operation.kind = entry.kind;
    operation.field = body.path();
    readBody(std::move(body), operation);
  }
  if (given != 1 && !fields.has("proxy"))
    fields.error("", given == 0 ? "names no operation" : "names more than one operation");
  fields.refuseUnknown();
  return operation;
}

}  // namespace koord::scenario
