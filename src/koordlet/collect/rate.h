#pragma once

// Rates from counters that only go up: the first reading of a subject is the base and gives no
// rate, nor does one after the counter went back (its cgroup was made anew) or after a pause of
// many intervals.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/executor.h"

namespace koord::koordlet {

class RateKeeper {
 public:
  explicit RateKeeper(Duration expiry) : expiry_(expiry) {}

  struct Delta {
    std::int64_t amount = 0;
    Duration elapsed{0};
  };
  // Takes a reading; what was counted since the last one, if that can be said.
  std::optional<Delta> take(std::string_view subject, std::int64_t counter, SteadyTime now) {
    if (counter < 0) return std::nullopt;  // a torn file; what was known stays the base
    const auto it = bases_.find(subject);
    if (it == bases_.end()) {
      bases_.emplace(std::string(subject), Base{counter, now});
      return std::nullopt;
    }
    const Base before = it->second;
    if (now <= before.at) return std::nullopt;
    it->second = {counter, now};
    if (counter < before.counter || now - before.at > expiry_) return std::nullopt;
    return Delta{counter - before.counter, now - before.at};
  }

  void collectGarbage(SteadyTime now) {
    std::erase_if(bases_, [&](const auto& entry) { return now - entry.second.at > expiry_; });
  }

 private:
  struct Base {
    std::int64_t counter;
    SteadyTime at;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  Duration expiry_;
  std::unordered_map<std::string, Base, Hash, std::equal_to<>> bases_;
};

}  // namespace koord::koordlet
