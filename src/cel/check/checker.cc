#include "cel/check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cel/check/unify.h"

namespace koord::cel {

namespace {

class Checker {
 public:
  Checker(const EnvironmentState& environment, IssueList& issues)
      : environment_(environment), issues_(issues) {}

  void run(Expr& expr) {
    visit(expr);
    finish(expr);
    if (types_.isExhausted())
      issues_.add(expr.position, "the types of the expression are too complex");
  }

 private:
  struct Local {
    std::string name;
    Type type;
  };
  struct Global {
    std::string name;
    Type type;
    std::optional<Value> value;
  };

  void issue(const Expr& at, std::string message) {
    if (!types_.isExhausted()) issues_.add(at.position, std::move(message));
  }
  void undeclared(const Expr& at, std::string_view name) {
    issue(at, fmt::format("undeclared reference to '{}' (in container '{}')", name,
                          environment_.options.container));
    // Type dyn, which agrees with everything, avoids issues that follow from this one.
  }
  void mismatch(const Expr& at, const Type& expected, const Type& found) {
    issue(at, fmt::format("expected type '{}' but found '{}'", text(expected), text(found)));
  }
  std::string text(const Type& type) const { return types_.substitute(type, true).toString(); }
  static const Type& typeOf(const Expr& expr) { return *expr.type; }

  // Replaces variables in all types of the tree.
  void finish(Expr& expr) const {
    if (expr.type) expr.type = types_.substitute(*expr.type, true);
    forEachChild(expr, [&](Expr& child) { finish(child); });
  }

  void visit(Expr& expr) {
    expr.type = Type::dyn();
    switch (expr.kind) {
      case ExprKind::Literal:
        expr.type = expr.literal.runtimeType();
        return;
      case ExprKind::Ident:
        return visitIdent(expr);
      case ExprKind::Select:
        return visitSelect(expr);
      case ExprKind::Call:
        return visitCall(expr);
      case ExprKind::List:
        return visitList(expr);
      case ExprKind::Map:
        return visitMap(expr);
      case ExprKind::Struct:
        return visitStruct(expr);
      case ExprKind::Comprehension:
        return visitFold(expr);
    }
  }

  // ---- names

  const Local* findLocal(std::string_view name) const {
    const auto found = std::find_if(locals_.rbegin(), locals_.rend(),
                                    [&](const Local& local) { return local.name == name; });
    return found == locals_.rend() ? nullptr : &*found;
  }

  std::optional<Global> findGlobal(std::string_view name) const {
    for (const std::string& candidate : environment_.candidates(name)) {
      const auto variable = environment_.variables.find(candidate);
      if (variable != environment_.variables.end())
        return Global{candidate, environment_.options.variables[variable->second].type, {}};
      if (const Constant* constant = environment_.constant(candidate))
        return Global{candidate, constant->type, constant->value};
      if (const ObjectType* object = environment_.type(candidate)) {
        const Type type = Type::object(*object);
        return Global{candidate, Type::type(type), Value::type(type)};
      }
    }
    return std::nullopt;
  }

  static void resolveAs(Expr& expr, Global global) {
    expr.kind = ExprKind::Ident;
    expr.target = nullptr;
    expr.name = std::move(global.name);
    expr.type = std::move(global.type);
    expr.constant = std::move(global.value);
    expr.resolved = true;
    expr.rooted = true;
  }

  void visitIdent(Expr& expr) {
    if (!expr.rooted) {
      if (const Local* local = findLocal(expr.name)) {
        expr.type = local->type;
        expr.resolved = true;
        return;
      }
    }
    if (auto global = findGlobal(expr.name)) return resolveAs(expr, *std::move(global));
    undeclared(expr, expr.name);
  }

  void visitSelect(Expr& expr) {
    if (const auto name = qualifiedName(expr)) {
      const std::string_view first = std::string_view(*name).substr(0, name->find('.', 1));
      if (!findLocal(first))
        if (auto global = findGlobal(*name)) return resolveAs(expr, *std::move(global));
    }
    const Type field = fieldType(expr, *expr.target, expr.name, false);
    expr.type = expr.testOnly ? Type::boolean() : types_.substitute(field, false);
  }

  Type fieldType(Expr& expr, Expr& operand, const std::string& name, bool optional) {
    visit(operand);
    const Type operandType = types_.substitute(typeOf(operand), false);
    const bool ofOptional = operandType.isOptional();
    const Type target = ofOptional ? operandType.parameters()[0] : operandType;
    Type result;
    switch (target.kind()) {
      case TypeKind::Map:
        result = target.parameters()[1];
        break;
      case TypeKind::Object:
        if (const auto field = target.objectType()->field(name)) {
          result = field->type;
        } else {
          issue(expr, fmt::format("undefined field '{}'", name));
        }
        break;
      case TypeKind::Parameter:
        types_.assignable(Type::dyn(), target);
        break;
      case TypeKind::Dyn:
        break;
      default:
        issue(expr, fmt::format("type '{}' does not support field selection", text(target)));
    }
    return ofOptional || optional ? Type::optional(result) : result;
  }

  // ---- calls

  void visitCall(Expr& expr) {
    if (expr.name == op::kOptionalSelect && !expr.target) return visitOptionalSelect(expr);
    // The list of format's arguments may mix types even where other literals may not.
    if (expr.name == "format") ++mixedLiterals_;
    for (const ExprPtr& argument : expr.arguments) visit(*argument);
    if (expr.name == "format") --mixedLiterals_;
    if (expr.target) {
      // a.b.c() may be the function a.b.c.
      if (const auto prefix = qualifiedName(*expr.target)) {
        if (const FunctionEntry* entry = environment_.function(*prefix + "." + expr.name)) {
          expr.target = nullptr;
          return resolveCall(expr, *entry);
        }
      }
      visit(*expr.target);
    }
    const FunctionEntry* entry = environment_.function(expr.name);
    if (!entry) return undeclared(expr, expr.name);
    resolveCall(expr, *entry);
  }

  void visitOptionalSelect(Expr& expr) {
    const std::string field(expr.arguments[1]->literal.text());
    expr.arguments[1]->type = Type::string();
    const Type type = fieldType(expr, *expr.arguments[0], field, true);
    expr.type = types_.substitute(type, false);
    if (const FunctionEntry* entry = environment_.function(op::kOptionalSelect)) {
      expr.overloads = entry->overloads;
    } else {
      issue(expr, "unsupported syntax '.?'");
    }
  }

  void resolveCall(Expr& expr, const FunctionEntry& entry) {
    expr.name = entry.name;
    std::vector<Type> arguments;
    if (expr.target) arguments.push_back(typeOf(*expr.target));
    for (const ExprPtr& argument : expr.arguments) arguments.push_back(typeOf(*argument));
    if (entry.name == op::kAnd || entry.name == op::kOr) return resolveLogic(expr, entry);
    std::optional<Type> result;
    for (const Overload* overload : entry.overloads) {
      if (overload->member != (expr.target != nullptr) ||
          overload->parameters.size() != arguments.size())
        continue;
      std::optional<Type> type = match(*overload, arguments);
      if (!type) continue;
      expr.overloads.push_back(overload);
      if (!result) {
        result = std::move(type);
      } else if (!result->isDyn() && !(*type == *result)) {
        result = Type::dyn();
      }
    }
    if (result) {
      expr.type = *std::move(result);
    } else {
      noOverload(expr, arguments);
    }
  }

  void resolveLogic(Expr& expr, const FunctionEntry& entry) {
    expr.overloads = entry.overloads;
    expr.type = Type::boolean();
    for (const ExprPtr& argument : expr.arguments)
      if (!types_.assignable(typeOf(*argument), Type::boolean()))
        mismatch(*argument, Type::boolean(), typeOf(*argument));
  }

  // The type of the result if the overload takes these arguments.
  std::optional<Type> match(const Overload& overload, const std::vector<Type>& arguments) {
    std::unordered_map<std::string, Type> fresh;
    for (const Type& parameter : overload.parameters) collectParameters(parameter, fresh);
    collectParameters(overload.result, fresh);
    if (fresh.empty()) {
      if (!types_.assignable(arguments, overload.parameters)) return std::nullopt;
      return overload.result;
    }
    for (auto& [name, variable] : fresh) variable = types_.newVariable();
    std::vector<Type> parameters;
    for (const Type& parameter : overload.parameters)
      parameters.push_back(replaceParameters(parameter, fresh));
    if (!types_.assignable(arguments, parameters)) return std::nullopt;
    return types_.substitute(replaceParameters(overload.result, fresh), false);
  }

  void noOverload(const Expr& expr, const std::vector<Type>& arguments) {
    std::string signature = "(";
    for (std::size_t i = expr.target ? 1 : 0; i < arguments.size(); ++i) {
      if (signature.size() > 1) signature += ", ";
      signature += text(arguments[i]);
    }
    if (expr.target) signature = text(arguments[0]) + "." + signature;
    issue(expr, fmt::format("found no matching overload for '{}' applied to '{})'", expr.name,
                            signature));
  }

  // ---- literals

  // The type of an element that is written with `?`.
  Type unwrapped(const Expr& value) {
    const Type type = types_.substitute(typeOf(value), false);
    if (type.isOptional()) return type.parameters()[0];
    if (!type.isDyn()) mismatch(value, Type::optional(type), type);
    return type;
  }

  void join(const Expr& at, std::optional<Type>& common, const Type& type) {
    if (!common) {
      common = type;
    } else if (types_.assignable(*common, type)) {
      common = Unifier::mostGeneral(*common, type);
    } else {
      if (environment_.options.homogeneousLiterals && mixedLiterals_ == 0)
        mismatch(at, *common, type);
      common = Type::dyn();
    }
  }

  void visitList(Expr& expr) {
    std::optional<Type> element;
    for (std::size_t i = 0; i < expr.arguments.size(); ++i) {
      Expr& each = *expr.arguments[i];
      visit(each);
      const bool optional = !expr.optionalItems.empty() && expr.optionalItems[i];
      join(each, element, optional ? unwrapped(each) : typeOf(each));
    }
    expr.type = Type::list(element ? *element : types_.newVariable());
  }

  void visitMap(Expr& expr) {
    std::optional<Type> key, value;
    for (const Entry& entry : expr.entries) {
      visit(*entry.key);
      join(*entry.key, key, typeOf(*entry.key));
      visit(*entry.value);
      join(*entry.value, value, entry.optional ? unwrapped(*entry.value) : typeOf(*entry.value));
    }
    expr.type = Type::map(key ? *key : types_.newVariable(), value ? *value : types_.newVariable());
  }

  void visitStruct(Expr& expr) {
    const ObjectType* object = nullptr;
    for (const std::string& candidate : environment_.candidates(expr.name)) {
      object = environment_.type(candidate);
      if (object) break;
    }
    if (!object) {
      if (const auto global = findGlobal(expr.name)) {
        issue(expr,
              fmt::format("'{}' is not a {}", expr.name, global->value ? "message type" : "type"));
      } else {
        undeclared(expr, expr.name);
      }
      return;
    }
    expr.name = "." + std::string(object->name());
    expr.type = object->typeOfCreated().value_or(Type::object(*object));
    for (const Entry& entry : expr.entries) {
      visit(*entry.value);
      const auto field = object->field(entry.field);
      if (!field) {
        issues_.add(entry.position, fmt::format("undefined field '{}'", entry.field));
        continue;
      }
      const Type type = entry.optional ? unwrapped(*entry.value) : typeOf(*entry.value);
      if (!types_.assignable(field->type, type))
        issues_.add(entry.position,
                    fmt::format("expected type of field '{}' is '{}' but provided type is '{}'",
                                entry.field, text(field->type), text(type)));
    }
  }

  // ---- comprehensions

  void visitFold(Expr& expr) {
    Comprehension& fold = *expr.comprehension;
    visit(*fold.range);
    visit(*fold.init);
    const Type range = types_.substitute(typeOf(*fold.range), false);
    const Type accumulator = typeOf(*fold.init);
    Type first, second;
    const bool two = !fold.variable2.empty();
    switch (range.kind()) {
      case TypeKind::List:
        first = two ? Type::integer() : range.parameters()[0];
        second = range.parameters()[0];
        break;
      case TypeKind::Map:
        first = range.parameters()[0];
        second = range.parameters()[1];
        break;
      case TypeKind::Dyn:
      case TypeKind::Parameter:
        types_.assignable(Type::dyn(), range);
        break;
      default:
        issue(
            *fold.range,
            fmt::format("expression of type '{}' cannot be range of a comprehension (must be list, "
                        "map, or dynamic)",
                        text(range)));
    }
    locals_.push_back({fold.accumulator, accumulator});
    locals_.push_back({fold.variable, first});
    if (two) locals_.push_back({fold.variable2, second});
    visit(*fold.condition);
    require(*fold.condition, Type::boolean());
    visit(*fold.step);
    require(*fold.step, accumulator);
    locals_.resize(locals_.size() - (two ? 2 : 1));
    visit(*fold.result);
    locals_.pop_back();
    expr.type = types_.substitute(typeOf(*fold.result), false);
  }

  void require(const Expr& expr, const Type& type) {
    if (!types_.assignable(type, typeOf(expr))) mismatch(expr, type, typeOf(expr));
  }

  const EnvironmentState& environment_;
  IssueList& issues_;
  Unifier types_;
  std::vector<Local> locals_;
  int mixedLiterals_ = 0;
};

}  // namespace

void check(Expr& expr, const EnvironmentState& environment, IssueList& issues) {
  Checker(environment, issues).run(expr);
}

}  // namespace koord::cel
