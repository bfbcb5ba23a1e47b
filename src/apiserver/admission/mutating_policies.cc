#include "apiserver/admission/mutating_policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/admission/policy_request.h"
#include "base/json_equal.h"

namespace koord::apiserver {
namespace {

using Invocation = MutatingPolicies::Invocation;

std::string keyOf(const Invocation& invocation) {
  std::string key = fmt::format("{}/{}", invocation.policy->name, invocation.binding->name);
  if (const PolicyParam& param = invocation.param)
    key += fmt::format("/{}/{}", textAt(*param, "metadata", "namespace"),
                       textAt(*param, "metadata", "name"));
  return key;
}

// The policies that could not be applied, whose failure policy is Fail.
class Refusals {
 public:
  template <class Policy, class Binding>
  void add(const Policy& policy, const Binding& binding, std::string_view why, bool invalid) {
    if (policy->ignoresErrors) return;
    std::string message = binding
                              ? fmt::format("policy '{}' with binding '{}' denied request: {}",
                                            policy->name, binding->name, why)
                              : fmt::format("policy \"{}\" denied request: {}", policy->name, why);
    if (!failure_) {
      failure_ = Failure(ErrorCode::Forbidden, message);
      if (invalid) failure_->reason = "Invalid";
      failure_->status = 403;
    }
    failure_->causes.push_back({"", std::move(message), ""});
  }
  Outcome<> end() {
    if (failure_) return refuse(*std::move(failure_));
    return {};
  }

 private:
  std::optional<Failure> failure_;
};

// Applies the mutations of one invocation. An error is that of the last mutation that failed, which
// later ones do not depend on.
class Application {
 public:
  Application(const Invocation& invocation, const RequestForms& forms, PolicyRequest& request,
              const CompleteObject& complete)
      : invocation_(invocation), forms_(forms), request_(request), complete_(complete) {}

  bool isApplied = false;  // at least one mutation

  Result<bool> match(std::uint64_t& cost) {
    return invocation_.policy->program->match(inputs(), cost);
  }
  // The inner error is that of the expression or its patch.
  Outcome<Result<>> apply(std::size_t index, std::uint64_t& cost) {
    const ResourceForm& form = invocation_.form;
    auto next = invocation_.policy->program->apply(index, inputs(), request_.schema(form), cost);
    if (!next) return Result<>(fail(std::move(next).error()));
    json::value object = forms_.converted(*std::move(next), form, true);
    if (auto good = complete_(object, true); !good) return std::unexpected(std::move(good.error()));
    request_.setObject(std::move(object));
    isApplied = true;
    return Result<>();
  }

 private:
  PolicyInputs inputs() { return request_.inputs(invocation_.form, invocation_.param.get()); }

  const Invocation& invocation_;
  const RequestForms& forms_;
  PolicyRequest& request_;
  const CompleteObject& complete_;
};

// Adds the problems to `refusals`: as in kube-apiserver, they are reported before the errors of
// expressions. The result points into `selection`.
template <class Selection>
std::vector<const Invocation*> invocationsOf(const Selection& selection, Refusals& refusals) {
  std::vector<const Invocation*> invocations;
  for (const auto& selected : selection) {
    if (const auto* invocation = std::get_if<Invocation>(&selected)) {
      invocations.push_back(invocation);
    } else {
      const auto& problem = std::get<MutatingPolicies::Problem>(selected);
      refusals.add(problem.policy, problem.binding, problem.message, false);
    }
  }
  return invocations;
}

}  // namespace

Task<Outcome<>> MutatingPolicies::mutate(AdmissionAttributes& a, const AdmissionHost& host,
                                         Reinvocation& rounds, const CompleteObject& complete,
                                         bool& again, Pauses& pauses) const {
  const RequestForms forms(host.forms, a);
  // A deletion has no object that could change.
  if (a.operation == "DELETE" || !mayMatch(a, forms)) co_return Outcome<>();
  const std::vector<Selected> selection = select(a, forms, host);
  Refusals refusals;
  const std::vector<const Invocation*> invocations = invocationsOf(selection, refusals);
  if (invocations.empty()) co_return refusals.end();
  auto namespaceObject = namespaceObjectOf(host, a);
  if (!namespaceObject) co_return std::unexpected(std::move(namespaceObject.error()));
  PolicyRequest request(host, a, forms, *std::move(namespaceObject));
  bool isPatched = false;
  for (const Invocation* const each : invocations) {
    const Invocation& invocation = *each;
    Application application(invocation, forms, request, complete);
    std::uint64_t cost = 0;
    const auto matched = application.match(cost);
    if (pauses.afterCost(cost)) {
      auto pause = pauses.pause();
      co_await pause;
    }
    if (!matched)
      refusals.add(invocation.policy, invocation.binding, matched.error().message, true);
    const std::string key = keyOf(invocation);
    if (!matched || !*matched || !rounds.mayCall(key)) continue;
    const json::value before = request.object();
    for (std::size_t i = 0; i < invocation.policy->program->size() && !before.is_null(); ++i) {
      std::uint64_t ofPatch = 0;
      auto applied = application.apply(i, ofPatch);
      if (!applied) co_return std::unexpected(std::move(applied.error()));
      if (!*applied)
        refusals.add(invocation.policy, invocation.binding, applied->error().message, true);
      if (pauses.afterCost(ofPatch)) {
        auto pause = pauses.pause();
        co_await pause;
      }
    }
    if (!sameJson(request.object(), before)) {
      rounds.onChange();
      again = true;
    }
    if (invocation.policy->reinvoked) rounds.onCalled(key);
    isPatched = isPatched || application.isApplied;
  }
  // As kube-apiserver: after any patch there is a second round, in which all that may be invoked
  // again are, those that made the last patch, too.
  if (isPatched) {
    rounds.onChange();
    again = true;
  }
  a.object = request.object();
  co_return refusals.end();
}

}  // namespace koord::apiserver
