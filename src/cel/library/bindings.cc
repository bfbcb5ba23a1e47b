#include "cel/library/bindings.h"

#include <fmt/format.h>

#include "cel/syntax/macro.h"

namespace koord::cel {

namespace {

bool isCelNamespace(const ExprPtr& target) {
  return target && target->kind == ExprKind::Ident && target->name == "cel";
}

ExprPtr expandBind(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
  if (!isCelNamespace(target)) return nullptr;
  if (arguments[0]->kind != ExprKind::Ident)
    return context.error(*arguments[0], "cel.bind() variable names must be simple identifiers");
  return context.bind(arguments[0]->name, std::move(arguments[1]), std::move(arguments[2]));
}

std::string indexName(std::int64_t index) {
  return fmt::format("@index{}", index);
}

ExprPtr expandBlock(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments) {
  if (!isCelNamespace(target)) return nullptr;
  if (arguments[0]->kind != ExprKind::List)
    return context.error(*arguments[0], "cel.block() needs a list as its first argument");
  ExprPtr result = std::move(arguments[1]);
  std::vector<ExprPtr>& values = arguments[0]->arguments;
  for (std::size_t i = values.size(); i-- > 0;)
    result = context.bind(indexName(static_cast<std::int64_t>(i)), std::move(values[i]),
                          std::move(result));
  return result;
}

// Names of cel.index(n), cel.iterVar(n, m) and cel.accuVar(n, m).
ExprPtr expandName(MacroContext& context, ExprPtr& target, std::vector<ExprPtr>& arguments,
                   std::string_view prefix) {
  if (!isCelNamespace(target)) return nullptr;
  std::string name(prefix);
  for (const ExprPtr& argument : arguments) {
    if (argument->kind != ExprKind::Literal || !argument->literal.is(Kind::Int) ||
        argument->literal.asInt() < 0)
      return context.error(*argument, "a number that is not negative is expected");
    if (&argument != &arguments[0]) name += ':';
    name += std::to_string(argument->literal.asInt());
  }
  return context.ident(name);
}

Macro nameMacro(std::string name, int arguments, std::string prefix) {
  return {std::move(name), true, arguments,
          [prefix = std::move(prefix)](MacroContext& context, ExprPtr& target,
                                       std::vector<ExprPtr>& given) {
            return expandName(context, target, given, prefix);
          }};
}

}  // namespace

const Library& bindingsLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "bindings";
    library.macros = {{"bind", true, 3, expandBind}};
    return library;
  }();
  return kLibrary;
}

const Library& blockLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "block";
    library.macros = {{"block", true, 2, expandBlock},
                      nameMacro("index", 1, "@index"),
                      nameMacro("iterVar", 2, "@it:"),
                      nameMacro("accuVar", 2, "@ac:")};
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
