#include "api/meta.h"

namespace koord::api {

std::string apiVersionOf(const ResourceType& type) {
  if (type.group.empty()) return std::string(type.version);
  return std::string(type.group) + "/" + std::string(type.version);
}

const OwnerReference* controllerOf(const ObjectMeta& meta) {
  for (const auto& owner : meta.ownerReferences)
    if (owner.controller) return &owner;
  return nullptr;
}

const std::string* findIn(const StringMap& map, std::string_view key) {
  if (map.empty()) return nullptr;  // of most pods: annotations
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

std::string_view textIn(const StringMap& map, std::string_view key) {
  const std::string* text = findIn(map, key);
  return text ? std::string_view(*text) : std::string_view();
}

}  // namespace koord::api
