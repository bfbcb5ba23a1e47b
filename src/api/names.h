#pragma once

// The rules for names, label keys and label values. Each check returns "" for a good one, else what
// is wrong with it, in the words of the Kubernetes API ("must be no more than 63 characters").

#include <string>
#include <string_view>

namespace koord::api {

std::string checkDnsLabel(std::string_view name);      // namespaces, container names
std::string checkDnsSubdomain(std::string_view name);  // names of most objects
std::string checkPathSegment(std::string_view name);   // names that may hold almost anything (RBAC)
std::string checkQualifiedName(std::string_view key);  // label keys, resource names, taint keys
std::string checkLabelValue(std::string_view value);

}  // namespace koord::api
