#pragma once

// The work queue of a controller. A key waits once, no matter how often it is added. One key is
// processed at a time; a key that is added meanwhile runs again afterwards. Failed keys return with
// exponential backoff (5 ms doubling to 1,000 s) under a total limit (10/s, burst 100).

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "base/task.h"
#include "kube/metrics.h"

namespace koord::kube {

class WorkQueue {
 public:
  // Processes one key. An error or an exception puts the key back with backoff.
  using Worker = std::function<Task<Result<>>(std::string key)>;

  // metrics may be null; otherwise they must outlive the queue.
  WorkQueue(Executor& executor, std::string name, Worker worker, Metrics* metrics = nullptr);

  void add(const std::string& key);
  void addAfter(const std::string& key, Duration delay);
  // Nothing runs before start(): controllers call it when their informers are synced.
  void start();
  // The number of waiting keys, without the running key and those in backoff.
  std::size_t depth() const { return queue_.size(); }

 private:
  Task<void> loop();
  Task<Result<>> processKey(std::string key);
  Task<void> addLater(std::string key, Duration delay);
  Duration backoff(const std::string& key);

  Executor& executor_;
  std::string name_;
  Worker worker_;
  Metrics::Queue* metrics_;
  std::deque<std::string> queue_;
  std::unordered_map<std::string, SteadyTime> waiting_;  // the keys of queue_, since when
  std::unordered_map<std::string, int> failures_;
  bool started_ = false;
  bool running_ = false;
  double tokens_;
  SteadyTime refilled_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
