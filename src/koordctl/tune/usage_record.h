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
// In memory all samples are on one grid of time. A short gap of a pod gets the sample before it; in
// a longer one the pod is absent. Times at which no pod has samples, because no recorder ran, are
// cut out: what was recorded after them follows what was recorded before.
//
// Of a workload (pod_workload.h) the record has the mean of its pods, whatever their names.
//
// Memory: 16 bytes a sample of a wanted pod while the file is read, then 8 bytes a pod and step.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "base/executor.h"
#include "base/result.h"
#include "koordctl/tune/pod_workload.h"

namespace koord::koordctl {

inline constexpr const char* kUsageHeader = "time,namespace,pod,cpu_milli,memory_bytes";

struct UsageSeries {
  // By step; NaN while the pod is absent, or no pod of the workload is there.
  std::vector<float> cores, gib;
};

struct UsageRecord {
  std::int64_t every = 60;  // seconds of a step
  std::size_t steps = 0;
  std::map<api::ObjectKey, UsageSeries> pods;
  std::map<PodWorkload, UsageSeries> workloads;

  // How much was recorded.
  double hours() const { return static_cast<double>(steps) * static_cast<double>(every) / 3600; }
};

struct UsageFilter {
  std::function<bool(const api::ObjectKey& pod)> pod;
  // The workload whose mean the pod counts for; nullopt = none. May be null.
  std::function<std::optional<PodWorkload>(const api::ObjectKey& pod)> workload = {};
};

// Reads the samples that pass the filter, which is asked once for each name. An unfinished last
// line is ignored: the writer was killed. Amounts above those of any node count as the largest.
// Errors name the file and the line; NotFound: no sample passes.
Result<UsageRecord> readUsage(const std::string& file, const UsageFilter& filter);

// A line of the file, with its end.
std::string usageLine(std::int64_t time, const api::ObjectKey& pod, std::int64_t milli,
                      std::int64_t bytes);

}  // namespace koord::koordctl
