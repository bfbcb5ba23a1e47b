#pragma once

// The admission policies of one kind, with the bindings that put them into force.
//
// Not thread-safe. What select() returns stays valid when policies change.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "api/group_version.h"
#include "apiserver/admission/host.h"
#include "apiserver/admission/policy_match.h"
#include "apiserver/admission/policy_params.h"

namespace koord::apiserver {

// Policies do not apply to policies and bindings, so that they cannot block their repair.
inline bool isAboutPolicies(const AdmissionAttributes& a) {
  return a.resource->group == "admissionregistration.k8s.io" &&
         (a.resource->plural.ends_with("admissionpolicies") ||
          a.resource->plural.ends_with("admissionpolicybindings"));
}

// `Program` is what the expressions of a policy compile to.
template <class Program>
class PolicySet {
 public:
  struct Policy {
    std::string name;
    PolicyMatch match;
    std::shared_ptr<const Program> program;
    json::value paramKind;
    bool ignoresErrors = false;
    bool reinvoked = false;  // reinvocationPolicy IfNeeded
  };
  struct Binding {
    std::string name;
    std::string policy;
    PolicyMatch match;
    json::value paramRef;
    std::vector<std::string> actions;
  };
  // A policy, a binding and the parameters that it gives.
  struct Invocation {
    std::shared_ptr<const Policy> policy;
    std::shared_ptr<const Binding> binding;
    ResourceForm form;
    PolicyParam param;  // nullptr: none
  };
  // Why a policy or a binding cannot be applied to a request.
  struct Problem {
    std::shared_ptr<const Policy> policy;
    std::shared_ptr<const Binding> binding;  // nullptr: the policy is the problem
    std::string message;
  };
  using Selected = std::variant<Invocation, Problem>;

  // Follow the objects. Called with each stored version, and with null after a deletion.
  void setPolicy(const std::string& name, const json::value* object);
  void setBinding(const std::string& name, const json::value* object);

  // Returns true if select() may find something. Cheap.
  bool mayMatch(const AdmissionAttributes& attributes, const RequestForms& forms) const;
  // What applies to the request, by policies and then bindings in the order of their names.
  std::vector<Selected> select(const AdmissionAttributes& attributes, const RequestForms& forms,
                               const AdmissionHost& host) const;

 private:
  // Adds what applies, or why not: a binding of the policy, once for each of its parameters. `kind`
  // is that of parameters; nullopt: the policy has none.
  static void selectBinding(const AdmissionAttributes& attributes,
                            const std::shared_ptr<const Policy>& policy, const ResourceForm& form,
                            const std::shared_ptr<const Binding>& binding,
                            const std::optional<Target>& kind, PolicyParams& params,
                            std::vector<Selected>& out);

  std::map<std::string, std::shared_ptr<const Policy>> policies_;
  std::map<std::string, std::shared_ptr<const Binding>> bindings_;
  // Names of bindings by the policy that they name, which need not exist.
  std::map<std::string, std::map<std::string, std::shared_ptr<const Binding>>> bindingsOf_;
};

template <class Program>
void PolicySet<Program>::setPolicy(const std::string& name, const json::value* object) {
  policies_.erase(name);
  if (!object) return;
  const json::value& spec = memberOf(*object, "spec");
  policies_[name] = std::make_shared<const Policy>(Policy{
      name, PolicyMatch::compile(memberOf(spec, "matchConstraints"), false), Program::compile(spec),
      memberOf(spec, "paramKind"), textAt(spec, "failurePolicy") == "Ignore",
      textAt(spec, "reinvocationPolicy") == "IfNeeded"});
}

template <class Program>
void PolicySet<Program>::setBinding(const std::string& name, const json::value* object) {
  if (const auto known = bindings_.find(name); known != bindings_.end()) {
    const auto of = bindingsOf_.find(known->second->policy);
    of->second.erase(name);
    if (of->second.empty()) bindingsOf_.erase(of);
    bindings_.erase(known);
  }
  if (!object) return;
  const json::value& spec = memberOf(*object, "spec");
  const auto binding = std::make_shared<const Binding>(
      Binding{name, std::string(textAt(spec, "policyName")),
              PolicyMatch::compile(memberOf(spec, "matchResources"), true),
              memberOf(spec, "paramRef"), textsAt(spec, "validationActions")});
  bindings_[name] = binding;
  bindingsOf_[binding->policy][name] = binding;
}

template <class Program>
bool PolicySet<Program>::mayMatch(const AdmissionAttributes& a, const RequestForms& forms) const {
  if (bindingsOf_.empty() || isAboutPolicies(a)) return false;
  for (const auto& [name, policy] : policies_)
    if (bindingsOf_.contains(name) && policy->match.mayMatch(a, forms)) return true;
  return false;
}

template <class Program>
auto PolicySet<Program>::select(const AdmissionAttributes& a, const RequestForms& forms,
                                const AdmissionHost& host) const -> std::vector<Selected> {
  std::vector<Selected> out;
  PolicyParams params;
  if (isAboutPolicies(a)) return out;
  for (const auto& [name, policy] : policies_) {
    const auto bindings = bindingsOf_.find(name);
    if (bindings == bindingsOf_.end()) continue;
    const auto form = policy->match.match(a, forms, host.namespaceLabels);
    if (!form) continue;
    const auto misconfigured = [&](std::string_view why) {
      out.push_back(Problem{policy, nullptr, fmt::format("failed to configure policy: {}", why)});
    };
    if (!policy->match.problem().empty()) {
      misconfigured(policy->match.problem());
      continue;
    }
    if (!policy->program->problems().empty()) {
      misconfigured(policy->program->problems().front());
      continue;
    }
    std::optional<Target> kind;
    if (policy->paramKind.is_object() && !(kind = host.paramTarget(policy->paramKind))) {
      const auto [group, version] = api::splitApiVersion(textAt(policy->paramKind, "apiVersion"));
      misconfigured(fmt::format("failed to find resource referenced by paramKind: '{}/{}, Kind={}'",
                                group, version, textAt(policy->paramKind, "kind")));
      continue;
    }
    for (const auto& [unused, binding] : bindings->second)
      if (binding->match.match(a, forms, host.namespaceLabels))
        selectBinding(a, policy, *form, binding, kind, params, out);
  }
  return out;
}

template <class Program>
void PolicySet<Program>::selectBinding(const AdmissionAttributes& a,
                                       const std::shared_ptr<const Policy>& policy,
                                       const ResourceForm& form,
                                       const std::shared_ptr<const Binding>& binding,
                                       const std::optional<Target>& kind, PolicyParams& params,
                                       std::vector<Selected>& out) {
  const auto misconfigured = [&](std::string_view why) {
    out.push_back(Problem{policy, binding, fmt::format("failed to configure binding: {}", why)});
  };
  if (!binding->match.problem().empty()) return misconfigured(binding->match.problem());
  if (!kind || !binding->paramRef.is_object()) {
    out.push_back(Invocation{policy, binding, form, nullptr});
    return;
  }
  auto found = params.find(*kind, binding->paramRef, a.namespace_);
  if (!found) return misconfigured(found.error().message);
  if (found->empty() && textAt(binding->paramRef, "parameterNotFoundAction") == "Deny")
    return misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction");
  for (PolicyParam& param : *found)
    out.push_back(Invocation{policy, binding, form, std::move(param)});
}

}  // namespace koord::apiserver
