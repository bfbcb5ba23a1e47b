#include "cel/eval/call.h"

#include <array>

#include "cel/cost/standard.h"

namespace koord::cel {

namespace {

constexpr std::uint32_t bit(Kind kind) {
  return 1U << static_cast<unsigned>(kind);
}
constexpr std::uint32_t kAnyKind = ~0U;
// Compiling has no limit on costs: calls with larger constants are evaluated when the program runs.
constexpr std::uint64_t kMaxFolded = 1'000;

std::uint32_t kindsOf(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Dyn:
    case TypeKind::Parameter:
      return kAnyKind;
    case TypeKind::Null:
      return bit(Kind::Null);
    case TypeKind::Bool:
      return bit(Kind::Bool);
    case TypeKind::Int:
      return bit(Kind::Int);
    case TypeKind::Uint:
      return bit(Kind::Uint);
    case TypeKind::Double:
      return bit(Kind::Double);
    case TypeKind::String:
      return bit(Kind::String);
    case TypeKind::Bytes:
      return bit(Kind::Bytes);
    case TypeKind::Timestamp:
      return bit(Kind::Timestamp);
    case TypeKind::Duration:
      return bit(Kind::Duration);
    case TypeKind::List:
      return bit(Kind::List);
    case TypeKind::Map:
      return bit(Kind::Map);
    case TypeKind::Type:
      return bit(Kind::Type);
    case TypeKind::Wrapper:
      return bit(Kind::Null) | kindsOf(type.parameters()[0]);
    case TypeKind::Object:
      return bit(Kind::Object) | bit(Kind::Map);
    case TypeKind::Opaque:
      return type.isOptional() ? bit(Kind::Optional) : bit(Kind::Opaque);
  }
  return 0;
}

}  // namespace

bool acceptsValue(const Type& parameter, const Value& value) {
  if ((kindsOf(parameter) & bit(value.kind())) == 0) return false;
  return !(parameter.kind() == TypeKind::Opaque && value.is(Kind::Opaque)) ||
         value.asOpaque().type().name() == parameter.name();
}

CallNode::CallNode(std::string name, std::vector<const Overload*> candidates,
                   std::vector<NodePtr> arguments, CallTracker tracker, bool costBySize)
    : name_(std::move(name)), arguments_(std::move(arguments)), tracker_(std::move(tracker)) {
  std::vector<const Value*> constants;
  for (const NodePtr& argument : arguments_) constants.push_back(argument->constant());
  for (const Overload* overload : candidates) {
    Target target;
    target.overload = overload;
    for (const Type& parameter : overload->parameters) {
      target.kinds.push_back(kindsOf(parameter));
      target.byName.push_back(parameter.kind() == TypeKind::Opaque && !parameter.isOptional());
    }
    if (overload->specialize) target.specialized = overload->specialize(constants);
    lazy_ = lazy_ || overload->lazy;
    targets_.push_back(std::move(target));
  }
  if (costBySize && only()) costRule_ = standardCostRule(only()->id);
}

bool CallNode::foldable() const {
  if (!only() || !only()->pure) return false;
  std::uint64_t size = 0;
  for (const NodePtr& argument : arguments_) {
    if (!argument->constant()) return false;
    size += sizeForCost(*argument->constant());
  }
  return size <= kMaxFolded;
}

bool CallNode::accepts(const Target& target, Arguments arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& argument = arguments[i];
    if ((target.kinds[i] & bit(argument.kind())) == 0) return false;
    if (target.byName[i] && argument.is(Kind::Opaque) &&
        argument.asOpaque().type().name() != target.overload->parameters[i].name())
      return false;
  }
  return true;
}

Value CallNode::dispatch(Arguments arguments) const {
  for (const Target& target : targets_) {
    if (!accepts(target, arguments)) continue;
    return target.specialized ? target.specialized(arguments) : target.overload->call(arguments);
  }
  return Value::error("no such overload: " + name_);
}

std::uint64_t CallNode::costOf(Arguments arguments, const Value& result) const {
  if (tracker_)
    if (const auto cost = tracker_(arguments, result)) return *cost;
  return costRule_ == 0 ? 1 : standardCallCost(costRule_, arguments);
}

Value CallNode::evaluate(Frame& frame) const {
  constexpr std::size_t kInline = 3;
  std::array<Value, kInline> few;
  std::vector<Value> many;
  std::span<Value> arguments(few.data(), std::min(kInline, arguments_.size()));
  if (arguments_.size() > kInline) {
    many.resize(arguments_.size());
    arguments = many;
  }
  const Value* error = nullptr;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    arguments[i] = arguments_[i]->evaluate(frame);
    if (frame.stopped) return std::move(arguments[i]);
    if (!error && arguments[i].isError()) error = &arguments[i];
    // With three arguments and more, those after an error are not evaluated, and the call costs
    // nothing.
    if (error && !lazy_ && arguments.size() > 2) return *error;
  }
  Value result = error && !lazy_ ? *error : dispatch(arguments);
  frame.charge(costOf(arguments, result));
  return result;
}

}  // namespace koord::cel
