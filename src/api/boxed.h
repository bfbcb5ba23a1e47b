#pragma once

// Boxed<T>: an optional T kept on the heap, with the value semantics of std::optional. For members
// that are large and mostly absent: an absent one costs a pointer.

#include <memory>
#include <optional>
#include <utility>

namespace koord::api {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t) {}                                           // NOLINT: as std::optional
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: as std::optional
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }

  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T& emplace() { return *(value_ = std::make_unique<T>()); }
  void reset() { value_.reset(); }

  bool operator==(const Boxed& other) const
    requires requires(const T& a) { a == a; }
  {
    return value_ && other.value_ ? *value_ == *other.value_ : value_ == other.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace koord::api
