#include "apiserver/admission/validating_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apiserver/admission/policy_request.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxAuditedFailures = 50;
constexpr std::size_t kMaxAuditValueBytes = 10 << 10;
constexpr const char* kFailureAnnotation = "validation.policy.admission.k8s.io/validation_failure";

using Denial = PolicyProgram::Denial;
using Invocation = ValidatingPolicies::Invocation;

int statusOf(std::string_view reason) {
  if (reason == "Unauthorized") return 401;
  if (reason == "Forbidden") return 403;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

// The reason of a Status, which outlives it.
std::string_view reasonOf(std::string_view reason) {
  for (const std::string_view known : {"Unauthorized", "Forbidden", "RequestEntityTooLarge"})
    if (reason == known) return known;
  return "Invalid";
}

// What all policies say about one request.
class Verdict {
 public:
  Verdict(const AdmissionAttributes& attributes, AdmissionNotes& notes)
      : attributes_(attributes), notes_(notes) {}

  void add(const Invocation& invocation, PolicyProgram::Findings findings) {
    for (const Denial& denial : findings.denials) {
      if (denial.isError && invocation.policy->ignoresErrors) continue;
      for (const std::string& action : invocation.binding->actions) act(action, invocation, denial);
    }
    for (auto& [key, value] : findings.annotations)
      annotate(*invocation.policy, key, value.substr(0, kMaxAuditValueBytes));
    // An annotation that cannot be computed denies whatever the binding's actions are.
    for (std::string& error : findings.annotationErrors)
      if (!invocation.policy->ignoresErrors)
        deny(invocation.policy->name, &invocation.binding->name, {0, std::move(error), "Invalid"});
  }
  void add(const ValidatingPolicies::Problem& problem) {
    if (problem.policy->ignoresErrors) return;
    deny(problem.policy->name, problem.binding ? &problem.binding->name : nullptr,
         {0, problem.message, "Invalid"});
  }

  Outcome<> end() {
    for (auto& [name, values] : annotations_)
      notes_.annotations.emplace(name, fmt::format("{}", fmt::join(values, ", ")));
    if (!failures_.empty()) notes_.annotations.emplace(kFailureAnnotation, toJson(failures_));
    if (denied_) return refuse(*std::move(denied_));
    return {};
  }

 private:
  void act(std::string_view action, const Invocation& invocation, const Denial& denial) {
    const std::string &policy = invocation.policy->name, &binding = invocation.binding->name;
    if (action == "Deny") {
      deny(policy, &binding, denial);
    } else if (action == "Warn") {
      notes_.warnings.push_back(
          fmt::format("Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                      policy, binding, denial.message));
    } else if (action == "Audit" && failures_.size() < kMaxAuditedFailures) {
      const auto& actions = invocation.binding->actions;
      failures_.push_back({{"message", denial.message},
                           {"policy", policy},
                           {"binding", binding},
                           {"expressionIndex", denial.index},
                           {"validationActions", json::array(actions.begin(), actions.end())}});
    }
  }

  void deny(const std::string& policy, const std::string* binding, const Denial& denial) {
    if (denied_) return;
    const std::string why =
        fmt::format("ValidatingAdmissionPolicy '{}'{} denied request: {}", policy,
                    binding ? fmt::format(" with binding '{}'", *binding) : "", denial.message);
    denied_ = Failure(ErrorCode::Forbidden,
                      fmt::format("{} \"{}\" is forbidden: {}", attributes_.resource->qualified(),
                                  attributes_.name, why));
    denied_->causes.push_back({"", why, ""});
    denied_->status = statusOf(denial.reason);
    denied_->reason = reasonOf(denial.reason);
  }

  // Several bindings, or parameters, of a policy may give the same key.
  void annotate(const ValidatingPolicies::Policy& policy, const std::string& key,
                std::string value) {
    auto& values = annotations_[fmt::format("{}/{}", policy.name, key)];
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  }

  const AdmissionAttributes& attributes_;
  AdmissionNotes& notes_;
  std::optional<Failure> denied_;
  json::array failures_;
  std::map<std::string, std::vector<std::string>> annotations_;
};

}  // namespace

Task<Outcome<>> ValidatingPolicies::check(const AdmissionAttributes& a, const AdmissionHost& host,
                                          AdmissionNotes& notes, Pauses& pauses) const {
  const RequestForms forms(host.forms, a);
  if (!mayMatch(a, forms)) co_return Outcome<>();
  Verdict verdict(a, notes);
  std::optional<PolicyRequest> request;
  const std::vector<Selected> selection = select(a, forms, host);
  for (const Selected& selected : selection) {
    if (const auto* problem = std::get_if<Problem>(&selected)) {
      verdict.add(*problem);
      continue;
    }
    if (!request) {
      auto namespaceObject = namespaceObjectOf(host, a);
      if (!namespaceObject) co_return std::unexpected(std::move(namespaceObject.error()));
      request.emplace(host, a, forms, *std::move(namespaceObject));
    }
    const auto& invocation = std::get<Invocation>(selected);
    PolicyProgram::Evaluation evaluation(*invocation.policy->program,
                                         request->inputs(invocation.form, invocation.param.get()));
    for (bool more = true; more;) {
      more = evaluation.step();
      if (!pauses.afterCost(evaluation.cost())) continue;
      auto pause = pauses.pause();
      co_await pause;
    }
    verdict.add(invocation, evaluation.takeFindings());
  }
  co_return verdict.end();
}

}  // namespace koord::apiserver
