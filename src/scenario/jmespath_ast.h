#pragma once

// The parts of the JMESPath evaluator that its files share: syntax tree, parser entry, evaluation
// of a node and the function table.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "scenario/bindings.h"

namespace koord::scenario::jmespath {

enum class Op {
  Field,    // text
  Index,    // left, number
  Slice,    // left, start/stop/step
  Literal,  // value
  Current,
  Root,
  Variable,  // text
  Sub,       // left, right
  Pipe,
  Or,
  And,
  Not,
  Ternary,  // condition, then, else
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  IntegerDivide,
  Modulo,
  Negate,
  Plus,
  List,             // [a, b]
  Hash,             // {a: x}; names
  Call,             // text, arguments
  Reference,        // &expression
  Project,          // list projection: left, right
  ProjectValues,    // object projection
  ProjectFiltered,  // left, right, condition
  Flatten,
  Let,  // names; their values, then the body
};

struct Node {
  Op op = Op::Current;
  std::string text;
  json::value value;
  std::vector<std::unique_ptr<Node>> children;
  std::vector<std::string> names;
  std::optional<std::int64_t> start, stop, step;
};

Result<std::unique_ptr<Node>> parse(std::string_view text);

// Limit of the memory and time of one evaluation: a few nested lists of "$x, $x" or joins would
// otherwise grow to any size, and maps of maps take any time.
constexpr std::size_t kMaxEvaluatedBytes = 256 << 20;  // text, and kValueBytes for each value
constexpr std::size_t kValueBytes = 16;

// The remaining part of that limit.
class Budget {
 public:
  // Charges a new value before or right after it is created.
  Result<> charge(std::size_t bytes);
  Result<> charge(const json::value& value);

 private:
  std::size_t left_ = kMaxEvaluatedBytes;
};

struct Scope {
  const json::value& root;
  Bindings bindings;
  Budget& budget;
};

Result<json::value> evaluate(const Node& node, const json::value& current, const Scope& scope);

// A function's argument: a value, or the expression behind "&".
struct Argument {
  json::value value;
  const Node* reference = nullptr;
};

using Function = Result<json::value> (*)(std::span<const Argument> arguments, const Scope& scope);

struct FunctionEntry {
  std::string_view name;
  std::size_t minArguments;
  std::size_t maxArguments;  // kAnyNumber: no limit
  Function call;
};
constexpr std::size_t kAnyNumber = ~std::size_t{0};

const FunctionEntry* findFunction(std::string_view name);
// The tables that findFunction looks through, by subject.
std::span<const FunctionEntry> collectionFunctions();
std::span<const FunctionEntry> textFunctions();
std::span<const FunctionEntry> regexFunctions();
std::span<const FunctionEntry> mathFunctions();
std::span<const FunctionEntry> miscFunctions();

}  // namespace koord::scenario::jmespath
