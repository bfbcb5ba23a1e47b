#pragma once

// The rules of Roles and ClusterRoles: what they allow, and whether some rules cover others, which
// prevents privilege escalation.

#include <string>
#include <vector>

#include "apiserver/authz/attributes.h"
#include "base/json.h"

namespace koord::apiserver {

struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups;
  std::vector<std::string> resources;  // "pods", "pods/log", "*/scale", "*"
  std::vector<std::string> names;      // empty = all
  std::vector<std::string> urls;       // "/healthz", "/api/*"

  bool operator==(const PolicyRule&) const = default;
};

// ["a" "b"], as upstream prints a list of strings.
std::string quotedList(const std::vector<std::string>& texts);

std::vector<std::string> textsOf(const json::value* list);  // the strings of an array; null = none

// The rules of a role in API form. A malformed rule allows nothing.
std::vector<PolicyRule> rulesOf(const json::value& role);
json::array jsonOf(const std::vector<PolicyRule>& rules);

bool allows(const PolicyRule& rule, const Attributes& attributes);

// The same permissions as rules with one verb and either one group, one resource and at most one
// name, or one URL.
std::vector<PolicyRule> elementaryRules(const PolicyRule& rule);

// The part of `wanted` that the `owned` rules do not allow, in pieces of one verb, group and
// resource. If the wanted rules have too many pieces together, those that no single owned rule
// covers are returned whole.
std::vector<PolicyRule> notCovered(const std::vector<PolicyRule>& owned,
                                   const std::vector<PolicyRule>& wanted);
// One line per rule, verbs of the same resource together, sorted:
// {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}
std::string describe(const std::vector<PolicyRule>& rules);

}  // namespace koord::apiserver
