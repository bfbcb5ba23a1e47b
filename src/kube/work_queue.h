#pragma once

// The work queue of a controller. A key waits once, no matter how often it is added, and is never
// processed twice at the same time: a key that is added while it is processed runs again
// afterwards. Failed keys return with exponential backoff (5 ms doubling to 1,000 s) under a total
// limit (10/s, burst 100).
//
// Controllers whose keys are independent of each other process several at the same time: the writes
// of these keys share a sync of the API server's disk, and their events a wakeup of each watcher.

#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "base/task.h"
#include "kube/metrics.h"

namespace koord::kube {

class WorkQueue {
 public:
  // Processes one key. An error or an exception puts the key back with backoff.
  using Worker = std::function<Task<Result<>>(std::string key)>;

  // Processes one key at a time. metrics may be null; otherwise they must outlive the queue.
  WorkQueue(Executor& executor, std::string name, Worker worker, Metrics* metrics = nullptr);
  // Processes up to `workers` keys at the same time, at least one. Has no metrics, which are about
  // one key.
  WorkQueue(Executor& executor, std::string name, Worker worker, std::size_t workers);

  void add(const std::string& key);
  void addAfter(const std::string& key, Duration delay);
  // Nothing runs before start(): controllers call it when their informers are synced.
  void start();
  // The number of waiting keys, without those that are processed or in backoff.
  std::size_t depth() const { return queue_.size(); }

 private:
  void push(std::string key);
  Task<void> loop();
  Task<Result<>> processKey(std::string key);
  Task<void> addLater(std::string key, Duration delay);
  Duration backoff(const std::string& key);

  Executor& executor_;
  std::string name_;
  Worker worker_;
  Metrics::Queue* metrics_;
  std::deque<std::string> queue_;
  // The keys of queue_, and those of running_ that run again afterwards, since when.
  std::unordered_map<std::string, SteadyTime> waiting_;
  std::unordered_set<std::string> running_;
  std::unordered_map<std::string, int> failures_;
  std::size_t idle_ = 1;  // workers that do not take keys
  bool started_ = false;
  double tokens_;
  SteadyTime refilled_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
