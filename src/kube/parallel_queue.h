#pragma once

// A work queue with several workers, for controllers whose keys are independent of each other: the
// writes of keys that are processed at the same time share a sync of the API server's disk, and
// their events a wakeup of each watcher. A key belongs to one worker, so it is never processed
// twice at the same time. Each worker is a WorkQueue, with its rules for failed keys.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/work_queue.h"

namespace koord::kube {

class ParallelQueue {
 public:
  ParallelQueue(Executor& executor, const std::string& name, const WorkQueue::Worker& worker,
                std::size_t workers) {
    for (std::size_t i = 0; i < workers; ++i)
      queues_.push_back(std::make_unique<WorkQueue>(executor, name, worker));
  }

  void add(const std::string& key) { queueOf(key).add(key); }
  void addAfter(const std::string& key, Duration delay) { queueOf(key).addAfter(key, delay); }
  // Nothing runs before start(): controllers call it when their informers are synced.
  void start() {
    for (const auto& queue : queues_) queue->start();
  }

 private:
  WorkQueue& queueOf(const std::string& key) {
    return *queues_[std::hash<std::string>{}(key) % queues_.size()];
  }

  std::vector<std::unique_ptr<WorkQueue>> queues_;
};

}  // namespace koord::kube
