#pragma once

// Boxed<T>: an optional T on the heap, with the value semantics of std::optional. For members that
// are large and mostly absent: an absent member costs a pointer. A Boxed is a List of at most one
// item, so copies can share the item (list.h).

#include <optional>
#include <utility>

#include "api/list.h"

namespace koord::api {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t) {}                               // NOLINT: as std::optional
  Boxed(T value) { item_.push_back(std::move(value)); }  // NOLINT: as std::optional

  explicit operator bool() const { return !item_.empty(); }
  bool has_value() const { return !item_.empty(); }
  T& operator*() { return *item_.begin(); }
  const T& operator*() const { return *item_.begin(); }
  T* operator->() { return item_.begin(); }
  const T* operator->() const { return item_.begin(); }
  T& emplace() {
    reset();
    return item_.emplace_back();
  }
  void reset() { item_ = List<T>(); }

  void share() { item_.share(); }
  std::size_t useCount() const noexcept { return item_.useCount(); }

  bool operator==(const Boxed& other) const
    requires requires(const T& a) { a == a; }
  {
    return item_ == other.item_;
  }

 private:
  List<T> item_;
};

}  // namespace koord::api
