#pragma once

// The match conditions of admission webhooks: CEL expressions over a request. A webhook is called
// only if all of its conditions are true.
//
// policy_environment.h describes what they read.
//
// Cost: each evaluation is limited, and so is the sum of all for one request. Threads: immutable,
// may be shared.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/rules/policy_expressions.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::apiserver {

class MatchConditions {
 public:
  struct Condition {
    std::string name, expression;
  };
  struct Request {
    const json::value& object;
    const json::value& oldObject;
    const json::value& request;
    const cel::Authorizer& authorizer;
  };

  // Why the expression is not a condition; "" if it is one.
  static std::string problemOf(std::string_view expression);
  // Invalid names the first condition that cannot be compiled.
  static Result<MatchConditions> compile(const std::vector<Condition>& conditions);

  bool empty() const { return conditions_.empty(); }
  // False if one condition is false, although others may have failed. Otherwise the errors of those
  // that failed, if there are any.
  Result<bool> match(const Request& request) const;

 private:
  std::vector<PolicyExpression> conditions_;
};

}  // namespace koord::apiserver
