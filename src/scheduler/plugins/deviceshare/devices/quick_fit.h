#pragma once

// Whether a node has room for a plain request of GPUs, without saying which ones it would give.
//
// A Filter asks about the same few kinds of requests on every node that changes, and most requests
// are plain: so many GPUs, so much of each, no wishes. Then the allocator finds something exactly
// where enough GPUs have enough free, and counting them is an order of magnitude cheaper. What is not
// plain, or where a table of partitions may find more, is for the allocator; so is what it would say.

#include "scheduler/plugins/deviceshare/devices/allocator.h"

namespace koord::scheduler {

enum class QuickFit : std::uint8_t { Fits, Lacks, AskAllocator };

// Whether requests like this one can be answered by counting.
bool isPlain(const DeviceDemand& demand);
// For plain requests, by all that is not in use.
QuickFit quickFit(const DeviceDemand& demand, const DeviceInventory& inventory,
                  const DeviceUse& use, const NodeGpus& node);
// Why it lacks something, in the allocator's words. The node has GPUs.
const char* quickReason(const DeviceDemand& demand, const DeviceInventory& inventory);
// What DeviceAllocator::score says; nullopt: it has to be asked.
std::optional<std::int64_t> quickScore(const DeviceDemand& demand, const DeviceScoring& scoring,
                                       const DeviceInventory& inventory, const DeviceUse& use);

}  // namespace koord::scheduler
