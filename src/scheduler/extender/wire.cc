#include "scheduler/extender/wire.h"

#include <algorithm>
#include <cctype>

#include "api/codec.h"

namespace koord::scheduler::wire {

namespace {

bool sameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// nullptr when there is none, or null. Names are compared as Go's decoder does.
const json::value* member(const json::value& value, std::string_view name) {
  const json::value* found = find(value, name);
  if (!found && value.is_object()) {
    for (const auto& [key, candidate] : value.get_object())
      if (sameName({key.data(), key.size()}, name)) found = &candidate;
  }
  return found && !found->is_null() ? found : nullptr;
}

std::string text(const json::value* value) {
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::map<std::string, std::string> texts(const json::value* value) {
  std::map<std::string, std::string> result;
  if (!value || !value->is_object()) return result;
  for (const auto& [key, reason] : value->get_object()) result.emplace(key, text(&reason));
  return result;
}

std::int64_t number(const json::value* value) {
  return value && value->is_number() ? value->to_number<std::int64_t>() : 0;
}

Result<json::value> parse(const std::string& document) {
  auto value = parseJson(document);
  if (!value) return fail(std::move(value.error()).within("answer of the extender"));
  return value;
}

}  // namespace

std::string args(const api::Pod& pod, const NodeObjects& nodes, bool byName) {
  json::object result{{"Pod", api::encode(pod)}, {"Nodes", nullptr}, {"NodeNames", nullptr}};
  json::array list;
  for (const auto& node : nodes)
    list.push_back(byName ? json::value(node->metadata.name) : api::encode(*node));
  if (byName) {
    result["NodeNames"] = std::move(list);
  } else {
    result["Nodes"] = json::object{{"metadata", json::object()}, {"items", std::move(list)}};
  }
  return toJson(result);
}

Result<FilterResult> readFilterResult(const std::string& document, bool byName) {
  const auto value = parse(document);
  if (!value) return fail(value.error());
  FilterResult result;
  result.error = text(member(*value, "Error"));
  result.failed = texts(member(*value, "FailedNodes"));
  result.unresolvable = texts(member(*value, "FailedAndUnresolvableNodes"));
  const json::value* names = member(*value, "NodeNames");
  const json::value* nodes = member(*value, "Nodes");
  const json::value* items = nodes ? member(*nodes, "items") : nullptr;
  if (byName && names && names->is_array()) {
    for (const auto& name : names->get_array()) result.nodes.push_back(text(&name));
  } else if (items && items->is_array()) {
    for (const auto& node : items->get_array())
      result.nodes.emplace_back(textAt(node, "metadata", "name"));
  }
  return result;
}

Result<std::vector<HostPriority>> readPriorities(const std::string& document) {
  const auto value = parse(document);
  if (!value) return fail(value.error());
  std::vector<HostPriority> result;
  if (value->is_null()) return result;
  if (!value->is_array())
    return fail(ErrorCode::Invalid, "answer of the extender: expected a list of hosts and scores");
  for (const auto& item : value->get_array())
    result.push_back({text(member(item, "Host")), number(member(item, "Score"))});
  return result;
}

std::string bindingArgs(const api::Pod& pod, const std::string& node) {
  return toJson(json::object{{"PodName", pod.metadata.name},
                             {"PodNamespace", pod.metadata.namespace_},
                             {"PodUID", pod.metadata.uid},
                             {"Node", node}});
}

Result<std::string> readBindingResult(const std::string& document) {
  const auto value = parse(document);
  if (!value) return fail(value.error());
  return text(member(*value, "Error"));
}

std::string preemptionArgs(const api::Pod& pod, const std::map<std::string, Victims>& victims,
                           bool byUid) {
  json::object byNode;
  for (const auto& [node, entry] : victims) {
    json::array pods;
    for (const auto& victim : entry.pods) {
      pods.push_back(byUid ? json::value(json::object{{"UID", victim->metadata.uid}})
                           : api::encode(*victim));
    }
    byNode.emplace(
        node, json::object{{"Pods", std::move(pods)}, {"NumPDBViolations", entry.budgetsBroken}});
  }
  json::object result{{"Pod", api::encode(pod)},
                      {"NodeNameToVictims", nullptr},
                      {"NodeNameToMetaVictims", nullptr}};
  result[byUid ? "NodeNameToMetaVictims" : "NodeNameToVictims"] = std::move(byNode);
  return toJson(result);
}

Result<std::map<std::string, MetaVictims>> readPreemptionResult(const std::string& document) {
  const auto value = parse(document);
  if (!value) return fail(value.error());
  std::map<std::string, MetaVictims> result;
  const json::value* nodes = member(*value, "NodeNameToMetaVictims");
  if (!nodes || !nodes->is_object()) return result;
  for (const auto& [node, entry] : nodes->get_object()) {
    MetaVictims& victims = result[node];
    victims.budgetsBroken = number(member(entry, "NumPDBViolations"));
    if (const json::value* pods = member(entry, "Pods"); pods && pods->is_array())
      for (const auto& pod : pods->get_array()) victims.uids.push_back(text(member(pod, "UID")));
  }
  return result;
}

}  // namespace koord::scheduler::wire
