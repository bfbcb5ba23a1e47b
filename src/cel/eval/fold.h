#pragma once

// Comprehensions: what macros such as all and map become.

#include "cel/eval/node.h"

namespace koord::cel {

class FoldNode final : public Node {
 public:
  struct Parts {
    NodePtr range, init, condition, step, result;
    std::size_t accumulator = 0;  // slots of locals
    std::size_t variable = 0;
    std::size_t variable2 = 0;
    bool twoVariables = false;
  };
  explicit FoldNode(Parts parts) : parts_(std::move(parts)) {}
  Value evaluate(Frame& frame) const override;

 private:
  // Runs the step for one element. False if the loop ends.
  bool next(Frame& frame) const;
  void run(Frame& frame, const Value& range) const;
  Parts parts_;
};

// A name for a value, computed when it is first read: cel.bind.
class BindNode final : public Node {
 public:
  // `init` is read by the lazy locals (ChainNode::Base::Lazy) in `result`.
  BindNode(std::size_t slot, NodePtr init, NodePtr result, std::uint64_t cost)
      : slot_(slot), init_(std::move(init)), result_(std::move(result)), cost_(cost) {}
  Value evaluate(Frame& frame) const override;

 private:
  std::size_t slot_;
  NodePtr init_, result_;
  std::uint64_t cost_;
};

// accumulator + [element], in place if nothing else refers to the list: else `map` over n elements
// would copy n lists.
class AppendNode final : public Node {
 public:
  AppendNode(std::size_t accumulator, NodePtr element)
      : accumulator_(accumulator), element_(std::move(element)) {}
  Value evaluate(Frame& frame) const override;

 private:
  std::size_t accumulator_;
  NodePtr element_;
};

// accumulator with an entry, or with all entries of a map (no `value`), in place likewise.
class InsertNode final : public Node {
 public:
  InsertNode(std::size_t accumulator, NodePtr key, NodePtr value)
      : accumulator_(accumulator), key_(std::move(key)), value_(std::move(value)) {}
  Value evaluate(Frame& frame) const override;

 private:
  std::size_t accumulator_;
  NodePtr key_, value_;
};

}  // namespace koord::cel
