#pragma once

// A compiled expression: a tree of nodes that compute values.
//
// Every step of the tree is a virtual call that returns a 24-byte Value; names are resolved to
// slots when the tree is made, so an evaluation touches neither names nor the heap for selections
// and comparisons. Errors are values: a failed step returns one, and the operators that absorb
// errors (&&, ||) look at them.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cel/cel.h"
#include "cel/value_access.h"

namespace koord::cel {

// One evaluation.
struct Frame {
  std::span<const std::optional<Value>> variables;
  std::span<Value> locals;  // variables of comprehensions
  std::uint64_t cost = 0;
  std::uint64_t limit = 0;
  // The limit is passed: loops end, and the result does not count.
  bool stopped = false;

  void charge(std::uint64_t amount) {
    cost += amount;
    if (cost > limit || cost < amount) stopped = true;
  }
};

class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;
  virtual Value evaluate(Frame& frame) const = 0;
  // The value if it is the same in each evaluation.
  virtual const Value* constant() const { return nullptr; }
  // What each evaluation of a constant costs: not 0 if it was computed from others.
  virtual std::uint64_t constantCost() const { return 0; }
  // A read of a variable, a field or an element does not cost anything itself where it is the
  // branch of a conditional or an index (cel-go does not observe it there).
  virtual void dropReadCost() {}
};
using NodePtr = std::unique_ptr<Node>;

class ConstantNode final : public Node {
 public:
  // `source` computed the value, which may refer to its parts.
  explicit ConstantNode(Value value, std::uint64_t cost = 0, NodePtr source = nullptr)
      : value_(std::move(value)), cost_(cost), source_(std::move(source)) {}
  Value evaluate(Frame& frame) const override {
    if (cost_ != 0) frame.charge(cost_);
    return ValueAccess::borrowed(value_);
  }
  const Value* constant() const override { return &value_; }
  std::uint64_t constantCost() const override { return cost_; }

 private:
  Value value_;
  std::uint64_t cost_;
  NodePtr source_;
};

// A read of a variable, a field or an element.
inline constexpr std::uint64_t kReadCost = 1;

// `lazy` marks a local variable whose value is computed when it is first read.
inline bool isLazyMark(const Value& value) {
  return value.isError() && ValueAccess::pointer<void>(value) == nullptr;
}
inline Value lazyMark() {
  return ValueAccess::shared(Kind::Error, nullptr, nullptr, false);
}

}  // namespace koord::cel
