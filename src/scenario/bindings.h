#pragma once

// Named values that expressions see as $name: an immutable list, so that an inner scope can hide a
// name without touching the outer one. Copies are cheap. Carries the clock for time_now() as well.

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

  // These bindings and one more, which hides an older one of the same name.
  Bindings with(std::string name, json::value value) const {
    Bindings result = *this;
    result.top_ = std::make_shared<const Entry>(Entry{std::move(name), std::move(value), top_});
    return result;
  }

  // nullptr when there is none of that name.
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
