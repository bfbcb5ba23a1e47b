#pragma once

// The matchConstraints of a policy, or the matchResources of a binding, compiled.

#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/matching.h"

namespace koord::apiserver {

class PolicyMatch {
 public:
  // A null `resources` matches everything; so does a binding's without rules (`anyRules`).
  static PolicyMatch compile(const json::value& resources, bool anyRules);

  // The form in which the policy sees the request; nullopt: it does not.
  std::optional<ResourceForm> match(const AdmissionAttributes& attributes,
                                    const RequestForms& forms, const NamespaceLabels& labels) const;
  // Returns true if match() may succeed. Cheap.
  bool mayMatch(const AdmissionAttributes& attributes, const RequestForms& forms) const {
    return anyRules_ || matchedForm(rules_, equivalent_, attributes, forms).has_value();
  }
  // Why a selector cannot be used; it matches everything then.
  const std::string& problem() const { return problem_; }

 private:
  std::vector<RequestRule> rules_, excluded_;
  bool anyRules_ = false;
  bool equivalent_ = true;
  api::Selector namespaceSelector_, objectSelector_;
  std::string problem_;
};

// The texts of a list at a member.
std::vector<std::string> textsAt(const json::value& in, std::string_view name);

}  // namespace koord::apiserver
