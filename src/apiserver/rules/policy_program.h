#pragma once

// The expressions of a ValidatingAdmissionPolicy, compiled.
//
// Variables: `object` and `oldObject` (null if the operation has none), `request` (the request of
// an AdmissionReview without these objects), `namespaceObject` (null for cluster-scoped objects),
// `params` if the policy has a paramKind (null if the binding names none), `authorizer`, and
// `variables.NAME`, which the policy defines: each is evaluated at most once per request, when it
// is first read, and may read those before it.
//
// Cost: each evaluation is limited, and so is the sum of all for one request. Threads: immutable,
// may be shared.

#include <memory>
#include <string>
#include <vector>

#include "apiserver/rules/match_conditions.h"
#include "base/json.h"

namespace koord::apiserver {

class PolicyProgram {
 public:
  struct Inputs {
    const json::value& object;
    const json::value& oldObject;
    const json::value& request;
    const json::value& namespaceObject;
    const json::value& params;
    const cel::Authorizer& authorizer;
  };
  // A validation that failed, or could not be evaluated.
  struct Denial {
    std::size_t index = 0;  // of spec.validations
    std::string message;
    std::string reason;  // of a Status: "Invalid"
    bool isError = false;
  };

  // `spec` is the policy's. What cannot be compiled is in problems().
  static std::shared_ptr<const PolicyProgram> compile(const json::value& spec);
  ~PolicyProgram();

  // "spec.validations[0].expression: Invalid value: ...".
  const std::vector<std::string>& problems() const;
  // The denials. Empty if a match condition is false. After an error in a match condition, or if
  // the policy cannot be compiled, it is the only denial.
  std::vector<Denial> evaluate(const Inputs& inputs) const;

 private:
  struct State;
  explicit PolicyProgram(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace koord::apiserver
