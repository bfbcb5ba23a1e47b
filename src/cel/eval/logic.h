#pragma once

// Operators that do not evaluate all of their operands, or that absorb errors.

#include "cel/cost.h"
#include "cel/eval/node.h"

namespace koord::cel {

// a && b && c (decisive is false) or a || b || c (decisive is true): the result is `decisive` if
// one operand is, whatever the others are; else the first error; else the other value. Operands
// after a decisive one are not evaluated.
class LogicNode final : public Node {
 public:
  LogicNode(bool decisive, std::vector<NodePtr> operands)
      : decisive_(decisive), operands_(std::move(operands)) {}
  Value evaluate(Frame& frame) const override;

 private:
  bool decisive_;
  std::vector<NodePtr> operands_;
};

class ConditionalNode final : public Node {
 public:
  ConditionalNode(NodePtr condition, NodePtr yes, NodePtr no);
  Value evaluate(Frame& frame) const override;

 private:
  NodePtr condition_, yes_, no_;
};

// a == b and a != b.
class EqualityNode final : public Node {
 public:
  EqualityNode(bool equal, NodePtr left, NodePtr right, CallTracker tracker)
      : equal_(equal),
        left_(std::move(left)),
        right_(std::move(right)),
        tracker_(std::move(tracker)) {}
  Value evaluate(Frame& frame) const override;

 private:
  std::uint64_t costOf(const Value& left, const Value& right, const Value& result) const;
  bool equal_;
  NodePtr left_, right_;
  CallTracker tracker_;
};

}  // namespace koord::cel
