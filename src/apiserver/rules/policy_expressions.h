#pragma once

// What all admission policies have: variables, match conditions, and expressions that read them.
//
// `variables.NAME` is what the policy defines as NAME: an expression that is evaluated when it is
// first read, and at most once in a run. It may read the variables before it. Match conditions do
// not see variables.
//
// Costs: each expression has a limit, and so has a run, which is charged for the variables, too.
// Threads: immutable, may be shared. A PolicyRun belongs to one thread.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/rules/policy_environment.h"

namespace koord::apiserver {

// The text is as it was given, for messages.
struct PolicyExpression {
  std::string text;
  cel::Program program;
};

// The type of `variables`: its fields are computed when they are read.
class PolicyVariables final : public cel::ObjectType {
 public:
  std::string_view name() const override { return "kubernetes.variables"; }
  std::optional<Field> field(std::string_view name) const override;
  cel::Value get(const void* run, int field) const override;
  bool has(const void*, int) const override { return true; }
  void add(std::string_view name, cel::Type type);

 private:
  std::map<std::string, Field, std::less<>> fields_;
};

class PolicyExpressions {
 public:
  // Compiles spec.variables and spec.matchConditions. `patchTypes`, which may be nullptr, makes
  // patching() available and outlives this.
  // `object` and `params` are types, if they are known.
  PolicyExpressions(const json::value& spec, cel::TypeResolver* patchTypes,
                    std::optional<cel::Type> object = {}, std::optional<cel::Type> params = {});
  PolicyExpressions(const PolicyExpressions&) = delete;
  PolicyExpressions& operator=(const PolicyExpressions&) = delete;

  // "spec.validations[0].expression: Invalid value: ...", in the order of the policy.
  const std::vector<std::string>& problems() const { return problems_; }
  void addProblem(std::string problem) { problems_.push_back(std::move(problem)); }

  // nullptr: the environments could not be made; problems() says why.
  const PolicyEnvironment* environment() const { return environment_ ? &*environment_ : nullptr; }
  // Compiles an expression of the policy; nullopt if it is in problems(). `required` is the error
  // for a blank expression.
  std::optional<PolicyExpression> compile(const cel::Environment& environment, std::string path,
                                          std::string_view text,
                                          const std::vector<cel::Type>& types,
                                          std::string_view required = "");

  // False if one match condition is false, although others may have failed. Otherwise the errors of
  // those that failed, if there are any.
  // `cost`, if given, receives the cost of all.
  Result<bool> match(const PolicyInputs& inputs, std::uint64_t* cost = nullptr) const;

 private:
  friend class PolicyRun;
  void addVariables(const json::value& spec);
  void addConditions(const json::value& spec);

  PolicyVariables names_;
  std::optional<PolicyEnvironment> environment_;
  std::optional<PolicyEnvironment> conditionEnvironment_;
  std::vector<std::pair<std::string, cel::Program>> variables_;
  std::vector<PolicyExpression> conditions_;
  std::vector<std::string> problems_;
};

// An evaluation of several expressions for one request, with a budget for all of them.
class PolicyRun {
 public:
  // `policy` has environments. All arguments outlive the run.
  PolicyRun(const PolicyExpressions& policy, const PolicyInputs& inputs, std::uint64_t budget);
  PolicyRun(const PolicyRun&) = delete;
  PolicyRun& operator=(const PolicyRun&) = delete;

  // Invalid: "expression '...' resulted in error: ...". TooManyRequests: the budget is used up, and
  // nothing further may be evaluated. The value is valid while the run is.
  Result<cel::Value> evaluate(const PolicyExpression& expression);
  std::uint64_t budget() const { return budget_; }  // what is left

 private:
  friend class PolicyVariables;
  cel::Value variable(std::size_t index);

  const PolicyExpressions& policy_;
  cel::Activation activation_;
  std::vector<std::optional<cel::Value>> values_;  // of variables
  std::uint64_t budget_;
  std::uint64_t spentOnVariables_ = 0;  // during the current expression
  int depth_ = 0;                       // of variables that read variables
};

// Evaluates match conditions: see PolicyExpressions::match.
Result<bool> matchConditions(const PolicyEnvironment& environment,
                             const std::vector<PolicyExpression>& conditions,
                             const PolicyInputs& inputs, std::uint64_t* cost = nullptr);

}  // namespace koord::apiserver
