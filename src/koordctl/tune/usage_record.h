#pragma once

// UsageRecord: what pods used over time, as `koordctl tune record` writes it.
//
// The file is CSV with a line for each pod and sample:
//
//   time,namespace,pod,cpu_milli,memory_bytes
//   1764355200,shop,web-5d4f8-abcde,250,536870912
//
// time is in seconds since 1970. The samples of a pod should be equally far apart; those of
// different pods may come in any order. Other tools may write it too, for example from the range
// queries of a monitoring system.
//
// In memory the samples of each pod are on one grid of time: 8 bytes a pod and step. A short gap
// gets the sample before it; in a longer one the pod is absent.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/meta.h"
#include "base/executor.h"
#include "base/result.h"

namespace koord::koordctl {

inline constexpr const char* kUsageHeader = "time,namespace,pod,cpu_milli,memory_bytes";

struct UsageSeries {
  // By step; NaN while the pod is absent.
  std::vector<float> cores, gib;
};

struct UsageRecord {
  std::int64_t start = 0;   // seconds since 1970
  std::int64_t every = 60;  // seconds of a step
  std::size_t steps = 0;
  std::map<api::ObjectKey, UsageSeries> pods;  // not empty

  double hours() const { return static_cast<double>(steps) * static_cast<double>(every) / 3600; }
};

// Reads the samples of the wanted pods. An unfinished last line is ignored: the writer was killed.
// Errors name the file and the line; NotFound: no wanted pod has samples.
Result<UsageRecord> readUsage(const std::string& file,
                              const std::function<bool(const api::ObjectKey& pod)>& wanted);

// A line of the file, with its end.
std::string usageLine(std::int64_t time, const api::ObjectKey& pod, std::int64_t milli,
                      std::int64_t bytes);

}  // namespace koord::koordctl
