#pragma once

// Decides whether a node has enough free for a plain request of GPUs, without choosing them.
//
// A Filter asks about the same few requests on every node that changes, and most requests are
// plain: a number of GPUs, the same amount of each, no constraints. The allocator then succeeds
// exactly if enough GPUs have enough free, and counting them is an order of magnitude cheaper.
// Requests that are not plain, and nodes where a table of partitions may find more, need the
// allocator.

#include "scheduler/plugins/deviceshare/devices/allocator.h"

namespace koord::scheduler {

enum class QuickFit : std::uint8_t { Fits, Lacks, AskAllocator };

// Returns true if counting can answer requests like this.
bool isPlain(const DeviceDemand& demand);
// For plain requests; considers everything that is not in use.
QuickFit quickFit(const DeviceDemand& demand, const DeviceInventory& inventory,
                  const DeviceUse& use, const NodeGpus& node);
// The reason of a shortage, in the allocator's words. The node has GPUs.
const char* quickReason(const DeviceDemand& demand, const DeviceInventory& inventory);
// The same as DeviceAllocator::score; nullopt: call the allocator.
std::optional<std::int64_t> quickScore(const DeviceDemand& demand, const DeviceScoring& scoring,
                                       const DeviceInventory& inventory, const DeviceUse& use);

}  // namespace koord::scheduler
