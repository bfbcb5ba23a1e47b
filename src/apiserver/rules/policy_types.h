#pragma once

// Type checking of ValidatingAdmissionPolicies. Expressions are evaluated without types, so a wrong
// field name is found when a request comes. This finds it earlier, for the kinds that a policy
// names without wildcards, and only warns.
//
// Cost: compiles the policy once for each kind.

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "base/json.h"

namespace koord::apiserver {

class PolicyTypeCheck {
 public:
  // `objectMeta` is the schema of metadata. `params`: that of the policy's paramKind; nullptr if it
  // is not known. All arguments outlive this.
  PolicyTypeCheck(const json::value& spec, const api::Schema* params,
                  const api::Schema& objectMeta);

  // Checks the expressions for the objects of a kind: "apps/v1, Kind=Deployment".
  void check(const std::string& kind, const api::Schema& schema);
  // status.typeChecking.expressionWarnings of the policy, for the kinds that were checked.
  json::array warnings() const;

 private:
  struct Expression {
    std::string fieldRef, text;
    std::string warning;  // one text a kind
  };

  const json::value& spec_;
  const api::Schema* params_;
  const api::Schema& objectMeta_;
  std::vector<Expression> expressions_;
};

}  // namespace koord::apiserver
