#pragma once

// Limits the evictions of a cycle: per node, per namespace and in total. One object per process.
// Counters start at 0 in each cycle; the first cycle of a process starts with the evictions of the
// last interval.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "descheduler/framework/pod.h"

namespace koord::descheduler {

class EvictionLimiter {
 public:
  // nullopt: no limit. 0: no evictions.
  struct Limits {
    std::optional<std::uint32_t> perNode;
    std::optional<std::uint32_t> perNamespace;
    std::optional<std::uint32_t> total;
  };
  explicit EvictionLimiter(Limits limits) : limits_(limits) {}

  void reset();
  // The limit that forbids the eviction: "node", "namespace", "total"; "" if it is allowed.
  std::string_view denies(const api::Pod& pod) const;
  void count(const std::string& node, const std::string& namespace_);
  bool nodeExhausted(std::string_view node) const;
  bool exhausted() const { return limits_.total && total_ >= *limits_.total; }
  std::uint32_t total() const { return total_; }

 private:
  Limits limits_;
  std::map<std::string, std::uint32_t, std::less<>> byNode_;
  std::map<std::string, std::uint32_t, std::less<>> byNamespace_;
  std::uint32_t total_ = 0;
};

}  // namespace koord::descheduler
