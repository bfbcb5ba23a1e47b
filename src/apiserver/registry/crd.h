#pragma once

// CustomResourceDefinitions: validates them and converts them to resources.

#include "apiserver/registry/registry.h"
#include "apiserver/registry/resource.h"
#include "base/result.h"

namespace koord::apiserver {

// Compiles an openAPIV3Schema; the error has the path in it.
Result<const api::Schema*> compileSchema(api::SchemaSet& set, const json::value& openApi);

// The resource that a CustomResourceDefinition describes. The error names the field.
//
// Validation rules (x-kubernetes-validations) that cannot be compiled are no error here, because a
// stored definition may have them: checkRules() refuses them.
Result<Resource> resourceOfCrd(const json::value& crd);
// What is wrong with the validation rules of the versions that `old`, null for a new definition,
// does not have in this form. Each text begins with the field.
std::vector<std::string> checkRules(const Resource& resource, const json::value& crd,
                                    const json::value* old);

// kube-apiserver's further rules. For a stored definition (`old`, null for a new one) only changes
// are checked: it may be older than a rule, and its finalizers must still be removable. Built-in
// kinds cannot be defined.
Result<> checkCrd(const json::value& crd, const Registry& registry, const json::value* old);
// Completes an accepted CRD object: default names, conditions, stored versions.
void completeCrd(json::value& crd, std::string_view now);

}  // namespace koord::apiserver
