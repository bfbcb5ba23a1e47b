#pragma once

// The static estimate of an expression's cost.
//
// For each expression it computes a range of costs, and of sizes where the value is text, a list or
// a map: a comprehension costs the size of its range times the cost of a step; a concatenation is
// as long as its parts. Sizes of inputs come from the cost model, by the path from the variable
// ("self", "spec", "names", "@items"). The rules are those of cel-go's checker/cost.go, so that an
// expression that one accepts is accepted by the other.

#include "cel/cost.h"
#include "cel/environment_state.h"
#include "cel/syntax/ast.h"

namespace koord::cel {

// `expr` is checked.
CostEstimate estimate(const Expr& expr, const EnvironmentState& environment);

}  // namespace koord::cel
