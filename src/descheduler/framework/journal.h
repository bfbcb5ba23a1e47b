#pragma once

// The last cycles' decisions for each pod, served at /debug/evictions. In a dry run they are the
// plan. Bounded.

#include <deque>
#include <string>

#include "base/executor.h"
#include "base/json.h"

namespace koord::descheduler {

struct Decision {
  WallTime at{};
  std::uint64_t cycle = 0;
  std::string namespace_;
  std::string pod;
  std::string node;     // where it runs
  std::string landing;  // where it will be placed; "" = unknown
  std::string profile;
  std::string plugin;
  std::string reason;
  std::string outcome;  // evicted, planned (dry run), or why not
  std::string job;
};

class Journal {
 public:
  void add(Decision decision);
  const std::deque<Decision>& all() const { return decisions_; }
  json::value document() const;

 private:
  static constexpr std::size_t kKept = 2000;
  std::deque<Decision> decisions_;
};

}  // namespace koord::descheduler
