#pragma once

// What the expressions of admission policies and of match conditions can read.
//
// `object` and `oldObject` (null if the operation has none), `request` (the request of an
// AdmissionReview without these objects), `namespaceObject` (null for cluster-scoped objects),
// `authorizer` and `authorizer.requestResource`, which ask what the user may do, and `params` if
// the policy has parameters (null if the binding names none).
//
// Threads: immutable, may be shared.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cel/cel.h"
#include "cel/dynamic_object.h"
#include "cel/library/kubernetes_authz.h"

namespace koord::apiserver {

// The values of one request. They outlive its evaluation.
struct PolicyInputs {
  const json::value& object;
  const json::value& oldObject;
  const json::value& request;
  const json::value& namespaceObject;
  const json::value& params;
  const cel::Authorizer& authorizer;
};

class PolicyEnvironment {
 public:
  struct Options {
    bool hasParams = false;
    const cel::ObjectType* variables = nullptr;  // the type of `variables`; nullptr: there is none
    cel::TypeResolver* patchTypes = nullptr;     // for patching()
    std::optional<cel::Type> object, params = {};  // known types; nullopt: dyn
  };
  static Result<PolicyEnvironment> create(const Options& options);

  // Without the authorizer.
  const cel::Environment& plain() const { return plain_; }
  const cel::Environment& full() const { return full_; }
  // full(), and the types and functions that make patches. Requires patchTypes.
  const cel::Environment& patching() const { return patching_ ? *patching_ : full_; }

  // Serves the programs of all three environments.
  cel::Activation activate(const PolicyInputs& inputs) const;

 private:
  PolicyEnvironment(cel::Environment plain, cel::Environment full)
      : plain_(std::move(plain)), full_(std::move(full)) {}
  cel::Environment plain_, full_;
  std::optional<cel::Environment> patching_;
};

// Invalid says why: "compilation failed: ERROR: ..." or "must evaluate to bool but got dyn". No
// types: any result will do.
Result<cel::Program> compilePolicyExpression(const cel::Environment& environment,
                                             std::string_view expression,
                                             const std::vector<cel::Type>& types);

}  // namespace koord::apiserver
