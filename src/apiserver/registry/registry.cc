#include "apiserver/registry/registry.h"

#include "api/schema/builtin.h"

namespace koord::apiserver {

const ResourceVersion* Resource::version(std::string_view versionName) const {
  for (const auto& version : versions)
    if (version.name == versionName) return &version;
  return nullptr;
}

const ResourceVersion& Resource::storageVersion() const {
  for (const auto& version : versions)
    if (version.storage) return version;
  return versions.front();
}

std::string Resource::apiVersion(std::string_view version) const {
  return group.empty() ? std::string(version) : group + "/" + std::string(version);
}

Registry::Registry() : schemas_(std::make_shared<const api::SchemaSet>(api::builtinTypes())) {
  for (auto& resource : builtinResources(*schemas_)) {
    resource.schemas = schemas_;
    put(std::move(resource));
  }
}

ResourcePtr Registry::find(std::string_view group, std::string_view version,
                           std::string_view plural, bool servedOnly) const {
  std::string table(plural);
  if (!group.empty()) {
    table += '.';
    table += group;
  }
  // Events have one table and two groups; the stored form is v1.
  const auto it = resources_.find(table);
  if (it == resources_.end()) return nullptr;
  const auto* found = it->second->version(version);
  return found && (found->served || !servedOnly) ? it->second : nullptr;
}

ResourcePtr Registry::findByTable(std::string_view table) const {
  const auto it = resources_.find(table);
  return it == resources_.end() ? nullptr : it->second;
}

ResourcePtr Registry::findByKind(std::string_view group, std::string_view kind) const {
  for (const auto& [table, resource] : resources_)
    if (resource->group == group && resource->kind == kind) return resource;
  return nullptr;
}

void Registry::put(Resource resource) {
  if (resource.table.empty()) resource.table = resource.qualified();
  auto name = resource.qualified();
  if (const auto known = findByTable(name); known && !known->custom && resource.custom) return;
  resources_[std::move(name)] = std::make_shared<const Resource>(std::move(resource));
  ++generation_;
}

void Registry::remove(std::string_view table) {
  const auto it = resources_.find(table);
  if (it == resources_.end() || !it->second->custom) return;
  resources_.erase(it);
  ++generation_;
}

}  // namespace koord::apiserver
