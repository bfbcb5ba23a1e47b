#pragma once

// Batch resources of the NUMA zones of a node, in its NodeResourceTopology.
//
// Applies the node's formula to each zone: its own capacity, the pods with CPUs or memory on it,
// and an even part of all usage without a known zone (the system, the reservation, pods without a
// NUMA allocation). Parts are rounded up to thousandths. Cost: pods x zones.

#include <optional>
#include <vector>

#include "base/json.h"
#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// In the zones' order; nullopt if the node offers no batch resources now. Empty for a topology
// without cpu and memory.
using ZoneAmounts = std::vector<std::optional<CpuMemory>>;
ZoneAmounts batchZones(const NodeView& view, bool offered);

// Writes the amounts into the zones of a NodeResourceTopology's document: values that changed by
// more than the threshold, and added or removed ones. Batch CPU is scaled by the ratio, if it is
// more than 1. Returns true if anything changed.
bool writeZones(json::value& zones, const ZoneAmounts& amounts, double ratio, double threshold);

}  // namespace koord::manager
