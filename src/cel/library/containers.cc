// size and `in`.

#include "cel/cost.h"
#include "cel/library/standard.h"
#include "cel/syntax/ast.h"

namespace koord::cel {

namespace {

Value sizeOfValue(Arguments arguments) {
  return Value::integer(static_cast<std::int64_t>(sizeForCost(arguments[0])));
}

Value inList(Arguments arguments) {
  const Value& list = arguments[1];
  for (std::size_t i = 0; i < list.listSize(); ++i)
    if (list.listAt(i).equals(arguments[0])) return Value::boolean(true);
  return Value::boolean(false);
}

Value inMap(Arguments arguments) {
  return Value::boolean(arguments[1].mapContains(arguments[0]));
}

}  // namespace

void addContainers(Library& library) {
  const Type a = Type::parameter("A"), b = Type::parameter("B"), i = Type::integer();
  const Type list = Type::list(a), map = Type::map(a, b);
  library.add("size", {globalOverload("size_bytes", {Type::bytes()}, i, sizeOfValue),
                       memberOverload("bytes_size", {Type::bytes()}, i, sizeOfValue),
                       globalOverload("size_list", {list}, i, sizeOfValue),
                       memberOverload("list_size", {list}, i, sizeOfValue),
                       globalOverload("size_map", {map}, i, sizeOfValue),
                       memberOverload("map_size", {map}, i, sizeOfValue),
                       globalOverload("size_string", {Type::string()}, i, sizeOfValue),
                       memberOverload("string_size", {Type::string()}, i, sizeOfValue)});
  library.add(op::kIn, {globalOverload("in_list", {a, list}, Type::boolean(), inList),
                        globalOverload("in_map", {a, map}, Type::boolean(), inMap)});
}

}  // namespace koord::cel
