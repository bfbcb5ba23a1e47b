#pragma once

// The environment of a container: envFrom, then env with its references, on top of HOSTNAME and the
// variables that the node gives. Also expands $(NAME) in commands, arguments and subPathExpr.

#include <map>
#include <string>
#include <vector>

#include "api/core.h"
#include "cluster/hostnode/podspec/field_values.h"

namespace koord::cluster {

// The ConfigMaps and Secrets of a pod's namespace that it refers to, by name; null: does not exist.
struct ReferencedObjects {
  std::map<std::string, std::shared_ptr<const api::ConfigMap>> configMaps;
  std::map<std::string, std::shared_ptr<const api::Secret>> secrets;
};

// The names that a container's environment refers to.
struct ReferencedNames {
  std::vector<std::string> configMaps;
  std::vector<std::string> secrets;
};
ReferencedNames environmentReferences(const spec::Container& container);

// By name; of the services that a container may use, for example.
using Variables = std::map<std::string, std::string>;

// The variables, "NAME=value"; those of the container replace `given` ones. Fails, with kubelet's
// message, if a required reference is missing.
Result<std::vector<std::string>> environmentOf(const FieldContext& context,
                                               const spec::Container& container,
                                               const ReferencedObjects& objects,
                                               Variables given = {});

// Expands $(NAME) from such an environment; keeps unknown names unchanged.
std::vector<std::string> expandVariables(const api::List<std::string>& texts,
                                         const std::vector<std::string>& environment);
// The same for a subPathExpr, where an unknown name is an error.
Result<std::string> expandPath(const std::string& text,
                               const std::vector<std::string>& environment);

}  // namespace koord::cluster
