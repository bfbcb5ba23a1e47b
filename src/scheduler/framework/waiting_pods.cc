#include "scheduler/framework/waiting_pods.h"

#include "base/time.h"

namespace koord::scheduler {

WaitingPod::WaitingPod(Executor& executor, PodPtr pod, NodeId node,
                       std::map<std::string, Duration> plugins)
    : WaitingPod(executor, std::move(pod), node, std::move(plugins),
                 Future<Status>::make(executor)) {}

WaitingPod::WaitingPod(Executor& executor, PodPtr pod, NodeId node,
                       std::map<std::string, Duration> plugins,
                       std::pair<Future<Status>, Completer<Status>> promise)
    : executor_(executor),
      pod_(std::move(pod)),
      node_(node),
      outcome_(std::move(promise.first)),
      completer_(std::move(promise.second)) {
  for (const auto& [plugin, timeout] : plugins) {
    pending_[plugin] = executor_.runAfter(timeout, [this, plugin = plugin, timeout = timeout] {
      reject(plugin, "rejected due to timeout after waiting " + formatDuration(timeout) +
                         " at plugin " + plugin);
    });
  }
}

WaitingPod::~WaitingPod() {
  for (const auto& [plugin, timer] : pending_) executor_.cancel(timer);
}

std::vector<std::string> WaitingPod::pendingPlugins() const {
  std::vector<std::string> names;
  for (const auto& [plugin, timer] : pending_) names.push_back(plugin);
  return names;
}

void WaitingPod::allow(const std::string& plugin) {
  const auto it = pending_.find(plugin);
  if (it == pending_.end()) return;
  executor_.cancel(it->second);
  pending_.erase(it);
  if (pending_.empty()) completer_.complete(Status{});
}

void WaitingPod::reject(const std::string& plugin, const std::string& message) {
  for (const auto& [name, timer] : pending_) executor_.cancel(timer);
  pending_.clear();
  Status status = Status::unschedulable(message);
  status.setPlugin(plugin);
  completer_.complete(std::move(status));
}

void WaitingPod::preempt(const std::string& plugin) {
  preempted_ = true;
  reject(plugin, "preempted");
}

std::shared_ptr<WaitingPod> WaitingPods::add(Executor& executor, const PodPtr& pod, NodeId node,
                                             std::map<std::string, Duration> plugins) {
  auto waiting = std::make_shared<WaitingPod>(executor, pod, node, std::move(plugins));
  pods_[pod->uid()] = waiting;
  return waiting;
}

std::shared_ptr<WaitingPod> WaitingPods::find(const std::string& uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<WaitingPod>> WaitingPods::all() const {
  std::vector<std::shared_ptr<WaitingPod>> all;
  for (const auto& [uid, pod] : pods_) all.push_back(pod);
  return all;
}

}  // namespace koord::scheduler
