#pragma once

// Verdicts: for every node, whether it passed the filters and, if not, which plugin rejected it and
// why. The only source of FailedScheduling messages, queueing decisions and explanations. Equal
// rejections are stored once, so a node costs a byte or two, and the number of nodes per rejection
// is always known.

#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/engine/narrow_column.h"
#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

// A plugin's answer for one node; the order is upstream's.
enum class Code : std::uint8_t {
  Success,
  Error,
  Unschedulable,                 // removing pods from the node may help
  UnschedulableAndUnresolvable,  // it cannot help
  Wait,
  Skip,
  Pending,  // as Unschedulable, but an event that its plugin accepts skips the backoff
};

constexpr bool isRejection(Code code) {
  return code == Code::Unschedulable || code == Code::UnschedulableAndUnresolvable ||
         code == Code::Pending;
}
std::string_view nameOf(Code code);  // "Unschedulable"

struct Rejection {
  std::uint16_t plugin = 0;  // index among the filter plugins of the profile
  Code code = Code::Unschedulable;
  std::vector<std::string> reasons;
  bool operator==(const Rejection&) const = default;
};

using VerdictId = std::uint32_t;
inline constexpr VerdictId kPasses = 0;

class Verdicts {
 public:
  Verdicts() { clear(0); }

  // All nodes pass.
  void clear(std::size_t capacity);
  void reserve(std::size_t capacity);

  VerdictId intern(Rejection rejection);
  void set(NodeId node, VerdictId verdict);
  void pass(const NodeSet& nodes);  // sets all of them to kPasses

  VerdictId at(NodeId node) const { return static_cast<VerdictId>(byNode_.at(node)); }
  const Rejection& rejection(VerdictId id) const { return rejections_[id]; }
  // The number of nodes with this verdict; meaningless for kPasses.
  std::size_t count(VerdictId id) const { return counts_[id]; }
  // The nodes of `among` whose rejection has this code, ascending.
  std::vector<NodeId> nodesWith(Code code, const NodeSet& among) const;
  // Ids run from 1 to size() - 1.
  std::size_t size() const { return rejections_.size(); }

 private:
  NarrowColumn byNode_;
  std::vector<Rejection> rejections_;
  std::vector<std::size_t> counts_;
  std::unordered_multimap<std::size_t, VerdictId> ids_;  // by hash
};

}  // namespace koord::scheduler
