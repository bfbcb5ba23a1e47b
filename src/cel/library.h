#pragma once

// Libraries: what an environment can call. A library is a table of functions, macros and constants;
// hosts may write their own.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/cost.h"
#include "cel/type.h"
#include "cel/value.h"

namespace koord::cel {

struct Macro;  // cel/syntax/macro.h

using Arguments = std::span<const Value>;
// Returns the result, or an Error value. Called on the thread of the evaluation; several
// evaluations may call it at a time. The arguments have the kinds of the overload's parameters and
// are not Errors, unless the overload is lazy.
using Implementation = std::function<Value(Arguments)>;

struct Overload {
  std::string id;                // unique in an environment: "starts_with_string"
  std::vector<Type> parameters;  // of a member, the receiver first
  Type result;
  Implementation call;
  bool member = false;
  // True: the same arguments have the same result, so that a call with constants is evaluated once.
  bool pure = true;
  // True: is also called with Error values as arguments.
  bool lazy = false;
  // If set: called when an expression is compiled, with the arguments that are constants and
  // nullptr for the others. Returns an implementation for calls with these constants, or an empty
  // function.
  std::function<Implementation(std::span<const Value* const>)> specialize = nullptr;
  // If set: called like specialize, if the environment folds constants. Returns why no evaluation
  // can succeed with these constants, which is an issue then; "" if one can.
  std::function<std::string(std::span<const Value* const>)> validate = nullptr;
  // Costs, if they differ from the standard ones.
  CallTracker track = nullptr;
  std::function<std::optional<CallEstimate>(const CostModel&, const CostNode* target,
                                            std::span<const CostNode> arguments)>
      estimate = nullptr;
};

struct Function {
  std::string name;  // "startsWith", "math.greatest"
  std::vector<Overload> overloads;
};

struct Constant {
  std::string name;
  Value value;
  Type type;  // type(T) for names of types
};

class Library {
 public:
  std::string name;
  std::vector<Function> functions;
  std::vector<Macro> macros;
  std::vector<Constant> constants;
  std::vector<const ObjectType*> types;

  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Adds overloads to a function, which is made if there is none of the name.
  void add(std::string_view function, std::vector<Overload> overloads);
  // A name that stands for a type: `type(x) == net.IP`.
  void addType(std::string_view typeName, const Type& type);
};

// Shorthands for tables of functions.
Overload globalOverload(std::string id, std::vector<Type> parameters, Type result,
                        Implementation call);
Overload memberOverload(std::string id, std::vector<Type> parameters, Type result,
                        Implementation call);

}  // namespace koord::cel
