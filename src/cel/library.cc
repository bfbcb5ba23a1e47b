#include "cel/library.h"

#include <algorithm>
#include <iterator>

#include "cel/syntax/macro.h"

namespace koord::cel {

Library::Library() = default;
Library::~Library() = default;

void Library::add(std::string_view function, std::vector<Overload> overloads) {
  auto found = std::ranges::find(functions, function, &Function::name);
  if (found == functions.end())
    found = functions.insert(functions.end(), {std::string(function), {}});
  std::ranges::move(overloads, std::back_inserter(found->overloads));
}

void Library::addType(std::string_view typeName, const Type& type) {
  constants.push_back({std::string(typeName), Value::type(type), Type::type(type)});
}

Overload globalOverload(std::string id, std::vector<Type> parameters, Type result,
                        Implementation call) {
  Overload overload;
  overload.id = std::move(id);
  overload.parameters = std::move(parameters);
  overload.result = std::move(result);
  overload.call = std::move(call);
  return overload;
}

Overload memberOverload(std::string id, std::vector<Type> parameters, Type result,
                        Implementation call) {
  Overload overload =
      globalOverload(std::move(id), std::move(parameters), std::move(result), std::move(call));
  overload.member = true;
  return overload;
}

}  // namespace koord::cel
