#include "cel/eval/logic.h"

#include <algorithm>
#include <array>

namespace koord::cel {

Value LogicNode::evaluate(Frame& frame) const {
  std::optional<Value> error;
  for (const NodePtr& operand : operands_) {
    Value value = operand->evaluate(frame);
    if (frame.stopped) return value;
    if (value.is(Kind::Bool)) {
      if (value.asBool() == decisive_) return value;
    } else if (!error) {
      error = value.isError() ? std::move(value) : Value::error("no such overload");
    }
  }
  return error ? *std::move(error) : Value::boolean(!decisive_);
}

ConditionalNode::ConditionalNode(NodePtr condition, NodePtr yes, NodePtr no)
    : condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {
  yes_->dropReadCost();
  no_->dropReadCost();
}

Value ConditionalNode::evaluate(Frame& frame) const {
  Value condition = condition_->evaluate(frame);
  if (condition.is(Kind::Bool))
    return condition.asBool() ? yes_->evaluate(frame) : no_->evaluate(frame);
  return condition.isError() ? condition : Value::error("no such overload");
}

std::uint64_t EqualityNode::costOf(const Value& left, const Value& right,
                                   const Value& result) const {
  if (tracker_) {
    const std::array<Value, 2> arguments = {left, right};
    if (const auto cost = tracker_(arguments, result)) return *cost;
  }
  return scaleCost(std::min(sizeForCost(left), sizeForCost(right)), kTraversalFactor);
}

Value EqualityNode::evaluate(Frame& frame) const {
  const Value left = left_->evaluate(frame);
  const Value right = right_->evaluate(frame);
  Value result = left.isError()    ? left
                 : right.isError() ? right
                                   : Value::boolean(left.equals(right) == equal_);
  frame.charge(costOf(left, right, result));
  return result;
}

}  // namespace koord::cel
