#pragma once

// What the last cycles decided, pod by pod: served at /debug/evictions, the plan of a dry run above all. Bounded.

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
  std::string landing;  // where it is going to land; "" = not known
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
