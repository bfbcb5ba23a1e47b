#include "scenario/operation_rules.h"

#include <fmt/format.h>

#include "scenario/jmespath_values.h"
#include "scenario/kinds.h"

namespace koord::scenario {
namespace {

json::value textOrNull(const std::string& text) {
  return text.empty() ? json::value(nullptr) : jmespath::textValue(text);
}

}  // namespace

Duration timeoutOf(const Operation& operation, const Timeouts& timeouts) {
  if (operation.timeout) return *operation.timeout;
  switch (operation.kind) {
    case Operation::Kind::Apply:
    case Operation::Kind::Create:
    case Operation::Kind::Update:
    case Operation::Kind::Patch:
      return *timeouts.apply;
    case Operation::Kind::Delete:
      return *timeouts.delete_;
    case Operation::Kind::Assert:
      return *timeouts.assert;
    case Operation::Kind::Error:
      return *timeouts.error;
    default:
      return *timeouts.exec;
  }
}

std::string joined(const std::vector<Mismatch>& mismatches) {
  std::string result;
  for (const auto& mismatch : mismatches) {
    if (!result.empty()) result += "; ";
    result += mismatch.path.empty() ? mismatch.message : mismatch.path + ": " + mismatch.message;
  }
  return result;
}

std::string judge(const std::vector<Expectation>& expectations, const json::value& resource,
                  const json::value& object, const std::string& error, const Bindings& bindings) {
  const Bindings inner = bindings.with("error", textOrNull(error));
  bool concerned = false;
  for (const auto& expectation : expectations) {
    if (expectation.match) {
      const auto mismatches = expectation.match->match(resource, inner);
      if (!mismatches) return mismatches.error().message;
      if (!mismatches->empty()) continue;
    }
    concerned = true;
    const auto mismatches = expectation.check.match(object, inner);
    if (!mismatches) return mismatches.error().message;
    if (!mismatches->empty()) {
      return fmt::format("{} (the operation {})", joined(*mismatches),
                         error.empty() ? "succeeded" : "failed: " + error);
    }
  }
  return concerned ? "" : error;
}

Result<Selection> selectionOf(const json::value& document, const Bindings& bindings) {
  Selection selection;
  selection.apiVersion = textAt(document, "apiVersion");
  selection.kind = textAt(document, "kind");
  selection.namespace_ = textAt(document, "metadata", "namespace");
  selection.name = textAt(document, "metadata", "name");
  auto result = renderSelection(selection, bindings);
  const auto* labels = at(document, "metadata", "labels");
  if (!result || !labels || !result->name.empty()) return result;
  const auto values = render(*labels, bindings);
  if (!values) return fail(values.error());
  result->labelSelector = labelSelectorOf(*values);
  return result;
}

Result<Bindings> evaluateBindings(const std::vector<Binding>& list, Bindings bindings) {
  for (const auto& binding : list) {
    auto name = renderText(binding.name, bindings);
    if (!name) return fail(std::move(name.error()).within("binding"));
    auto value = render(binding.value, bindings);
    if (!value) return fail(std::move(value.error()).within("binding " + *name));
    bindings = bindings.with(*std::move(name), *std::move(value));
  }
  return bindings;
}

Result<Bindings> addOutputs(const Operation& operation, const json::value& object,
                            const Bindings& inner, Bindings outer) {
  Bindings visible = inner;
  for (const auto& output : operation.outputs) {
    if (output.match) {
      const auto mismatches = output.match->match(object, visible);
      if (!mismatches) return fail(mismatches.error());
      if (!mismatches->empty()) continue;
    }
    auto name = renderText(output.binding.name, visible);
    if (!name) return fail(std::move(name.error()));
    auto value = render(output.binding.value, visible, object);
    if (!value) return fail(std::move(value.error()).within("output " + *name));
    visible = visible.with(*name, *value);
    outer = outer.with(*std::move(name), *std::move(value));
  }
  return outer;
}

Result<Selection> renderSelection(const Selection& selection, const Bindings& bindings) {
  Selection result;
  const std::pair<const std::string*, std::string*> fields[] = {
      {&selection.apiVersion, &result.apiVersion},
      {&selection.kind, &result.kind},
      {&selection.namespace_, &result.namespace_},
      {&selection.name, &result.name},
      {&selection.labelSelector, &result.labelSelector}};
  for (const auto& [from, to] : fields) {
    auto text = renderText(*from, bindings);
    if (!text) return fail(std::move(text.error()));
    *to = *std::move(text);
  }
  return result;
}

}  // namespace koord::scenario
