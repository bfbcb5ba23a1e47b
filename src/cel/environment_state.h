#pragma once

// What an environment knows, by name. For the implementation of CEL only.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/cel.h"
#include "cel/library.h"
#include "cel/syntax/macro.h"

namespace koord::cel {

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const {
    return std::hash<std::string_view>()(name);
  }
};
template <class T>
using NameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

struct FunctionEntry {
  std::string name;
  std::vector<const Overload*> overloads;
};

struct EnvironmentState {
  EnvironmentOptions options;
  NameMap<std::size_t> variables;  // index into options.variables
  NameMap<FunctionEntry> functions;
  NameMap<std::vector<const Macro*>> macros;
  NameMap<Constant> constants;
  NameMap<const ObjectType*> types;

  // "a.b.x", "a.x", "x" for the container a.b and the name x; "x" for ".x".
  std::vector<std::string> candidates(std::string_view name) const;
  const FunctionEntry* function(std::string_view name) const;  // by candidates
  const Macro* macro(std::string_view name, bool member, int arguments) const;
  const Constant* constant(std::string_view fullName) const;
  const ObjectType* type(std::string_view fullName) const;
};

}  // namespace koord::cel
