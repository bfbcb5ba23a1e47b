#pragma once

// Nominator: pods that are nominated for a node while their victims terminate. Other pods of no
// higher priority must leave resources for them there.

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// What a failed attempt changes about the pod's nomination.
struct Nomination {
  bool override = false;  // false: the pod's status stays in force
  std::string node;       // with override: the node, or "" for none
};

class Nominator {
 public:
  // Replaces any nomination of the pod. Without override its status.nominatedNodeName counts. If
  // that is empty, the nomination stays: it has not been written yet, or the unit has no field for
  // it.
  void add(const PodPtr& pod, const Nomination& nomination);
  // Adds a pod of another scheduler by its status.nominatedNodeName. Pods of lower priority leave
  // resources for it; pods of equal priority do not. We do not change its nomination.
  void addForeign(const PodPtr& pod);
  bool foreign(const std::string& uid) const { return foreign_.contains(uid); }
  void remove(const std::string& uid);
  // Called when the object changed. A nomination of ours that its status does not show yet is kept.
  void update(const PodPtr& before, const PodPtr& after);

  const std::vector<PodPtr>* on(const std::string& node) const;
  const std::unordered_map<std::string, std::vector<PodPtr>>& byNode() const { return byNode_; }
  bool empty() const { return byNode_.empty(); }
  // "" if there is none.
  std::string nodeOf(const std::string& uid) const;

  // Called with the name of a node whose nominated pods have changed.
  std::function<void(const std::string& node)> onChange;

 private:
  std::unordered_map<std::string, std::vector<PodPtr>> byNode_;
  std::unordered_map<std::string, std::string> nodeOf_;  // by uid
  std::unordered_set<std::string> foreign_;              // uids
};

}  // namespace koord::scheduler
