#include "scheduler/oracle/remedy.h"

#include <algorithm>

#include "scheduler/oracle/node_shape.h"
#include "scheduler/services/explain.h"
#include "scheduler/services/what_if.h"

namespace koord::scheduler::oracle {

namespace {

constexpr Duration kPatience = std::chrono::hours(1);  // of virtual time, which stands still

// Pending pods of one workload, or one pod.
struct Group {
  std::string of;
  std::vector<PodPtr> pods;
};

std::vector<Group> pendingGroups(Course& course) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> byName;
  for (const FollowedPod& pod : course.pods()) {
    if (pod.state != FollowedPod::State::Pending) continue;
    const auto found = course.scheduler().pendingPods().find(pod.uid);
    if (found == course.scheduler().pendingPods().end() || found->second->kind) continue;
    const std::string name = pod.of.empty() ? pod.key.toString() : pod.of;
    auto [place, fresh] = byName.emplace(name, groups.size());
    if (fresh && groups.size() == kMaxRemedies) break;
    if (fresh) groups.push_back({pod.of, {}});
    std::vector<PodPtr>& pods = groups[place->second].pods;
    if (pods.size() < kMaxTriedPods) pods.push_back(found->second);
  }
  return groups;
}

// Nodes that exist while it lives.
class ExtraNodes {
 public:
  ExtraNodes(Course& course, const api::Node& pattern, int count)
      : course_(course), shape_(course.scheduler().stores(), pattern) {
    for (int i = 0; i < count; ++i) {
      names_.push_back(fmt::format("{}-more-{}", pattern.metadata.name, i + 1));
      shape_.create(course_.server(), names_.back());
    }
  }
  ~ExtraNodes() {
    for (const std::string& name : names_) shape_.remove(course_.server(), name);
  }
  ExtraNodes(const ExtraNodes&) = delete;
  ExtraNodes& operator=(const ExtraNodes&) = delete;

 private:
  Course& course_;
  const NodeShape shape_;
  std::vector<std::string> names_;
};

bool allFit(Course& course, const std::vector<PodPtr>& pods, const api::Node& pattern, int nodes) {
  if (course.checkpoint) course.checkpoint();
  const ExtraNodes extra(course, pattern, nodes);
  std::vector<WhatIfMove> moves;
  for (const PodPtr& pod : pods) moves.push_back({.pod = pod->pod, .group = "all"});
  const WhatIfAnswer answer = whatIf(course.scheduler(), moves, kPatience);
  return std::ranges::all_of(answer.places, [](const WhatIfPlace& place) {
    return place.state == WhatIfPlace::State::Placed;
  });
}

// The smallest number of such nodes; 0: more than kMaxTriedNodes, or none helps.
int nodesNeeded(Course& course, const std::vector<PodPtr>& pods, const api::Node& pattern) {
  const int limit = std::min(kMaxTriedNodes, static_cast<int>(pods.size()));
  int enough = 1;
  while (enough < limit && !allFit(course, pods, pattern, enough))
    enough = std::min(2 * enough, limit);
  if (enough == limit && !allFit(course, pods, pattern, enough)) return 0;
  int few = enough / 2;
  while (enough - few > 1) {
    const int middle = few + (enough - few) / 2;
    (allFit(course, pods, pattern, middle) ? enough : few) = middle;
  }
  return enough;
}

std::shared_ptr<const api::Node> nodeNamed(const Cluster& cluster, std::string_view name) {
  const auto id = name.empty() ? std::nullopt : cluster.findNode(name);
  return id ? cluster.node(*id).object : nullptr;
}

// A node that takes new pods; nullptr if there is none.
std::shared_ptr<const api::Node> anyNode(const Cluster& cluster) {
  std::shared_ptr<const api::Node> found;
  cluster.live().forEach([&](NodeId id) {
    const auto& node = cluster.node(id).object;
    if (!found && node && !node->spec.unschedulable && node->spec.taints.empty()) found = node;
  });
  return found;
}

// A node that the pod nearly fits on; "" if there is none.
std::string_view nearlyFit(const json::value& explained) {
  if (const auto nearest = textAt(explained, "nearestMiss", "node"); !nearest.empty())
    return nearest;
  const json::value* reasons = find(explained, "butForOne");
  if (!reasons || !reasons->is_array() || reasons->get_array().empty()) return {};
  const json::value* nodes = find(reasons->get_array()[0], "nodes");
  if (!nodes || !nodes->is_array() || nodes->get_array().empty()) return {};
  const json::value& first = nodes->get_array()[0];
  return first.is_string() ? std::string_view(first.get_string()) : std::string_view();
}

}  // namespace

json::array remediesFor(Course& course, const std::string& like) {
  json::array remedies;
  const Cluster& cluster = course.scheduler().cluster();
  for (const Group& group : pendingGroups(course)) {
    if (course.checkpoint) course.checkpoint();
    const api::Pod& first = *group.pods.front()->pod;
    json::object remedy{{"pods", group.pods.size()},
                        {"of", group.of},
                        {"namespace", first.metadata.namespace_},
                        {"name", first.metadata.name}};
    const auto explained = explainPodObject(course.scheduler(), group.pods.front()->pod);
    for (const char* part : {"nearestMiss", "butForOne"})
      if (const json::value* found = explained ? find(*explained, part) : nullptr;
          found && !found->is_null())
        remedy.emplace(part, *found);
    auto pattern = nodeNamed(cluster, like);
    if (!pattern && explained) pattern = nodeNamed(cluster, nearlyFit(*explained));
    if (!pattern) pattern = anyNode(cluster);
    const int nodes = pattern ? nodesNeeded(course, group.pods, *pattern) : 0;
    if (nodes > 0)
      remedy.emplace("nodes", json::object{{"count", nodes}, {"like", pattern->metadata.name}});
    remedies.push_back(std::move(remedy));
  }
  return remedies;
}

}  // namespace koord::scheduler::oracle
