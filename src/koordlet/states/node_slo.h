#pragma once

// NodeSLO as koordlet applies it: the object overlaid on koordlet's defaults, and neutral values
// for QoS features that are switched off.

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

// A section that is malformed or out of bounds keeps its value in `last` and adds a line to
// `problems`.
EffectiveSlo effectiveSlo(const api::NodeSLOSpec& spec, const EffectiveSlo& last,
                          std::vector<std::string>& problems);

}  // namespace koord::koordlet
