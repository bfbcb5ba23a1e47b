#pragma once

// Rates from counters that only go up. There is no rate for the first reading of a subject, which
// is the base, for a reading after which a counter is lower (its cgroup was created again), and for
// a reading after a pause longer than `expiry`.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/executor.h"

namespace koord::koordlet {

// N counters per subject, which are read together.
template <std::size_t N>
class RatesKeeper {
 public:
  using Counters = std::array<std::int64_t, N>;

  explicit RatesKeeper(Duration expiry) : expiry_(expiry) {}

  struct Delta {
    Counters amounts{};
    Duration elapsed{0};
  };
  // Takes a reading. Returns the amounts since the last reading; nullopt if there is no rate.
  std::optional<Delta> take(std::string_view subject, const Counters& counters, SteadyTime now) {
    // A torn file; the last reading stays the base.
    if (std::ranges::any_of(counters, [](std::int64_t counter) { return counter < 0; }))
      return std::nullopt;
    const auto it = bases_.find(subject);
    if (it == bases_.end()) {
      bases_.emplace(std::string(subject), Base{counters, now});
      return std::nullopt;
    }
    const Base before = it->second;
    if (now <= before.at) return std::nullopt;
    it->second = {counters, now};
    if (now - before.at > expiry_) return std::nullopt;
    Delta delta{{}, now - before.at};
    for (std::size_t i = 0; i < N; ++i) {
      if (counters[i] < before.counters[i]) return std::nullopt;
      delta.amounts[i] = counters[i] - before.counters[i];
    }
    return delta;
  }

  void collectGarbage(SteadyTime now) {
    std::erase_if(bases_, [&](const auto& entry) { return now - entry.second.at > expiry_; });
  }

 private:
  struct Base {
    Counters counters;
    SteadyTime at;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  Duration expiry_;
  std::unordered_map<std::string, Base, Hash, std::equal_to<>> bases_;
};

class RateKeeper {
 public:
  explicit RateKeeper(Duration expiry) : rates_(expiry) {}

  struct Delta {
    std::int64_t amount = 0;
    Duration elapsed{0};
  };
  std::optional<Delta> take(std::string_view subject, std::int64_t counter, SteadyTime now) {
    const auto delta = rates_.take(subject, {counter}, now);
    if (!delta) return std::nullopt;
    return Delta{delta->amounts[0], delta->elapsed};
  }
  void collectGarbage(SteadyTime now) { rates_.collectGarbage(now); }

 private:
  RatesKeeper<1> rates_;
};

}  // namespace koord::koordlet
