#pragma once

// The planner: a checked (or only parsed) syntax tree becomes a tree of nodes. Names become slots,
// calls get their overloads, constants are computed.

#include <memory>
#include <string>

#include "cel/environment_state.h"
#include "cel/eval/node.h"
#include "cel/syntax/ast.h"

namespace koord::cel {

struct Plan {
  NodePtr root;
  std::size_t locals = 0;  // that a Frame needs
};

// Invalid if the tree cannot be evaluated: a constant conversion that fails, a function that does
// not exist.
Result<Plan> plan(const Expr& expr, const EnvironmentState& environment);

}  // namespace koord::cel
