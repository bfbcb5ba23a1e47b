#pragma once

// The parameters of the co-location study: the cluster, what its services and jobs do, and the
// machine model. Each has a name, a unit and its source: a publication, or "assumed" where no
// public figure exists; then the sensitivity table varies it.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::koordctl::colocation {

struct Parameters {
  // Nodes.
  double nodes = 100;
  double cores = 96;
  double memoryGib = 384;
  double systemCores = 1;
  double systemMemoryGib = 4;
  // Services.
  double requestedShare = 0.85;
  double meanUse = 0.25;
  double useSpread = 0.4;
  double dailySwing = 0.5;
  double peakUse = 0.7;
  double weekendDip = 0.2;
  double burstsPerDay = 4;
  double burstMinutes = 5;
  double burstHeight = 2;
  double shedAt = 1;
  double noise = 0.15;
  double noiseMinutes = 2;
  double replicas = 10;
  double limitFactor = 1;
  double serviceMemoryPerCore = 3;
  double serviceMemoryUse = 0.6;
  double memorySwing = 0.1;
  // Jobs.
  double jobMinutes = 10;
  double jobLongestHours = 8;
  double jobTail = 1.2;
  double jobCpuUse = 0.95;
  double jobMemoryPerCore = 2;
  double jobMemoryUse = 0.8;
  double backlog = 20;
  double longJobMinutes = 60;
  // Machine model.
  double requestMs = 5;
  double wakeupSearch = 4;
  double preemptMs = 1;
  double sliceMs = 3;
  double cacheShare = 0.2;
  double kernelBurst = 1;
  // Time.
  double stepSeconds = 15;
  double controlSeconds = 1;
};

struct Parameter {
  std::string_view name;
  double Parameters::* value;
  double low, high;  // the range, both ends included
  std::string_view meaning;
  std::string_view source;
  bool whole = false;  // a count
};

// All of them, in the order of the struct.
std::span<const Parameter> parameterTable();

// Sets one from "NAME=VALUE". The error names the parameter and its range.
Result<> setParameter(Parameters& parameters, std::string_view assignment);

}  // namespace koord::koordctl::colocation
