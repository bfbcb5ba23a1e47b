#include "scheduler/extender/wire.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/ascii.h"

namespace koord::scheduler::wire {

namespace {

// nullptr if the member is absent or null. Names are compared as Go's decoder does.
const json::value* member(const json::value& value, std::string_view name) {
  const json::value* found = find(value, name);
  if (!found && value.is_object()) {
    for (const auto& [key, candidate] : value.get_object())
      if (sameIgnoringCase({key.data(), key.size()}, name)) found = &candidate;
  }
  return found && !found->is_null() ? found : nullptr;
}

// Reads the members of one answer. Absent and null members are empty. A member of the wrong type
// makes the whole answer invalid, as in Go.
class Members {
 public:
  std::string text(const json::value& object, std::string_view name) {
    const json::value* value = member(object, name);
    return value ? asText(*value, name) : std::string();
  }
  std::int64_t number(const json::value& object, std::string_view name) {
    const json::value* value = member(object, name);
    if (!value) return 0;
    if (value->is_int64()) return value->get_int64();
    return wrong(name, "an integer of 64 bits"), 0;
  }
  const json::array& list(const json::value& object, std::string_view name) {
    static const json::array kNone;
    const json::value* value = member(object, name);
    if (!value) return kNone;
    if (const auto* array = value->if_array()) return *array;
    return wrong(name, "a list"), kNone;
  }
  const json::object& object(const json::value& from, std::string_view name) {
    static const json::object kNone;
    const json::value* value = member(from, name);
    if (!value) return kNone;
    if (const auto* members = value->if_object()) return *members;
    return wrong(name, "an object"), kNone;
  }
  std::map<std::string, std::string> texts(const json::value& from, std::string_view name) {
    std::map<std::string, std::string> result;
    for (const auto& [key, value] : object(from, name))
      result.emplace(key, value.is_null() ? std::string() : asText(value, name));
    return result;
  }
  std::string asText(const json::value& value, std::string_view name) {
    if (value.is_string()) return std::string(value.get_string());
    return wrong(name, "a text"), std::string();
  }
  // The object itself, or an element of a list.
  bool isObject(const json::value& value, std::string_view name) {
    if (value.is_object() || value.is_null()) return value.is_object();
    wrong(name, "an object");
    return false;
  }

  template <class T>
  Result<T> resultOf(T value) const {
    if (!problem_.empty()) return fail(ErrorCode::Invalid, problem_);
    return value;
  }

 private:
  void wrong(std::string_view name, std::string_view expected) {
    if (problem_.empty())
      problem_ = fmt::format("response of the extender: {}: expected {}", name, expected);
  }
  std::string problem_;
};

Result<json::value> parse(const std::string& document) {
  auto value = parseJson(document);
  if (!value) return fail(std::move(value.error()).within("response of the extender"));
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
  Members members;
  FilterResult result;
  if (!members.isObject(*value, "the answer")) return members.resultOf(result);
  result.error = members.text(*value, "Error");
  result.failed = members.texts(*value, "FailedNodes");
  result.unresolvable = members.texts(*value, "FailedAndUnresolvableNodes");
  const json::value* names = byName ? member(*value, "NodeNames") : nullptr;
  const json::value* nodes = member(*value, "Nodes");
  if (names) {
    for (const auto& name : members.list(*value, "NodeNames"))
      result.nodes.push_back(members.asText(name, "NodeNames"));
  } else if (nodes && members.isObject(*nodes, "Nodes")) {
    for (const auto& node : members.list(*nodes, "items"))
      result.nodes.emplace_back(textAt(node, "metadata", "name"));
  }
  return members.resultOf(std::move(result));
}

Result<std::vector<HostPriority>> readPriorities(const std::string& document) {
  const auto value = parse(document);
  if (!value) return fail(value.error());
  std::vector<HostPriority> result;
  if (value->is_null()) return result;
  if (!value->is_array())
    return fail(ErrorCode::Invalid,
                "response of the extender: expected a list of hosts and scores");
  Members members;
  for (const auto& item : value->get_array())
    if (members.isObject(item, "the list"))
      result.push_back({members.text(item, "Host"), members.number(item, "Score")});
  return members.resultOf(std::move(result));
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
  Members members;
  std::string error;
  if (members.isObject(*value, "the answer")) error = members.text(*value, "Error");
  return members.resultOf(std::move(error));
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
  Members members;
  std::map<std::string, MetaVictims> result;
  if (!members.isObject(*value, "the answer")) return members.resultOf(result);
  for (const auto& [node, entry] : members.object(*value, "NodeNameToMetaVictims")) {
    MetaVictims& victims = result[node];
    if (!members.isObject(entry, "NodeNameToMetaVictims")) continue;
    victims.budgetsBroken = members.number(entry, "NumPDBViolations");
    for (const auto& pod : members.list(entry, "Pods"))
      if (members.isObject(pod, "Pods")) victims.uids.push_back(members.text(pod, "UID"));
  }
  return members.resultOf(std::move(result));
}

}  // namespace koord::scheduler::wire
