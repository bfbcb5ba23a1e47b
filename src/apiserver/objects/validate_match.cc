#include "apiserver/objects/validate_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/codec.h"
#include "api/names.h"
#include "api/selector.h"
#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

const std::vector<std::string> kOperations = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};

std::string_view textOf(const json::value& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view();
}

bool hasWildcard(const json::array& list) {
  return std::ranges::any_of(list, [](const json::value& item) { return item == "*"; });
}

// A list that is needed, and where "*" stands alone. Returns nullptr if it is empty.
const json::array* wordsAt(const json::value& rule, const char* name, const std::string& path,
                           const char* what, FieldErrors& errors) {
  const auto* list = arrayAt(rule, name);
  const auto at = fmt::format("{}.{}", path, name);
  if (!list || list->empty()) {
    errors.required(at);
    return nullptr;
  }
  if (what && list->size() > 1 && hasWildcard(*list))
    errors.invalid(at, json::value(*list),
                   fmt::format("if '*' is present, must not specify other {}", what));
  return list;
}

// Names of resources, with or without subresources: "pods", "pods/*", "*/scale".
void validateResources(const json::array& resources, const std::string& path, FieldErrors& errors) {
  std::set<std::string_view> anySub, anyResource;
  bool everything = false, allResources = false, hasPlain = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const auto resource = textOf(resources[i]);
    const auto at = fmt::format("{}[{}]", path, i);
    if (resource.empty()) {
      errors.required(at);
      continue;
    }
    everything |= resource == "*/*";
    allResources |= resource == "*";
    const auto slash = resource.find('/');
    if (slash == std::string_view::npos) {
      hasPlain |= resource != "*";
      continue;
    }
    const auto name = resource.substr(0, slash), sub = resource.substr(slash + 1);
    if (anySub.contains(name))
      errors.invalid(at, resource,
                     fmt::format("if '{}/*' is present, must not specify {}", name, resource));
    if (anyResource.contains(sub))
      errors.invalid(at, resource,
                     fmt::format("if '*/{}' is present, must not specify {}", sub, resource));
    if (sub == "*") anySub.insert(name);
    if (name == "*") anyResource.insert(sub);
  }
  if (resources.size() > 1 && everything)
    errors.invalid(path, json::value(resources),
                   "if '*/*' is present, must not specify other resources");
  if (allResources && hasPlain)
    errors.invalid(path, json::value(resources),
                   "if '*' is present, must not specify other resources without subresources");
}

}  // namespace

void validateRequestRule(const json::value& rule, const std::string& path, FieldErrors& errors) {
  if (const auto* operations = wordsAt(rule, "operations", path, "operations", errors))
    for (std::size_t i = 0; i < operations->size(); ++i)
      if (const auto operation = textOf((*operations)[i]);
          std::ranges::find(kOperations, operation) == kOperations.end())
        errors.unsupported(fmt::format("{}.operations[{}]", path, i), operation, kOperations);
  wordsAt(rule, "apiGroups", path, "API groups", errors);
  if (const auto* versions = wordsAt(rule, "apiVersions", path, "API versions", errors))
    for (std::size_t i = 0; i < versions->size(); ++i)
      if (textOf((*versions)[i]).empty())
        errors.required(fmt::format("{}.apiVersions[{}]", path, i));
  if (const auto* resources = wordsAt(rule, "resources", path, nullptr, errors))
    validateResources(*resources, path + ".resources", errors);
  validateOneOf(rule, path, "scope", {"*", "Cluster", "Namespaced"}, false, errors);
}

void validateSelector(const json::value& selector, const std::string& path, FieldErrors& errors) {
  if (!selector.is_object()) return;
  const auto decoded = api::decode<api::LabelSelector>(selector);
  const auto compiled = decoded ? api::Selector::compile(*decoded)
                                : Result<api::Selector>(std::unexpected(decoded.error()));
  if (!compiled) errors.invalid(path, selector, compiled.error().message);
}

void validateConditionNames(const json::array& conditions, const std::string& path,
                            FieldErrors& errors) {
  if (conditions.size() > kMaxMatchConditions)
    errors.tooMany(path, conditions.size(), kMaxMatchConditions);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < std::min(conditions.size(), kMaxMatchConditions); ++i) {
    const auto at = fmt::format("{}[{}].name", path, i);
    const auto name = textAt(conditions[i], "name");
    if (name.empty()) {
      errors.required(at);
    } else if (const auto wrong = api::checkQualifiedName(name); !wrong.empty()) {
      errors.invalid(at, name, wrong);
    } else if (!names.insert(name).second) {
      errors.duplicate(at, name);
    }
  }
}

}  // namespace koord::apiserver
