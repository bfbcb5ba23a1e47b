#include "manager/webhook/takeover/take_over_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/split.h"
#include "manager/webhook/pod_edit.h"

namespace koord::manager {

namespace {

constexpr std::string_view kNeverByStar = "kube-system";
constexpr std::string_view kUnnamedScheduler = "default-scheduler";
constexpr std::string_view kTakeOverKeys[] = {"from", "to", "namespaces", "namespaceSelector",
                                              "selector"};

bool isAmong(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Result<api::Selector> readTakenSelector(const api::ConfigMap& config, const char* key,
                                        api::Selector absent) {
  const std::string* text = api::findIn(config.data, key);
  if (!text) return absent;
  // A template whose value is not set must not select everything.
  if (trim(*text).empty())
    return fail(ErrorCode::Invalid, fmt::format("data[{}]: must not be empty", key));
  auto selector = api::Selector::parse(*text);
  if (!selector) return fail(std::move(selector.error()).within(fmt::format("data[{}]", key)));
  return selector;
}

Result<> readSchedulerName(const api::ConfigMap& config, const char* key, std::string& into) {
  const std::string* text = api::findIn(config.data, key);
  if (!text) return {};
  into = trim(*text);
  if (into.empty())
    return fail(ErrorCode::Invalid, fmt::format("data[{}]: must name a scheduler", key));
  return {};
}

Result<> readTakenNamespaces(const api::ConfigMap& config, TakeOverRules& rules) {
  const std::string* text = api::findIn(config.data, "namespaces");
  if (!text) return {};
  for (const std::string_view part : splitAll(*text, ',')) {
    const std::string name(trim(part));
    if (name == "*") {
      rules.allNamespaces = true;
    } else if (name.find_first_of(" \t\r\n*") != std::string::npos) {
      return fail(ErrorCode::Invalid,
                  fmt::format("data[namespaces]: \"{}\" is not a namespace; separate names by "
                              "commas, * alone means all",
                              name));
    } else if (!name.empty()) {
      rules.namespaces.push_back(name);
    }
  }
  return {};
}

api::StringMap labelsIn(const json::value& pod) {
  api::StringMap labels;
  const json::value* found = at(pod, "metadata", "labels");
  if (!found || !found->is_object()) return labels;
  for (const auto& [key, value] : found->get_object())
    if (value.is_string()) labels[std::string(key)] = std::string(value.get_string());
  return labels;
}

bool selectsNamespace(const TakeOverRules& rules, std::string_view namespace_,
                      const api::StringMap& labels) {
  if (isAmong(rules.namespaces, namespace_)) return true;
  if (isAmong(rules.exempt, namespace_)) return false;
  return rules.allNamespaces ||
         (rules.readsNamespaceLabels() && rules.namespaceSelector.matches(labels));
}

}  // namespace

Result<TakeOverRules> readTakeOverRules(const api::ConfigMap& config) {
  TakeOverRules rules;
  rules.exempt = {std::string(kNeverByStar), config.metadata.namespace_};
  for (const auto& [key, value] : config.data)
    if (std::ranges::find(kTakeOverKeys, std::string_view(key)) == std::end(kTakeOverKeys))
      return fail(ErrorCode::Invalid, fmt::format("data[{}]: is not a known key", key));
  for (const auto& [key, into] : {std::pair("from", &rules.from), {"to", &rules.to}})
    if (auto read = readSchedulerName(config, key, *into); !read)
      return fail(std::move(read.error()));
  if (rules.from == rules.to)
    return fail(ErrorCode::Invalid, "data[to]: must differ from data[from]");
  if (auto read = readTakenNamespaces(config, rules); !read) return fail(std::move(read.error()));
  auto namespaces = readTakenSelector(config, "namespaceSelector", api::Selector::nothing());
  if (!namespaces) return fail(std::move(namespaces.error()));
  rules.namespaceSelector = *std::move(namespaces);
  auto pods = readTakenSelector(config, "selector", {});
  if (!pods) return fail(std::move(pods.error()));
  rules.selector = *std::move(pods);
  return rules;
}

std::string describeTakeOver(const TakeOverRules& rules) {
  if (!rules.selectsAny()) return "no namespace is selected, so no pod is taken over";
  std::vector<std::string> where = rules.namespaces;
  if (rules.allNamespaces)
    where.push_back(fmt::format("all but {}", fmt::join(rules.exempt, " and ")));
  if (rules.readsNamespaceLabels())
    where.push_back(fmt::format("those with labels \"{}\"", rules.namespaceSelector.toString()));
  std::string text = fmt::format("new pods of {} go to {} in namespaces {}", rules.from, rules.to,
                                 fmt::join(where, ", "));
  if (!rules.selector.empty())
    text += fmt::format(", pods with labels \"{}\" only", rules.selector.toString());
  return text;
}

bool needsNamespaceLabels(const TakeOverRules& rules, std::string_view namespace_) {
  return rules.readsNamespaceLabels() && !rules.allNamespaces &&
         !isAmong(rules.namespaces, namespace_) && !isAmong(rules.exempt, namespace_);
}

bool takeOverPod(const TakeOverRules& rules, std::string_view namespace_,
                 const api::StringMap& namespaceLabels, json::value& pod) {
  const std::string_view named = textAt(pod, "spec", "schedulerName");
  if ((named.empty() ? kUnnamedScheduler : named) != rules.from) return false;
  if (!textAt(pod, "spec", "nodeName").empty()) return false;
  if (!selectsNamespace(rules, namespace_, namespaceLabels)) return false;
  if (!rules.selector.matches(labelsIn(pod))) return false;
  specOf(pod)["schedulerName"] = textValue(rules.to);
  return true;
}

}  // namespace koord::manager
