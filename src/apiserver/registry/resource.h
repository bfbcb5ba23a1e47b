#pragma once

// The description of one kind of resource, built in or from a CustomResourceDefinition.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/schema/schema.h"

namespace koord::apiserver {

// A column of kubectl's tables, in addition to the name.
struct Column {
  std::string name;
  std::string type;  // string, integer, number, boolean, date
  std::string description;
  int priority = 0;  // above 0: only with -o wide
  std::string jsonPath;
};

struct ScalePaths {  // ".spec.replicas"
  std::string specReplicas;
  std::string statusReplicas;
  std::string labelSelector;
};

class CustomRules;  // apiserver/rules

struct ResourceVersion {
  std::string name;  // "v1"
  bool served = true;
  bool storage = true;
  bool hasStatus = false;  // the status subresource
  std::optional<ScalePaths> scale;
  std::vector<Column> columns;
  const api::Schema* schema = nullptr;
  std::shared_ptr<const CustomRules> rules;  // nullptr if the schema has none
  std::string deprecationWarning;
};

struct Resource {
  std::string group;
  std::string plural;
  std::string singular;
  std::string kind;
  std::string listKind;
  std::vector<std::string> shortNames;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool custom = false;
  bool terminating = false;  // its definition is being deleted: no new objects
  // metadata.generation counts changes of the spec.
  bool hasGeneration = false;
  // A PUT or patch must name the resourceVersion that it changes.
  bool conditionalUpdatesOnly = false;
  bool createOnUpdate = false;
  bool keepsStatusOnCreate = false;
  bool readOnly = false;                  // derived from other objects: only get and list
  bool createOnly = false;                // answered and not stored: reviews
  std::vector<std::string> subresources;  // other than status and scale: "binding", "eviction", ...
  // Paths for field selectors, in addition to metadata.name and metadata.namespace.
  std::vector<std::string> selectableFields;
  std::vector<ResourceVersion> versions;
  std::string table;  // its name in the store: "pods", "deployments.apps"
  std::shared_ptr<const api::SchemaSet> schemas;  // keeps the versions' schemas alive

  const ResourceVersion* version(std::string_view name) const;
  const ResourceVersion& storageVersion() const;
  std::string apiVersion(std::string_view version) const;
  bool isCore(std::string_view pluralName) const { return group.empty() && plural == pluralName; }
  bool is(std::string_view groupName, std::string_view pluralName) const {
    return group == groupName && plural == pluralName;
  }
  // "pods", "deployments.apps": its name in messages.
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
};

inline bool hasSubresource(const Resource& resource, const ResourceVersion& version,
                           std::string_view name) {
  if (name.empty()) return true;
  if (name == "status") return version.hasStatus;
  if (name == "scale") return version.scale.has_value();
  for (const auto& other : resource.subresources)
    if (other == name) return true;
  return false;
}

}  // namespace koord::apiserver
