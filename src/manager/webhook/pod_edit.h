#pragma once

// Edits of a pod's JSON document. Webhooks work on the document, not on structs, so that unknown
// fields stay unchanged.

#include <string>
#include <string_view>

#include "base/json.h"

namespace koord::manager {

// The member as an object; created if it is missing or null. Creating a member invalidates
// references to the parent's other members. (operator[] does so even if it finds the key.)
inline json::object& objectIn(json::object& parent, std::string_view key) {
  json::value* member = parent.if_contains(key);
  if (!member) member = &parent[key];
  if (!member->is_object()) member->emplace_object();
  return member->get_object();
}

inline json::object& labelsOf(json::value& pod) {
  return objectIn(objectIn(pod.get_object(), "metadata"), "labels");
}
inline json::object& annotationsOf(json::value& pod) {
  return objectIn(objectIn(pod.get_object(), "metadata"), "annotations");
}
inline json::object& specOf(json::value& pod) {
  return objectIn(pod.get_object(), "spec");
}

inline json::string textValue(std::string_view text) {
  return json::string(text.data(), text.size());
}

// Calls fn with each container's object: init containers first.
template <class Fn>
void forEachContainer(json::value& pod, Fn fn) {
  json::object& spec = specOf(pod);
  for (const char* list : {"initContainers", "containers"}) {
    json::value* containers = spec.if_contains(list);
    if (!containers || !containers->is_array()) continue;
    for (auto& container : containers->get_array())
      if (container.is_object()) fn(container.get_object());
  }
}

}  // namespace koord::manager
