#pragma once

// The roles and bindings that every cluster has from its start, as kube-apiserver makes them: those
// for people (cluster-admin, admin, edit, view), for components and for controllers. Of groups that
// this server does not have the rules are there all the same, so that aggregated and copied roles
// mean what they mean elsewhere.

#include <optional>
#include <vector>

#include "apiserver/authz/rules.h"

namespace koord::apiserver {

// Objects of rbac.authorization.k8s.io/v1: ClusterRoles, ClusterRoleBindings, Roles, RoleBindings.
std::vector<json::value> bootstrapPolicy();

// The rules of the ClusterRole system:node, which kubelets have without a binding.
std::vector<PolicyRule> nodeRules();

// What an existing object lacks of the policy's, added: rules of roles, subjects of bindings,
// labels and annotations. Nothing when it lacks nothing or is annotated to be left alone. A binding
// to another role is not repaired here: roleRef never changes.
std::optional<json::value> reconciled(const json::value& existing, const json::value& wanted);

}  // namespace koord::apiserver
