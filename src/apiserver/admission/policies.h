#pragma once

// ValidatingAdmissionPolicies: rules in CEL about requests, which their bindings put into force.
//
// A policy says which requests it is about and what must be true of them (rules/policy_program.h).
// A binding names a policy, may narrow the requests, gives parameters, and says what happens if a
// validation fails: the request is denied, or its user warned. A policy without a binding has no
// effect.
//
// Differences from Kubernetes: with matchPolicy Equivalent a policy sees the object in the version
// of the request; failures and audit annotations are not written to the audit log.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/admission/matching.h"
#include "apiserver/objects/failure.h"
#include "apiserver/rules/policy_program.h"

namespace koord::apiserver {

class AdmissionPolicies {
 public:
  // The objects that a binding's paramRef names, of the policy's paramKind. `namespace_` is that of
  // the request.
  using Params = std::function<Result<std::vector<json::value>>(
      const json::value& paramKind, const json::value& paramRef, const std::string& namespace_)>;
  struct Host {
    NamespaceLabels namespaceLabels;
    std::function<json::value(std::string_view name)> namespaceObject;  // null: there is none
    Params params;
    Authorize authorize;
  };
  void setHost(Host host) { host_ = std::move(host); }

  // Follow the objects. Called with each stored version, and with null after a deletion.
  void setPolicy(const std::string& name, const json::value* policy);
  void setBinding(const std::string& name, const json::value* binding);

  // Returns true if a policy in force may match. Cheap.
  bool wants(const AdmissionAttributes& attributes) const;
  // The failure of a denied request. `warnings` receives failed validations whose binding warns.
  Outcome<> check(const AdmissionAttributes& attributes, std::vector<std::string>& warnings) const;

 private:
  // The matchConstraints of a policy, or the matchResources of a binding.
  struct Match {
    struct Rule {
      api::RuleWithOperations rule;
      std::vector<std::string> names;  // of objects; empty = all
    };
    std::vector<Rule> rules, excluded;
    bool anyRules = false;  // a binding without rules matches what its policy matches
    bool equivalent = true;
    api::Selector namespaceSelector, objectSelector;
    std::string problem;
  };
  struct Policy {
    Match match;
    std::shared_ptr<const PolicyProgram> program;
    json::value paramKind;
    bool ignoresErrors = false;
  };
  struct Binding {
    std::string policy;
    Match match;
    json::value paramRef;
    bool denies = false, warns = false;
  };

  static Match matchOf(const json::value* in, bool anyRules);
  static bool matches(const std::vector<Match::Rule>& rules, const Match& match,
                      const AdmissionAttributes& attributes);
  bool matches(const Match& match, const AdmissionAttributes& attributes) const;
  // The denials of the policy for one binding, with what they are because of.
  std::vector<PolicyProgram::Denial> denialsOf(const Policy& policy, const Binding& binding,
                                               const AdmissionAttributes& attributes) const;

  Host host_;
  std::map<std::string, Policy> policies_;
  std::map<std::string, Binding> bindings_;
};

}  // namespace koord::apiserver
