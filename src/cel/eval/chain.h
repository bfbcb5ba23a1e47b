#pragma once

// Reads: a variable or another expression, followed by fields and indexes. `a.b["c"][i].?d` is one
// node, since the cost and the rules of optional values depend on the whole chain.

#include "cel/eval/node.h"

namespace koord::cel {

struct Qualifier {
  Value key;                           // the field or the index, if it is constant
  NodePtr index;                       // else what computes it
  const ObjectType* object = nullptr;  // what the operand is expected to be
  int field = -1;                      // the number of the field there
  bool optional = false;               // .?field, [?index]
  bool testOnly = false;               // has(operand.field)
};

class ChainNode final : public Node {
 public:
  enum class Base : std::uint8_t { Variable, Local, Lazy, Expression };
  struct Start {
    Base base = Base::Expression;
    std::size_t slot = 0;        // of a variable or local
    const Node* init = nullptr;  // of a lazy local
    NodePtr expression;
    std::string name;            // for messages
    bool ofConditional = false;  // the expression is a conditional
  };
  explicit ChainNode(Start start, bool presenceTestHasCost)
      : start_(std::move(start)),
        readCost_(start_.ofConditional ? 0 : 1),
        presenceTestHasCost_(presenceTestHasCost) {}

  void add(Qualifier qualifier) { qualifiers_.push_back(std::move(qualifier)); }
  Value evaluate(Frame& frame) const override;
  void dropReadCost() override { readCost_ = 0; }
  bool isTest() const { return !qualifiers_.empty() && qualifiers_.back().testOnly; }

 private:
  Value base(Frame& frame) const;
  Start start_;
  std::vector<Qualifier> qualifiers_;
  std::uint32_t readCost_;
  bool presenceTestHasCost_;
};

// What `operand[key]`, or `operand.key` if the key is a string, is. nullopt if the key is absent,
// for `present`; else an error then.
std::optional<Value> lookUp(const Value& operand, const Value& key, bool present);

}  // namespace koord::cel
