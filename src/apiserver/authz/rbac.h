#pragma once

// Role-based access control over the Roles, ClusterRoles and their bindings in the store.
//
// Keeps indexes of the store: the decoded rules of every role, and for every user and group the
// bindings that name it, cluster-wide and per namespace. Each index follows the store change by
// change and therefore includes the last write. A decision looks up the user and each of its
// groups, twice, and tries the rules of the roles found there: some microseconds, for any number of
// roles.
//
// On the store's executor.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authz/rules.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

inline constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";
inline constexpr const char* kRoles = "roles.rbac.authorization.k8s.io";
inline constexpr const char* kRoleBindings = "rolebindings.rbac.authorization.k8s.io";
inline constexpr const char* kClusterRoles = "clusterroles.rbac.authorization.k8s.io";
inline constexpr const char* kClusterRoleBindings = "clusterrolebindings.rbac.authorization.k8s.io";

class Rbac {
 public:
  explicit Rbac(Store& store);  // which must outlive it
  Rbac(const Rbac&) = delete;
  Rbac& operator=(const Rbac&) = delete;

  Decision authorize(const Attributes& attributes) const;

  struct Grants {
    std::vector<PolicyRule> rules;
    std::vector<std::string> problems;  // bindings whose role does not exist
  };
  // The cluster-wide grants, and those in the namespace unless it is "".
  Grants grantsOf(const User& user, std::string_view namespace_) const;

  // The rules of a Role (in that namespace) or a ClusterRole; nullptr if it does not exist.
  const std::vector<PolicyRule>* rulesOfRole(std::string_view kind, std::string_view namespace_,
                                             std::string_view name) const;

 private:
  struct Subject {
    std::string kind, name, namespace_;
  };
  struct Binding {
    std::string name, namespace_;
    std::string roleKind, roleName;
    std::vector<Subject> subjects;
  };
  using BindingPtr = std::shared_ptr<const Binding>;
  using ByName = std::map<std::string, std::vector<BindingPtr>, std::less<>>;
  struct Bindings {
    ByName users;  // service accounts under their user names
    ByName groups;
  };
  // Returning false ends the visit.
  using Visitor =
      std::function<bool(const Binding& binding, const Subject& subject, const PolicyRule& rule)>;

  void follow(const char* table, void (Rbac::*change)(const Event&));
  void roleChanged(const Event& event);
  void clusterRoleChanged(const Event& event);
  void bindingChanged(const Event& event);
  void index(const BindingPtr& binding, bool present);
  bool visit(const User& user, std::string_view namespace_, const Visitor& visitor,
             std::vector<std::string>& problems) const;
  bool visit(const std::vector<BindingPtr>& bindings, std::string_view subjectName,
             const Visitor& visitor, std::vector<std::string>& problems) const;

  Store& store_;
  using Roles = std::map<std::string, std::vector<PolicyRule>, std::less<>>;
  Roles roles_;                                              // by key
  Roles clusterRoles_;                                       // by name
  std::map<std::string, BindingPtr, std::less<>> bindings_;  // by key; cluster-wide ones by name
  Bindings clusterWide_;
  std::map<std::string, Bindings, std::less<>> byNamespace_;
};

// "RBAC: x" for one problem, "RBAC: [x, y]" for several.
std::string problemText(std::vector<std::string> problems);

}  // namespace koord::apiserver
