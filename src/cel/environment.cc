// Environments: names of libraries and variables, looked up when an expression is compiled.

#include <fmt/format.h>

#include "cel/dynamic_object.h"
#include "cel/environment_state.h"

namespace koord::cel {

std::vector<std::string> EnvironmentState::candidates(std::string_view name) const {
  if (name.starts_with('.')) return {std::string(name.substr(1))};
  std::vector<std::string> result;
  for (std::string_view prefix = options.container; !prefix.empty();) {
    result.push_back(fmt::format("{}.{}", prefix, name));
    const std::size_t dot = prefix.rfind('.');
    prefix = dot == std::string_view::npos ? std::string_view() : prefix.substr(0, dot);
  }
  result.emplace_back(name);
  return result;
}

const FunctionEntry* EnvironmentState::function(std::string_view name) const {
  for (const std::string& candidate : candidates(name)) {
    const auto found = functions.find(candidate);
    if (found != functions.end()) return &found->second;
  }
  return nullptr;
}

const Macro* EnvironmentState::macro(std::string_view name, bool member, int arguments) const {
  const auto found = macros.find(name);
  if (found == macros.end()) return nullptr;
  for (const Macro* macro : found->second)
    if (macro->member == member && (macro->arguments < 0 || macro->arguments == arguments))
      return macro;
  return nullptr;
}

const Constant* EnvironmentState::constant(std::string_view fullName) const {
  const auto found = constants.find(fullName);
  return found == constants.end() ? nullptr : &found->second;
}

const ObjectType* EnvironmentState::type(std::string_view fullName) const {
  const auto found = types.find(fullName);
  if (found != types.end()) return found->second;
  return options.resolver ? options.resolver->find(fullName) : nullptr;
}

namespace {

Result<> addFunctions(EnvironmentState& state, const Library& library) {
  for (const Function& function : library.functions) {
    FunctionEntry& entry = state.functions[function.name];
    entry.name = function.name;
    for (const Overload& overload : function.overloads) {
      for (const Overload* other : entry.overloads)
        if (other->id == overload.id)
          return fail(ErrorCode::Invalid, fmt::format("library {}: the overload {} exists already",
                                                      library.name, overload.id));
      entry.overloads.push_back(&overload);
    }
  }
  return {};
}

// Types that are reached through fields may be named in expressions, too.
void addObjectTypes(EnvironmentState& state, const Type& type) {
  if (const ObjectType* object = type.objectType())
    state.types.emplace(std::string(object->name()), object);
  for (const Type& parameter : type.parameters()) addObjectTypes(state, parameter);
}

Result<> addVariable(EnvironmentState& state, std::size_t index) {
  const Variable& variable = state.options.variables[index];
  if (!state.variables.emplace(variable.name, index).second)
    return fail(ErrorCode::Invalid,
                fmt::format("the variable {} is declared twice", variable.name));
  addObjectTypes(state, variable.type);
  return {};
}

}  // namespace

Result<Environment> Environment::create(EnvironmentOptions options) {
  auto state = std::make_shared<EnvironmentState>();
  state->options = std::move(options);
  for (const Library* library : state->options.libraries) {
    if (auto added = addFunctions(*state, *library); !added)
      return std::unexpected(std::move(added).error());
    for (const Macro& macro : library->macros) state->macros[macro.name].push_back(&macro);
    for (const Constant& constant : library->constants)
      state->constants.emplace(constant.name, constant);
    for (const ObjectType* type : library->types)
      state->types.emplace(std::string(type->name()), type);
  }
  for (const ObjectType* type : state->options.types)
    state->types.emplace(std::string(type->name()), type);
  for (std::size_t i = 0; i < state->options.variables.size(); ++i)
    if (auto added = addVariable(*state, i); !added)
      return std::unexpected(std::move(added).error());
  return Environment(std::move(state));
}

Result<Environment> Environment::extend(std::vector<Variable> variables) const {
  auto state = std::make_shared<EnvironmentState>(*state_);
  for (Variable& variable : variables) {
    state->options.variables.push_back(std::move(variable));
    if (auto added = addVariable(*state, state->options.variables.size() - 1); !added)
      return std::unexpected(std::move(added).error());
  }
  return Environment(std::move(state));
}

std::optional<std::size_t> Environment::variable(std::string_view name) const {
  const auto found = state_->variables.find(name);
  if (found == state_->variables.end()) return std::nullopt;
  return found->second;
}

Activation::Activation(const Environment& environment)
    : environment_(environment.state_), values_(environment_->options.variables.size()) {}

void Activation::set(std::string_view name, Value value) {
  const auto found = environment_->variables.find(name);
  if (found != environment_->variables.end()) values_[found->second] = std::move(value);
}

}  // namespace koord::cel
