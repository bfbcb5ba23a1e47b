#pragma once

// CustomResourceDefinitions: checking them, and making resources of them.

#include "apiserver/registry/registry.h"
#include "apiserver/registry/resource.h"
#include "base/result.h"

namespace koord::apiserver {

// Compiles an openAPIV3Schema; the error names the path in it. CEL rules (x-kubernetes-validations)
// are not supported; where they are present, `warnings` says so.
Result<const api::Schema*> compileSchema(api::SchemaSet& set, const json::value& openApi,
                                         std::vector<std::string>& warnings);

// The resource that a CustomResourceDefinition describes. The error names the field.
Result<Resource> resourceOfCrd(const json::value& crd, std::vector<std::string>& warnings);

// What kube-apiserver wants of a definition besides. Of one that is stored already (`old`, null for a new one) only what
// changes is checked: it may be older than a rule, and must still lose its finalizers. Kinds that the registry has built
// in cannot be defined.
Result<> checkCrd(const json::value& crd, const Registry& registry, const json::value* old);
// What a CRD object gets when it is accepted: default names, conditions, stored versions.
void completeCrd(json::value& crd, std::string_view now);

}  // namespace koord::apiserver
