#pragma once

// NodeSLO as koordlet applies it: what the object says laid over koordlet's own defaults, and
// neutral values for QoS features that are switched off.

#include <vector>

#include "api/slo.h"
#include "api/slo_strategies.h"
#include "base/result.h"

namespace koord::koordlet {

struct EffectiveSlo {
  api::ResourceThresholdStrategy threshold;  // every field that has a default is set
  api::ResourceQOSStrategy qos;              // every class, with cpuQOS, memoryQOS and resctrlQOS
  api::CPUBurstStrategy cpuBurst;
  api::SystemStrategy system;
  std::vector<api::HostApplicationSpec> hostApplications;

  bool beEnabled() const { return threshold.enable.value_or(false); }
};

EffectiveSlo defaultSlo();

// A section that cannot be read or is out of bounds keeps what `last` has there; each such section
// adds a line to `problems`.
EffectiveSlo effectiveSlo(const api::NodeSLOSpec& spec, const EffectiveSlo& last,
                          std::vector<std::string>& problems);

}  // namespace koord::koordlet
