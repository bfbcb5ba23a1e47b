#pragma once

// The expressions of a MutatingAdmissionPolicy, compiled. Each makes a patch of one of two kinds:
//
// - ApplyConfiguration: Object{spec: Object.spec{replicas: 3}}, merged into the object along its
//   schema, as server-side apply merges. It may not set lists and maps that are atomic, because
//   what it leaves out of them would be lost.
// - JSONPatch: [JSONPatch{op: "add", path: "/spec/replicas", value: 3}].
//
// policy_expressions.h describes what expressions read. Costs: each has a budget. Threads:
// immutable, may be shared.

#include <memory>
#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "apiserver/rules/policy_expressions.h"

namespace koord::apiserver {

class MutationProgram {
 public:
  // `spec` is the policy's. What cannot be compiled is in problems().
  static std::shared_ptr<const MutationProgram> compile(const json::value& spec);
  ~MutationProgram();

  // "spec.mutations[0].jsonPatch.expression: Invalid value: ...".
  const std::vector<std::string>& problems() const;
  // The mutations, in the order in which they are applied. Requires that there are no problems, as
  // the functions below do.
  std::size_t size() const;
  // See PolicyExpressions::match. Both functions add the cost of the evaluation to `cost`.
  Result<bool> match(const PolicyInputs& inputs, std::uint64_t& cost) const;
  // The object after a mutation. `schema` is the object's; nullptr: it has none. Invalid if the
  // expression cannot be evaluated or its patch cannot be applied.
  Result<json::value> apply(std::size_t index, const PolicyInputs& inputs,
                            const api::Schema* schema, std::uint64_t& cost) const;

 private:
  struct State;
  explicit MutationProgram(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace koord::apiserver
