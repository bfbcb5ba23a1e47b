#pragma once

// Calls of functions.

#include "cel/eval/node.h"
#include "cel/library.h"

namespace koord::cel {

// True if the value may be an argument for a parameter of the type. Elements of containers are not
// looked at.
bool acceptsValue(const Type& parameter, const Value& value);

class CallNode final : public Node {
 public:
  struct Target {
    const Overload* overload = nullptr;
    std::vector<std::uint32_t> kinds;  // of each parameter, a bit a Kind
    std::vector<bool> byName;          // true: the argument must have the same opaque type
    Implementation specialized;        // instead of overload->call, if not empty
  };
  CallNode(std::string name, std::vector<const Overload*> candidates,
           std::vector<NodePtr> arguments, CallTracker tracker, bool costBySize);

  Value evaluate(Frame& frame) const override;
  // The overload if there is one candidate.
  const Overload* only() const { return targets_.size() == 1 ? targets_[0].overload : nullptr; }
  // True if the result can be computed when the expression is compiled.
  bool foldable() const;

 private:
  Value dispatch(Arguments arguments) const;
  std::uint64_t costOf(Arguments arguments, const Value& result) const;
  bool accepts(const Target& target, Arguments arguments) const;

  std::string name_;
  std::vector<Target> targets_;
  std::vector<NodePtr> arguments_;
  CallTracker tracker_;
  int costRule_ = 0;
  bool lazy_ = false;
};

}  // namespace koord::cel
