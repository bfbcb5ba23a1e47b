#pragma once

// Unification of types: which types agree, and what type variables stand for.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cel/type.h"

namespace koord::cel {

// Types grow with each level of a literal, and variables stand for types with variables: an
// expression of a few hundred bytes can write a type with 2^100 nodes. A Unifier stops at bounds
// that no other expression comes near.
class Unifier {
 public:
  Type newVariable();
  // True if a value of type `from` may be used where `to` is expected, or the other way round;
  // binds type variables as needed, and none if the result is false.
  bool assignable(const Type& from, const Type& to);
  bool assignable(std::span<const Type> from, std::span<const Type> to);
  // The type with variables replaced by what they are bound to, and free ones by dyn if
  // `freeToDyn`.
  Type substitute(const Type& type, bool freeToDyn) const;
  // True if the work was too much or a type too large. Results since then mean nothing.
  bool isExhausted() const { return exhausted_; }
  // The more general of two types that agree.
  static Type mostGeneral(const Type& a, const Type& b);

 private:
  bool unify(const Type& a, const Type& b);
  bool unifyAll(std::span<const Type> a, std::span<const Type> b);
  // Whether `variable` may stand for `type`; `bound` receives whether it stood for a type before.
  bool bind(const Type& type, const Type& variable, bool& bound);
  bool occurs(const Type& variable, const Type& within) const;
  const Type* find(const Type& variable) const;
  void set(const Type& variable, Type type);
  void rollBack(std::size_t mark);
  // Counts a step. False if the Unifier is exhausted.
  bool step(const Type& type) const;

  std::unordered_map<std::string, Type> bindings_;
  // What bindings were before each change, so that an overload that does not match leaves no trace.
  std::vector<std::pair<std::string, std::optional<Type>>> log_;
  int next_ = 0;
  mutable std::size_t steps_ = 0;
  mutable bool exhausted_ = false;
};

// The type with its parameters (A, B) replaced.
Type replaceParameters(const Type& type, const std::unordered_map<std::string, Type>& by);
// The names of the parameters in a type.
void collectParameters(const Type& type, std::unordered_map<std::string, Type>& names);

}  // namespace koord::cel
