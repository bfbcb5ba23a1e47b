#pragma once

// All resources of the server. Built-in resources exist from the start; custom resources are added
// and removed with their CustomResourceDefinitions.

#include <map>
#include <memory>
#include <string_view>

#include "apiserver/registry/resource.h"

namespace koord::apiserver {

using ResourcePtr = std::shared_ptr<const Resource>;

class Registry {
 public:
  Registry();

  // nullptr if there is no such resource or version, or it is not served.
  ResourcePtr find(std::string_view group, std::string_view version, std::string_view plural,
                   bool servedOnly = true) const;
  ResourcePtr findByTable(std::string_view table) const;
  ResourcePtr findByKind(std::string_view group, std::string_view kind) const;
  // By table name.
  const std::map<std::string, ResourcePtr, std::less<>>& all() const { return resources_; }

  // Does not replace built-in resources.
  void put(Resource resource);
  void remove(std::string_view table);
  // Counts changes, so that caches can detect them.
  std::uint64_t generation() const { return generation_; }
  const std::shared_ptr<const api::SchemaSet>& builtinSchemas() const { return schemas_; }

 private:
  std::map<std::string, ResourcePtr, std::less<>> resources_;
  std::shared_ptr<const api::SchemaSet> schemas_;
  std::uint64_t generation_ = 0;
};

// The built-in resources, with their schemas from `schemas`.
std::vector<Resource> builtinResources(const api::SchemaSet& schemas);

}  // namespace koord::apiserver
