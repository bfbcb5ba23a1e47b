#include "scheduler/core/self_check.h"

#include <algorithm>

#include "base/log.h"

namespace koord::scheduler {

namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr std::size_t kNodesPerPeriod = 4;

}  // namespace

void SelfCheck::start() {
  if (timer_ == 0) timer_ = executor_.runAfter(kPeriod, [this] { check(); });
}

void SelfCheck::check() {
  const std::size_t capacity = cluster_.capacity();
  for (std::size_t n = 0; n < std::min(kNodesPerPeriod, capacity); ++n) {
    if (next_ >= capacity) next_ = 0;
    const NodeId node = next_++;
    const std::vector<Cluster::Drift> drifts = cluster_.checkNode(node);
    for (const Cluster::Drift& drift : drifts) {
      log::error("node {}: the ledger of {} differs from the allocations of its pods: {}",
                 cluster_.node(node).name, drift.ledger, drift.difference);
      if (observer_) observer_->drifted(drift.ledger);
    }
    if (!drifts.empty()) cluster_.repairNode(node, drifts);
  }
  timer_ = executor_.runAfter(kPeriod, [this] { check(); });
}

}  // namespace koord::scheduler
