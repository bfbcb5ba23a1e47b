#pragma once

// Named values that expressions read as $name: an immutable list, so that an inner scope can hide a
// name without changing the outer scope. Cheap to copy. Also has the clock for time_now().

#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/json.h"

namespace koord::scenario {

class Bindings {
 public:
  Bindings() = default;
  explicit Bindings(const Clock& clock) : clock_(&clock) {}

  // These bindings plus one, which hides an older one of the same name.
  Bindings with(std::string name, json::value value) const {
    Bindings result = *this;
    result.top_ = std::make_shared<const Entry>(Entry{std::move(name), std::move(value), top_});
    return result;
  }

  // nullptr if there is no such name.
  const json::value* find(std::string_view name) const {
    for (const Entry* entry = top_.get(); entry; entry = entry->next.get()) {
      if (entry->name == name) return &entry->value;
    }
    return nullptr;
  }

  const Clock* clock() const { return clock_; }

 private:
  struct Entry {
    std::string name;
    json::value value;
    std::shared_ptr<const Entry> next;
  };
  std::shared_ptr<const Entry> top_;
  const Clock* clock_ = nullptr;
};

}  // namespace koord::scenario
