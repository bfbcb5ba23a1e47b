#pragma once

// The roles and bindings that every cluster has from its start, as in kube-apiserver: for users
// (cluster-admin, admin, edit, view), for components and for controllers. They include rules for
// API groups that this server lacks, so that aggregated and copied roles mean the same as on other
// clusters.

#include <optional>
#include <vector>

#include "apiserver/authz/rules.h"

namespace koord::apiserver {

// Objects of rbac.authorization.k8s.io/v1: ClusterRoles, ClusterRoleBindings, Roles, RoleBindings.
std::vector<json::value> bootstrapPolicy();

// The rules of the ClusterRole system:node, which kubelets have without a binding.
std::vector<PolicyRule> nodeRules();

// The existing object with what it lacks of the policy's: rules of roles, subjects of bindings,
// labels and annotations. nullopt if it lacks nothing or its annotation turns this off. Does not
// repair a binding to another role: roleRef is immutable.
std::optional<json::value> reconciled(const json::value& existing, const json::value& wanted);

}  // namespace koord::apiserver
