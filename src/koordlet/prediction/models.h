#pragma once

// Models of CPU and memory usage: one pair of histograms per pod, per priority class, for the node
// and for the system. CPU in cores, memory in bytes.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/histogram.h"
#include "model/priority.h"

namespace koord::koordlet::prediction {

// Pods have their uid as key.
inline constexpr std::string_view kNodeKey = "__node__";
inline constexpr std::string_view kSystemKey = "__node-sys__";
std::string keyOf(model::PriorityClass priorityClass);
inline constexpr model::PriorityClass kPriorityClasses[] = {
    model::PriorityClass::Prod, model::PriorityClass::Mid, model::PriorityClass::Batch,
    model::PriorityClass::Free, model::PriorityClass::None};

struct HalfLives {
  Duration cpu = std::chrono::hours(12);
  Duration memory = std::chrono::hours(24);
};

// CPU in milli-cores, memory in bytes.
struct Amount {
  std::int64_t milli = 0;
  std::int64_t bytes = 0;
  bool operator==(const Amount&) const = default;
};
Amount operator+(Amount a, Amount b);
Amount smaller(Amount a, Amount b);  // for CPU and memory separately
Amount larger(Amount a, Amount b);
Amount operator-(Amount a, Amount b);

class Model {
 public:
  explicit Model(HalfLives halfLives);

  void add(double cores, double bytes, WallTime time);
  Amount percentile(double share) const;
  // The peak: the 95th percentile of CPU, and the 98th of memory, because memory cannot be
  // throttled.
  Amount peak() const;

  WallTime updated{};  // when something was last added
  // The same, and when it was last saved, on the monotonic clock, because the wall clock may be
  // set.
  SteadyTime learnt{};
  std::optional<SteadyTime> saved;

  // {"UID", "CPU", "Memory", "LastUpdated"}, upstream's file format.
  json::value save(std::string_view key, WallTime now) const;
  static Result<Model> load(const json::value& document, HalfLives halfLives);

 private:
  model::Histogram cpu_;
  model::Histogram memory_;
};

}  // namespace koord::koordlet::prediction
