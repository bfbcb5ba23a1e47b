#pragma once

// Finds the REST resource of an object's apiVersion and kind: in the table of built-in kinds, then
// the CustomResourceDefinitions of the server, then its discovery documents. Caches the results.

#include <deque>
#include <map>
#include <string>

#include "apiserver/registry/registry.h"
#include "scenario/environment.h"

namespace koord::scenario {

class TypeResolver {
 public:
  explicit TypeResolver(Environment& environment) : environment_(environment) {}

  // The strings of the result live as long as the resolver. NotFound for an unknown kind.
  Task<Result<api::ResourceType>> resolve(std::string apiVersion, std::string kind);

 private:
  struct Known {
    std::string group, version, plural, kind;
    bool namespaced;
  };

  Task<Result<bool>> findCustom(std::string group, std::string version, std::string kind);
  Task<bool> findDiscovered(std::string group, std::string version, std::string kind);
  const Known* find(const std::string& group, const std::string& version,
                    const std::string& kind) const;

  Environment& environment_;
  apiserver::Registry builtin_;
  std::deque<Known> known_;
};

}  // namespace koord::scenario
