#pragma once

// CEL, the Common Expression Language (https://cel.dev), as Kubernetes uses it: an expression such
// as
//
//   device.driver == "gpu.example.com" &&
//   device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0
//
// is parsed, type-checked and compiled once, and evaluated many times. Evaluation ends: CEL has no
// loops other than over the elements of a list or map, every step has a cost, and a limit on the
// cost ends an evaluation.
//
//   EnvironmentOptions options;
//   options.variables = {{"self", Type::dyn()}};
//   options.libraries = {&standardLibrary(), &stringsLibrary()};
//   const Environment environment = Environment::create(std::move(options)).value();
//   const Program program = environment.compile("self.replicas <= 5").value();
//   Activation activation(environment);
//   activation.set("self", Value::json(document));
//   const Result<Value> value = program.evaluate(activation, {.cost = 1'000'000});
//
// Errors: compile returns Invalid with all issues of the text, "ERROR: <input>:1:5: undeclared
// reference to 'x'", a line each. evaluate returns Invalid with the message of the error that the
// expression ended with, or TooManyRequests if it ended at a limit.
//
// Threads: an Environment and a Program are immutable and may be shared between threads. An
// Activation belongs to one evaluation at a time.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "cel/type.h"
#include "cel/value.h"

namespace koord::cel {

class CostModel;     // cel/cost.h
class Library;       // cel/library.h
class TypeResolver;  // cel/dynamic_object.h
struct EnvironmentState;
struct ProgramState;

struct Variable {
  std::string name;  // may be qualified: "request.auth"
  Type type;
};

// Bounds on a text. Deeper nesting and longer texts are issues.
struct ParseLimits {
  std::size_t bytes = 100'000;  // of UTF-8
  int depth = 250;              // of nested expressions
};

struct EnvironmentOptions {
  std::vector<Variable> variables;
  // Functions, macros and types. cel/library/*.h has one factory a library. Libraries outlive the
  // environment.
  std::vector<const Library*> libraries;
  // Object types that expressions may name (`Object.spec{...}`, `type(x) == my.Type`); types of
  // variables and of their fields need not be repeated here.
  std::vector<const ObjectType*> types;
  // Knows further object types by name. Outlives programs and values.
  TypeResolver* resolver = nullptr;
  // The namespace that names are resolved in: in "a.b", the name "x" is a.b.x, a.x or x.
  std::string container;
  // nullptr: cel-go's costs. Outlives the environment.
  const CostModel* costModel = nullptr;
  ParseLimits limits;
  // True: list and map literals of mixed types are issues. False: their elements have type dyn.
  bool homogeneousLiterals = false;
};

// A problem of a text, where it is and what is wrong.
struct Issue {
  int line = 1;    // from 1
  int column = 1;  // from 1, in code points
  std::string message;
};

// The range of what an evaluation costs, before it is done.
struct CostEstimate {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  bool operator==(const CostEstimate&) const = default;
};

struct EvaluationLimits {
  std::uint64_t cost = std::numeric_limits<std::uint64_t>::max();
};

class Environment;

// The values of an environment's variables.
class Activation {
 public:
  explicit Activation(const Environment& environment);
  // `variable` is what Environment::variable returns.
  void set(std::size_t variable, Value value) { values_[variable] = std::move(value); }
  // Ignores names that the environment does not declare.
  void set(std::string_view name, Value value);
  // A variable that is not set is an error of the expression that reads it.
  void unset(std::size_t variable) { values_[variable].reset(); }
  const std::vector<std::optional<Value>>& values() const { return values_; }

 private:
  std::shared_ptr<const EnvironmentState> environment_;
  std::vector<std::optional<Value>> values_;
};

class Program {
 public:
  // What the checker found; dyn if the program was not checked.
  const Type& resultType() const;

  // Does not allocate for selections, comparisons and functions of scalars. `cost`, if given,
  // receives the cost of what was evaluated, also if it fails.
  Result<Value> evaluate(const Activation& activation, const EvaluationLimits& limits = {},
                         std::uint64_t* cost = nullptr) const;

  // The static estimate for inputs of the sizes that the cost model gives. {0, max} of what cannot
  // be known.
  CostEstimate estimateCost() const;

  // The variables that the expression may read, sorted.
  std::vector<std::string> variables() const;

 private:
  friend class Environment;
  explicit Program(std::shared_ptr<const ProgramState> state) : state_(std::move(state)) {}
  std::shared_ptr<const ProgramState> state_;
};

struct CompileOptions {
  // False: names, types and functions are resolved during evaluation, and estimateCost is {0, max}.
  bool check = true;
  bool macros = true;
  // If given, it is an issue if the result has another type (dyn is accepted).
  std::optional<Type> expectedType;
};

class Environment {
 public:
  // Invalid if libraries or variables contradict each other.
  static Result<Environment> create(EnvironmentOptions options);
  // A copy with more variables, which keep their numbers: those of this environment come first.
  Result<Environment> extend(std::vector<Variable> variables) const;

  // `issues`, if given, receives what the error's message says, one by one.
  Result<Program> compile(std::string_view text, const CompileOptions& options = {},
                          std::vector<Issue>* issues = nullptr) const;

  // The number of a variable, for Activation::set. nullopt if there is no such variable.
  std::optional<std::size_t> variable(std::string_view name) const;

 private:
  friend class Activation;
  explicit Environment(std::shared_ptr<const EnvironmentState> state) : state_(std::move(state)) {}
  std::shared_ptr<const EnvironmentState> state_;
};

}  // namespace koord::cel
