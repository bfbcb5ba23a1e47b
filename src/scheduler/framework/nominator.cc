#include "scheduler/framework/nominator.h"

#include <algorithm>
#include <limits>

namespace koord::scheduler {

void Nominator::add(const PodPtr& pod, const Nomination& nomination) {
  std::string node = nomination.node;
  if (!nomination.override) {
    node = pod->pod->status.nominatedNodeName.str();
    if (node.empty()) node = nodeOf(pod->uid());
  }
  remove(pod->uid());
  if (node.empty()) return;
  nodeOf_[pod->uid()] = node;
  byNode_[node].push_back(pod);
  if (onChange) onChange(node);
}

// The caller compares priorities and counts pods that are not lower.
void Nominator::addForeign(const PodPtr& pod) {
  remove(pod->uid());
  if (pod->pod->status.nominatedNodeName.empty() ||
      pod->priority == std::numeric_limits<std::int32_t>::min())
    return;
  auto ranked = std::make_shared<PodInfo>(*pod);
  --ranked->priority;
  add(std::move(ranked), {});
  foreign_.insert(pod->uid());
}

void Nominator::remove(const std::string& uid) {
  const auto it = nodeOf_.find(uid);
  if (it == nodeOf_.end()) return;
  const auto node = byNode_.find(it->second);
  std::erase_if(node->second, [&](const PodPtr& pod) { return pod->uid() == uid; });
  if (node->second.empty()) byNode_.erase(node);
  const std::string name = std::move(it->second);
  nodeOf_.erase(it);
  foreign_.erase(uid);
  if (onChange) onChange(name);
}

void Nominator::update(const PodPtr& before, const PodPtr& after) {
  // An earlier write of ours may show first, such as the end of the nomination before.
  const std::string node = nodeOf(before->uid());
  const bool written = node.empty() || before->pod->status.nominatedNodeName == node;
  const Nomination nomination = written ? Nomination{} : Nomination{true, node};
  remove(before->uid());
  add(after, nomination);
}

const std::vector<PodPtr>* Nominator::on(const std::string& node) const {
  const auto it = byNode_.find(node);
  return it == byNode_.end() ? nullptr : &it->second;
}

std::string Nominator::nodeOf(const std::string& uid) const {
  const auto it = nodeOf_.find(uid);
  return it == nodeOf_.end() ? std::string() : it->second;
}

}  // namespace koord::scheduler
