#include "cluster/scenario/operation_reader.h"

#include <array>

#include <fmt/format.h>

#include "cluster/scenario/jmespath_values.h"

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
  const auto* value = fields.take(key);
  if (!value) return std::nullopt;
  auto tree = AssertionTree::parse(*value);
  if (tree) return *std::move(tree);
  fields.problems().add(fields.pathOf(key), tree.error().message);
  return std::nullopt;
}

Binding readBinding(Fields& fields) {
  Binding binding;
  binding.name = fields.required("name");
  checkCompiler(fields);
  const auto* value = fields.take("value");
  if (value) binding.value = *value;
  if (!value && !fields.has("value")) binding.value = nullptr;
  return binding;
}

void readResources(Fields& fields, Operation& operation) {
  operation.file = fields.text("file").value_or("");
  if (const auto* resource = fields.take("resource")) operation.resource = *resource;
  if (operation.file.find("://") != std::string::npos) {
    fields.problems().add(fields.pathOf("file"),
                          "URLs are not supported; keep the file with the test");
  }
  if (operation.file.empty() == !operation.resource.has_value()) {
    fields.problems().add(fields.pathOf("resource"), "give either resource or file");
    return;
  }
  if (!operation.resource) return;
  const bool assertion = operation.kind == Kind::Assert || operation.kind == Kind::Error;
  if (assertion) {
    if (auto tree = AssertionTree::parse(*operation.resource); !tree) {
      fields.problems().add(fields.pathOf("resource"), tree.error().message);
    }
  } else if (textAt(*operation.resource, "apiVersion").empty() ||
             textAt(*operation.resource, "kind").empty()) {
    fields.problems().add(fields.pathOf("resource"), "needs apiVersion and kind");
  }
}

void readExpectations(Fields& fields, Operation& operation) {
  for (const auto& [item, path] : fields.items("expect")) {
    Fields inner(*item, path, fields.problems());
    Expectation expectation;
    expectation.match = readTree(inner, "match");
    auto check = readTree(inner, "check");
    if (!inner.has("check")) fields.problems().add(path + ".check", "is required");
    if (check) expectation.check = *std::move(check);
    inner.finish();
    operation.expect.push_back(std::move(expectation));
  }
}

void readOutputs(Fields& fields, Operation& operation) {
  for (const auto& [item, path] : fields.items("outputs")) {
    Fields inner(*item, path, fields.problems());
    Output output;
    output.match = readTree(inner, "match");
    output.binding = readBinding(inner);
    inner.finish();
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
  selection.namespace_ = fields.text("namespace").value_or("");
  selection.name = fields.text("name").value_or("");
  selection.labelSelector = fields.text("selector").value_or("");
  if (!selection.name.empty() && !selection.labelSelector.empty()) {
    fields.problems().add(fields.pathOf("selector"), "must not be given together with name");
  }
}

void readReference(const json::value& value, const std::string& path, Operation& operation,
                   Problems& problems) {
  Fields fields(value, path, problems);
  Selection& selection = operation.selection;
  selection.apiVersion = fields.required("apiVersion");
  selection.kind = fields.required("kind");
  selection.namespace_ = fields.text("namespace").value_or("");
  selection.name = fields.text("name").value_or("");
  const auto* labels = fields.take("labels");
  const auto* object = labels ? labels->if_object() : nullptr;
  if (labels && !object) problems.add(path + ".labels", "must be an object");
  for (std::size_t i = 0; object && i < object->size(); ++i) {
    const auto& member = *std::next(object->begin(), static_cast<std::ptrdiff_t>(i));
    if (!member.value().is_string()) {
      problems.add(fmt::format("{}.labels.{}", path, std::string_view(member.key())),
                   "must be a text");
      continue;
    }
    selection.labelSelector += fmt::format("{}{}={}", i ? "," : "", std::string_view(member.key()),
                                           jmespath::textOf(member.value()));
  }
  fields.finish();
}

void readWait(Fields& fields, Operation& operation) {
  const auto* value = fields.take("for");
  const std::string path = fields.pathOf("for");
  if (!value) {
    fields.problems().add(path, "is required");
    return;
  }
  Fields outer(*value, path, fields.problems());
  int given = 0;
  if (outer.take("creation")) ++given;
  if (outer.take("deletion")) {
    operation.wait.kind = WaitFor::Kind::Deletion;
    ++given;
  }
  if (const auto* condition = outer.take("condition")) {
    Fields inner(*condition, path + ".condition", fields.problems());
    operation.wait = {WaitFor::Kind::Condition, inner.required("name"), inner.text("value")};
    inner.finish();
    ++given;
  }
  if (const auto* jsonPath = outer.take("jsonPath")) {
    Fields inner(*jsonPath, path + ".jsonPath", fields.problems());
    operation.wait = {WaitFor::Kind::JsonPath, inner.required("path"), inner.text("value")};
    inner.finish();
    ++given;
  }
  if (given != 1) {
    fields.problems().add(path, "give one of creation, deletion, condition and jsonPath");
  }
  outer.finish();
}

void readProcess(Fields& fields, Operation& operation) {
  Process& process = operation.process;
  if (operation.kind == Kind::Script) {
    process.script = true;
    process.content = fields.required("content");
    process.shell = fields.text("shell").value_or("sh");
    if (fields.has("shellArgs")) process.shellArguments = fields.texts("shellArgs");
  } else {
    process.entrypoint = fields.required("entrypoint");
    process.arguments = fields.texts("args");
  }
  process.workDir = fields.text("workDir").value_or("");
  process.environment = readBindings(fields, "env");
  process.hideOutput = fields.boolean("skipLogOutput").value_or(false);
  process.hideCommand = fields.boolean("skipCommandOutput").value_or(false);
  operation.check = readTree(fields, "check");
}

void readBody(const json::value& value, const std::string& path, Operation& operation,
              Problems& problems) {
  Fields fields(value, path, problems);
  const Kind kind = operation.kind;
  if (kind == Kind::Sleep) {
    if (!fields.has("duration")) problems.add(path + ".duration", "is required");
    operation.duration = fields.duration("duration").value_or(Duration{});
    fields.finish();
    return;
  }
  fields.unsupported({"cluster", "clusters"});
  operation.timeout = fields.duration("timeout");
  if (takesResources(kind) || isProcess(kind) || kind == Kind::Delete) {
    operation.bindings = readBindings(fields, "bindings");
  }
  if (takesResources(kind)) {
    operation.render = fields.boolean("template");
    readResources(fields, operation);
  }
  if (takesExpectations(kind)) readExpectations(fields, operation);
  if (takesExpectations(kind) && kind != Kind::Delete) {
    operation.dryRun = fields.boolean("dryRun").value_or(false);
  }
  if ((takesExpectations(kind) && kind != Kind::Delete) || isProcess(kind)) {
    readOutputs(fields, operation);
  }
  if (kind == Kind::Patch || kind == Kind::Create)
    operation.subresource = fields.text("subresource").value_or("");
  if (kind == Kind::Create && !operation.subresource.empty() &&
      operation.subresource != "binding" && operation.subresource != "eviction") {
    problems.add(path + ".subresource",
                 fmt::format("must be binding or eviction, is {}", operation.subresource));
  }
  if (isProcess(kind)) readProcess(fields, operation);
  if (kind == Kind::Delete) {
    operation.render = fields.boolean("template");
    operation.propagationPolicy = readPropagationPolicy(fields);
    operation.file = fields.text("file").value_or("");
    const auto* ref = fields.take("ref");
    if (operation.file.empty() == (ref == nullptr)) {
      problems.add(path + ".ref", "give either ref or file");
    }
    if (ref) readReference(*ref, path + ".ref", operation, problems);
  }
  if (kind == Kind::Wait || kind == Kind::Describe || kind == Kind::Get || kind == Kind::Events ||
      kind == Kind::PodLogs) {
    readSelection(fields, operation);
  }
  if (kind == Kind::Wait || kind == Kind::Get || kind == Kind::Events) fields.take("format");
  if (kind == Kind::Wait) readWait(fields, operation);
  if (kind == Kind::Describe) operation.showEvents = fields.boolean("showEvents").value_or(true);
  if (kind == Kind::PodLogs) {
    operation.container = fields.text("container").value_or("");
    operation.tail = fields.integer("tail");
  }
  fields.finish();
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
  for (const auto& [item, path] : fields.items(key)) {
    Fields inner(*item, path, fields.problems());
    bindings.push_back(readBinding(inner));
    inner.finish();
  }
  return bindings;
}

std::string readPropagationPolicy(Fields& fields) {
  const auto policy = fields.text("deletionPropagationPolicy").value_or("");
  if (!policy.empty() && policy != "Background" && policy != "Foreground" && policy != "Orphan") {
    fields.problems().add(fields.pathOf("deletionPropagationPolicy"),
                          fmt::format("must be Background, Foreground or Orphan, is {}", policy));
  }
  return policy;
}

void checkCompiler(Fields& fields, std::string_view key) {
  const auto compiler = fields.text(key).value_or("jp");
  if (compiler != "jp") {
    fields.problems().add(fields.pathOf(key),
                          fmt::format("only jp is supported, not {}", compiler));
  }
}

Operation readOperation(const json::value& value, const std::string& path, bool gatheringOnly,
                        Problems& problems) {
  Fields fields(value, path, problems);
  Operation operation;
  operation.field = path;
  operation.description = fields.text("description").value_or("");
  checkCompiler(fields);
  if (!gatheringOnly) operation.continueOnError = fields.boolean("continueOnError").value_or(false);
  fields.unsupported({"proxy"});
  int given = 0;
  for (const auto& entry : kKinds) {
    // "sleep:" without anything below is there, too.
    const auto* body = find(value, entry.field);
    if (!body) continue;
    fields.take(entry.field);
    ++given;
    if (gatheringOnly && !entry.gathering) {
      problems.add(fields.pathOf(entry.field), "is possible in try only");
      continue;
    }
    operation.kind = entry.kind;
    operation.field = fields.pathOf(entry.field);
    readBody(*body, operation.field, operation, problems);
  }
  if (given != 1 && !fields.has("proxy")) {
    problems.add(path, given == 0 ? "names no operation" : "names more than one operation");
  }
  fields.finish();
  return operation;
}

}  // namespace koord::scenario
