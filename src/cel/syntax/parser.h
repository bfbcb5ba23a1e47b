#pragma once

// The parser: a text becomes a syntax tree.
//
// A recursive descent over the grammar of the language definition (cel-spec, doc/langdef.md): one
// function a level of precedence. Macros are expanded when their call is complete, so that the
// arguments of a macro are expanded before it. Chains of && and || become one call of many
// arguments, so that long chains do not nest. The cost is linear in the text; the nesting of what
// is written and the height of what macros make of it are bounded.

#include <functional>
#include <string_view>

#include "cel/issues.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

using MacroTable = std::function<const Macro*(std::string_view name, bool member, int arguments)>;

struct ParseOptions {
  ParseLimits limits;
  MacroTable macros;
};

// nullptr after an issue.
ExprPtr parse(std::string_view text, const ParseOptions& options, IssueList& issues);

}  // namespace koord::cel
