#include "cel/check/unify.h"

#include <fmt/format.h>

namespace koord::cel {

namespace {

constexpr std::size_t kMaxUnifySteps = 5'000'000;
constexpr std::size_t kMaxTypeNodes = 1'000;  // nodes

bool isNullable(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Null:
    case TypeKind::Wrapper:
    case TypeKind::Opaque:
    case TypeKind::Object:
    case TypeKind::Duration:
    case TypeKind::Timestamp:
      return true;
    default:
      return false;
  }
}

// True if `a` says as little as `b` or less.
bool isAsGeneral(const Type& a, const Type& b) {
  if (a.isDyn() || a.kind() == TypeKind::Parameter) return true;
  if (b.isDyn() || b.kind() == TypeKind::Parameter) return false;
  if (a.kind() == TypeKind::Wrapper && b.kind() != TypeKind::Wrapper)
    return b.kind() == TypeKind::Null || a.parameters()[0] == b;
  if (b.kind() == TypeKind::Null) return isNullable(a);
  if (a.kind() != b.kind()) return false;
  if (a.kind() == TypeKind::Type) return true;
  if (a.name() != b.name() || a.parameters().size() != b.parameters().size()) return false;
  for (std::size_t i = 0; i < a.parameters().size(); ++i)
    if (!isAsGeneral(a.parameters()[i], b.parameters()[i])) return false;
  return true;
}

template <class Replace>
Type rebuild(const Type& type, Replace replace) {
  std::vector<Type> parameters;
  for (const Type& parameter : type.parameters()) parameters.push_back(replace(parameter));
  switch (type.kind()) {
    case TypeKind::List:
      return Type::list(std::move(parameters[0]));
    case TypeKind::Map:
      return Type::map(std::move(parameters[0]), std::move(parameters[1]));
    case TypeKind::Type:
      return Type::type(std::move(parameters[0]));
    case TypeKind::Opaque:
      return Type::opaque(std::string(type.name()), std::move(parameters));
    default:
      return type;
  }
}

}  // namespace

Type Unifier::newVariable() {
  return Type::parameter(fmt::format("_var{}", next_++));
}

const Type* Unifier::find(const Type& variable) const {
  if (variable.kind() != TypeKind::Parameter) return nullptr;
  const auto found = bindings_.find(std::string(variable.name()));
  return found == bindings_.end() ? nullptr : &found->second;
}

bool Unifier::step(const Type& type) const {
  if (++steps_ > kMaxUnifySteps || type.size() > kMaxTypeNodes) exhausted_ = true;
  return !exhausted_;
}

void Unifier::set(const Type& variable, Type type) {
  std::string name(variable.name());
  const auto found = bindings_.find(name);
  log_.emplace_back(name, found == bindings_.end() ? std::nullopt : std::optional(found->second));
  bindings_.insert_or_assign(std::move(name), std::move(type));
}

void Unifier::rollBack(std::size_t mark) {
  while (log_.size() > mark) {
    auto& [name, before] = log_.back();
    if (before) {
      bindings_.insert_or_assign(name, *std::move(before));
    } else {
      bindings_.erase(name);
    }
    log_.pop_back();
  }
}

bool Unifier::assignable(const Type& from, const Type& to) {
  return assignable(std::span(&from, 1), std::span(&to, 1));
}

bool Unifier::assignable(std::span<const Type> from, std::span<const Type> to) {
  const std::size_t mark = log_.size();
  const bool agrees = unifyAll(from, to);
  if (!agrees) rollBack(mark);
  log_.clear();
  return agrees;
}

bool Unifier::unifyAll(std::span<const Type> a, std::span<const Type> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!unify(a[i], b[i])) return false;
  return true;
}

bool Unifier::unify(const Type& a, const Type& b) {
  if (!step(a) || !step(b)) return false;
  if (b.kind() == TypeKind::Parameter) {
    bool bound = false;
    if (bind(a, b, bound)) return true;
    if (bound) return false;
  }
  if (a.kind() == TypeKind::Parameter) {
    bool bound = false;
    return bind(b, a, bound);
  }
  if (a.isDyn() || b.isDyn()) return true;
  if (a.kind() == TypeKind::Null) return isNullable(b);
  if (b.kind() == TypeKind::Null) return isNullable(a);
  if (a.kind() == TypeKind::Wrapper) return unify(a.parameters()[0], b);
  if (b.kind() == TypeKind::Wrapper) return unify(a, b.parameters()[0]);
  if (a.kind() != b.kind()) return false;
  if (a.kind() == TypeKind::Type) return true;
  return a.name() == b.name() && unifyAll(a.parameters(), b.parameters());
}

bool Unifier::bind(const Type& type, const Type& variable, bool& bound) {
  bound = true;
  if (type == variable) return true;
  if (const Type* known = find(variable)) {
    const Type current = *known;
    if (type == current) return true;
    if (!unify(type, current)) return false;
    Type general = mostGeneral(type, current);
    if (!occurs(variable, general)) set(variable, std::move(general));
    return true;
  }
  bound = false;
  if (occurs(variable, type)) return false;
  set(variable, type);
  return true;
}

bool Unifier::occurs(const Type& variable, const Type& within) const {
  if (variable == within || !step(within)) return true;
  if (!within.isGeneric()) return false;
  if (within.kind() == TypeKind::Parameter) {
    const Type* bound = find(within);
    return bound && occurs(variable, *bound);
  }
  for (const Type& parameter : within.parameters())
    if (occurs(variable, parameter)) return true;
  return false;
}

Type Unifier::substitute(const Type& type, bool freeToDyn) const {
  if (!step(type)) return Type::dyn();
  if (!type.isGeneric()) return type;
  if (const Type* bound = find(type)) return substitute(*bound, freeToDyn);
  if (type.kind() == TypeKind::Parameter) return freeToDyn ? Type::dyn() : type;
  return rebuild(type, [&](const Type& parameter) { return substitute(parameter, freeToDyn); });
}

Type Unifier::mostGeneral(const Type& a, const Type& b) {
  return isAsGeneral(a, b) ? a : b;
}

Type replaceParameters(const Type& type, const std::unordered_map<std::string, Type>& by) {
  if (type.kind() == TypeKind::Parameter) {
    const auto found = by.find(std::string(type.name()));
    return found == by.end() ? type : found->second;
  }
  if (!type.isGeneric()) return type;
  return rebuild(type, [&](const Type& parameter) { return replaceParameters(parameter, by); });
}

void collectParameters(const Type& type, std::unordered_map<std::string, Type>& names) {
  if (!type.isGeneric()) return;
  if (type.kind() == TypeKind::Parameter) names.emplace(type.name(), Type::dyn());
  for (const Type& parameter : type.parameters()) collectParameters(parameter, names);
}

}  // namespace koord::cel
