#pragma once

// How many pods a cycle may evict: per node, per namespace and in all. One for the process; counters begin
// anew with each cycle, the first one of a process with what the one before evicted less than an interval ago.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "descheduler/framework/pod.h"

namespace koord::descheduler {

class EvictionLimiter {
 public:
  // Absent: no limit. 0: nothing is evicted.
  struct Limits {
    std::optional<std::uint32_t> perNode;
    std::optional<std::uint32_t> perNamespace;
    std::optional<std::uint32_t> total;
  };
  explicit EvictionLimiter(Limits limits) : limits_(limits) {}

  void reset();
  // Which limit forbids the eviction: "node", "namespace", "total"; "" = none does.
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
