#pragma once

// Pods that Permit plugins delay between Reserve and Bind. A pod continues when every plugin that
// delays it has allowed it. It fails on the first rejection or timeout.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/task.h"
#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

inline constexpr Duration kMaxPermitWait = std::chrono::minutes(15);

class WaitingPod {
 public:
  WaitingPod(Executor& executor, PodPtr pod, NodeId node, std::map<std::string, Duration> plugins);
  ~WaitingPod();
  WaitingPod(const WaitingPod&) = delete;
  WaitingPod& operator=(const WaitingPod&) = delete;

  const PodPtr& pod() const { return pod_; }
  NodeId node() const { return node_; }
  std::vector<std::string> pendingPlugins() const;

  // Ends the plugin's delay. The pod continues if it was the last one.
  void allow(const std::string& plugin);
  // Fails the pod in the plugin's name.
  void reject(const std::string& plugin, const std::string& message);
  // The same, because another pod preempts it: the pod has no claim to its node.
  void preempt(const std::string& plugin);
  bool preempted() const { return preempted_; }
  // Completes with Success or the rejection. Call once.
  Future<Status> takeOutcome() { return std::move(outcome_); }

 private:
  Executor& executor_;
  PodPtr pod_;
  NodeId node_;
  std::map<std::string, TimerId> pending_;
  bool preempted_ = false;
  Future<Status> outcome_;
  Completer<Status> completer_;

  WaitingPod(Executor& executor, PodPtr pod, NodeId node, std::map<std::string, Duration> plugins,
             std::pair<Future<Status>, Completer<Status>> promise);
};

class WaitingPods {
 public:
  std::shared_ptr<WaitingPod> add(Executor& executor, const PodPtr& pod, NodeId node,
                                  std::map<std::string, Duration> plugins);
  void remove(const std::string& uid) { pods_.erase(uid); }
  std::shared_ptr<WaitingPod> find(const std::string& uid) const;
  std::vector<std::shared_ptr<WaitingPod>> all() const;

 private:
  std::unordered_map<std::string, std::shared_ptr<WaitingPod>> pods_;
};

}  // namespace koord::scheduler
