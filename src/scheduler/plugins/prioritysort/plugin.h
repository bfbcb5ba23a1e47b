#pragma once

// PrioritySort: the order of the queue: higher spec.priority first, then the longer waiting time.

#include "scheduler/framework/registry.h"

namespace koord::scheduler {

class PrioritySort final : public Plugin, public QueueSortPlugin {
 public:
  static constexpr std::string_view kName = "PrioritySort";
  std::string_view name() const override { return kName; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    if (a.info->priority != b.info->priority) return a.info->priority > b.info->priority;
    return a.timestamp < b.timestamp;
  }
};

}  // namespace koord::scheduler
