#pragma once

// The type checker.
//
// It walks the tree from the leaves up, gives each expression a type, resolves names to variables,
// constants and types, and chooses the overloads of each call that the types of its arguments
// allow. A type that is not known (an empty list, the result of a generic function) is a type
// variable, which unification binds to a type when another type has to agree with it:
// Hindley-Milner inference, restricted to expressions without functions as values. `dyn` agrees
// with every type, and defers the choice of an overload to evaluation. The rules are those of
// cel-go's checker.
//
// The cost is linear in the size of the tree times the overloads of a function.

#include "cel/environment_state.h"
#include "cel/issues.h"
#include "cel/syntax/ast.h"

namespace koord::cel {

// Writes types and names into the tree, and issues of what is wrong.
void check(Expr& expr, const EnvironmentState& environment, IssueList& issues);

}  // namespace koord::cel
