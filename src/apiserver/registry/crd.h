#pragma once

// CustomResourceDefinitions: validates them and converts them to resources.

#include "apiserver/registry/registry.h"
#include "apiserver/registry/resource.h"
#include "base/result.h"

namespace koord::apiserver {

// Compiles an openAPIV3Schema; the error has the path in it. CEL rules (x-kubernetes-validations)
// are not supported; if there are any, `warnings` says so.
Result<const api::Schema*> compileSchema(api::SchemaSet& set, const json::value& openApi,
                                         std::vector<std::string>& warnings);

// The resource that a CustomResourceDefinition describes. The error names the field.
Result<Resource> resourceOfCrd(const json::value& crd, std::vector<std::string>& warnings);

// kube-apiserver's further rules. For a stored definition (`old`, null for a new one) only changes
// are checked: it may be older than a rule, and its finalizers must still be removable. Built-in
// kinds cannot be defined.
Result<> checkCrd(const json::value& crd, const Registry& registry, const json::value* old);
// Completes an accepted CRD object: default names, conditions, stored versions.
void completeCrd(json::value& crd, std::string_view now);

}  // namespace koord::apiserver
