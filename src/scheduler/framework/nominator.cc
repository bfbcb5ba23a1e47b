#include "scheduler/framework/nominator.h"

#include <algorithm>

namespace koord::scheduler {

void Nominator::add(const PodPtr& pod, const Nomination& nomination) {
  remove(pod->uid());
  const std::string node =
      nomination.override ? nomination.node : pod->pod->status.nominatedNodeName.str();
  if (node.empty()) return;
  nodeOf_[pod->uid()] = node;
  byNode_[node].push_back(pod);
  if (onChange) onChange(node);
}

void Nominator::remove(const std::string& uid) {
  const auto it = nodeOf_.find(uid);
  if (it == nodeOf_.end()) return;
  const auto node = byNode_.find(it->second);
  std::erase_if(node->second, [&](const PodPtr& pod) { return pod->uid() == uid; });
  if (node->second.empty()) byNode_.erase(node);
  const std::string name = std::move(it->second);
  nodeOf_.erase(it);
  if (onChange) onChange(name);
}

void Nominator::update(const PodPtr& before, const PodPtr& after) {
  Nomination nomination;
  if (after->pod->status.nominatedNodeName.empty() &&
      before->pod->status.nominatedNodeName.empty()) {
    const std::string node = nodeOf(before->uid());
    if (!node.empty()) nomination = {true, node};
  }
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
