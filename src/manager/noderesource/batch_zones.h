#pragma once

// Batch resources of the NUMA zones of a node, in its NodeResourceTopology.
//
// The formula of the node, on what is known of a zone: its own capacity, the pods that have CPUs or
// memory on it, and an even part of all that nobody knows the place of (the system, the reservation,
// pods without a place). Parts are rounded up to thousandths. Costs pods x zones.

#include <optional>
#include <vector>

#include "base/json.h"
#include "manager/noderesource/cpu_memory.h"
#include "manager/noderesource/plugin.h"

namespace koord::manager {

// By the zones' order; nothing when the node offers no batch resources now. A topology without cpu and
// memory has no zones in this sense: the list is empty.
using ZoneAmounts = std::vector<std::optional<CpuMemory>>;
ZoneAmounts batchZones(const NodeView& view, bool offered);

// Writes the amounts into the list of zones of a NodeResourceTopology's document: values that moved by
// more than the threshold, and those that appear or vanish. Batch CPU is scaled by the ratio, if it is
// more than 1. Returns whether anything changed.
bool writeZones(json::value& zones, const ZoneAmounts& amounts, double ratio, double threshold);

}  // namespace koord::manager
