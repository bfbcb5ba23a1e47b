#include "cel/eval/fold.h"

#include "cel/cost.h"

namespace koord::cel {

bool FoldNode::next(Frame& frame) const {
  const Value condition = parts_.condition->evaluate(frame);
  if (frame.stopped || (condition.is(Kind::Bool) && !condition.asBool())) return false;
  Value step = parts_.step->evaluate(frame);
  frame.locals[parts_.accumulator] = std::move(step);
  return !frame.stopped;
}

void FoldNode::run(Frame& frame, const Value& range) const {
  const bool isList = range.is(Kind::List);
  const std::size_t size = isList ? range.listSize() : range.mapSize();
  for (std::size_t i = 0; i < size; ++i) {
    if (isList && parts_.twoVariables) {
      frame.locals[parts_.variable] = Value::integer(static_cast<std::int64_t>(i));
      frame.locals[parts_.variable2] = range.listAt(i);
    } else if (isList) {
      frame.locals[parts_.variable] = range.listAt(i);
    } else {
      auto [key, value] = range.entryAt(i);
      frame.locals[parts_.variable] = std::move(key);
      if (parts_.twoVariables) frame.locals[parts_.variable2] = std::move(value);
    }
    if (!next(frame)) return;
  }
}

Value FoldNode::evaluate(Frame& frame) const {
  const Value range = parts_.range->evaluate(frame);
  if (range.isError()) return range;
  if (!range.is(Kind::List) && !range.is(Kind::Map))
    return Value::error("got '" + range.runtimeType().toString() + "', expected iterable type");
  Value init = parts_.init->evaluate(frame);
  frame.locals[parts_.accumulator] = std::move(init);
  run(frame, range);
  if (frame.stopped) return Value::error("operation cancelled");
  Value result = parts_.result->evaluate(frame);
  frame.locals[parts_.accumulator] = Value();
  frame.locals[parts_.variable] = Value();
  if (parts_.twoVariables) frame.locals[parts_.variable2] = Value();
  return result;
}

Value BindNode::evaluate(Frame& frame) const {
  if (cost_ != 0) frame.charge(cost_);
  frame.locals[slot_] = lazyMark();
  Value result = result_->evaluate(frame);
  frame.locals[slot_] = Value();
  return result;
}

Value AppendNode::evaluate(Frame& frame) const {
  Value element = element_->evaluate(frame);
  // The read of the accumulator, the list of one element, and the sum.
  frame.charge(kSelectCost + kListCost + 1);
  Value& accumulator = frame.locals[accumulator_];
  if (accumulator.isError()) return accumulator;
  if (element.isError()) return element;
  if (!accumulator.is(Kind::List)) return Value::error("no such overload");
  if (ElementList* own = ValueAccess::ownList(accumulator)) {
    own->append(std::move(element));
    return ValueAccess::bounded(std::move(accumulator));
  }
  std::vector<Value> elements;
  elements.reserve(accumulator.listSize() + 4);
  for (std::size_t i = 0; i < accumulator.listSize(); ++i)
    elements.push_back(accumulator.listAt(i));
  elements.push_back(std::move(element));
  return Value::list(std::move(elements));
}

namespace {

// Inserts one entry, or those of a map. An Error if a key exists already.
Value insertInto(EntryMap& map, const Value& key, const Value* value) {
  if (!value && !key.is(Kind::Map)) return Value::error("no such overload");
  const std::size_t count = value ? 1 : key.mapSize();
  for (std::size_t i = 0; i < count; ++i) {
    auto entry = value ? std::pair(key, *value) : key.entryAt(i);
    if (!isMapKey(entry.first))
      return Value::error("unsupported key type: " + entry.first.runtimeType().toString());
    std::string name = entry.first.toString();
    if (!map.insert(std::move(entry.first), std::move(entry.second)))
      return Value::error("insert failed: key " + name + " already exists");
  }
  return {};
}

}  // namespace

Value InsertNode::evaluate(Frame& frame) const {
  const Value key = key_->evaluate(frame);
  const Value value = value_ ? value_->evaluate(frame) : Value();
  // The read of the accumulator, and the call.
  frame.charge(kSelectCost + 1);
  Value& accumulator = frame.locals[accumulator_];
  if (accumulator.isError()) return accumulator;
  if (key.isError()) return key;
  if (value.isError()) return value;
  if (!accumulator.is(Kind::Map)) return Value::error("no such overload");
  std::unique_ptr<EntryMap> copy;
  EntryMap* map = ValueAccess::ownMap(accumulator);
  if (!map) {
    copy = std::make_unique<EntryMap>();
    map = copy.get();
    for (std::size_t i = 0; i < accumulator.mapSize(); ++i) {
      auto [known, held] = accumulator.entryAt(i);
      map->insert(std::move(known), std::move(held));
    }
  }
  Value error = insertInto(*map, key, value_ ? &value : nullptr);
  if (error.isError()) return error;
  return copy ? Value::adopt(static_cast<const Map*>(copy.release()))
              : ValueAccess::bounded(std::move(accumulator));
}

}  // namespace koord::cel
