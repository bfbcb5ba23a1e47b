#pragma once

// Macros: calls that the parser replaces with other expressions, because their arguments are not
// evaluated once and from left to right: `list.all(x, p)` evaluates p for each element.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/issues.h"
#include "cel/syntax/ast.h"

namespace koord::cel {

// Makes expressions at the position of a macro call.
class MacroContext {
 public:
  MacroContext(IssueList& issues, std::uint32_t position) : issues_(issues), position_(position) {}

  ExprPtr literal(Value value) const;
  ExprPtr ident(std::string_view name) const;
  ExprPtr accumulator() const { return ident(op::kAccumulator); }
  template <class... Arguments>
  ExprPtr call(std::string_view name, Arguments... arguments) const {
    std::vector<ExprPtr> all;
    (all.push_back(std::move(arguments)), ...);
    return makeCall(nullptr, name, std::move(all));
  }
  template <class... Arguments>
  ExprPtr memberCall(ExprPtr target, std::string_view name, Arguments... arguments) const {
    std::vector<ExprPtr> all;
    (all.push_back(std::move(arguments)), ...);
    return makeCall(std::move(target), name, std::move(all));
  }
  ExprPtr makeCall(ExprPtr target, std::string_view name, std::vector<ExprPtr> arguments) const;
  ExprPtr list(std::vector<ExprPtr> elements = {}) const;
  ExprPtr map(ExprPtr key = nullptr, ExprPtr value = nullptr) const;
  ExprPtr testOnly(ExprPtr target, std::string field) const;
  ExprPtr fold(Comprehension comprehension) const;
  // let name = init in result: a comprehension over nothing, whose init is evaluated if the name is
  // read.
  ExprPtr bind(std::string name, ExprPtr init, ExprPtr result) const;

  // The macro cannot be expanded; returns nullptr.
  ExprPtr error(const Expr& at, std::string message);
  bool failed() const { return failed_; }

  // The name of a variable that an argument gives; "" after an issue.
  std::string variable(const Expr& argument,
                       std::string_view message = "argument is not an identifier");

 private:
  ExprPtr make(ExprKind kind) const;
  IssueList& issues_;
  std::uint32_t position_;
  bool failed_ = false;
};

struct Macro {
  std::string name;
  bool member = false;  // target.name(...)
  int arguments = -1;   // -1: any number
  // Returns the expression that replaces the call; it may move from target and arguments. Returns
  // nullptr, and moves nothing, if the call is not this macro.
  std::function<ExprPtr(MacroContext&, ExprPtr& target, std::vector<ExprPtr>& arguments)> expand;
};

// has, all, exists, exists_one, existsOne, map, filter.
const std::vector<Macro>& standardMacros();

// The variables of a comprehension; `second` is empty if there is one.
struct FoldVariables {
  std::string first, second;
};
// What all, exists and exists_one become.
ExprPtr foldAll(MacroContext& context, ExprPtr range, FoldVariables variables, ExprPtr predicate);
ExprPtr foldExists(MacroContext& context, ExprPtr range, FoldVariables variables,
                   ExprPtr predicate);
ExprPtr foldExistsOne(MacroContext& context, ExprPtr range, FoldVariables variables,
                      ExprPtr predicate);

// Makes the height of `expr` right, whose children have theirs.
void measureHeight(Expr& expr);

}  // namespace koord::cel
