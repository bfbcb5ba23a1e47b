#include "scheduler/plugins/coscheduling/topology_domains.h"

#include <algorithm>
#include <map>

namespace koord::scheduler {

namespace {

// nullptr if the node has no such label, or is not known.
const std::string* valueOf(const Cluster& cluster, NodeId node, const std::string& key) {
  const auto& object = cluster.node(node).object;
  return object ? api::findIn(object->metadata.labels, key) : nullptr;
}

// The domain of the members that are placed: that of the first by name.
const std::string* takenValue(const Cluster& cluster, const Gang& gang, const std::string& key) {
  const PodInfo* first = nullptr;
  const std::string* value = nullptr;
  for (const auto& [uid, pod] : gang.members) {
    const auto* record = cluster.findPod(uid);
    if (!record || (first && first->key() < pod->key())) continue;
    if (const std::string* own = valueOf(cluster, record->node, key)) {
      first = pod.get();
      value = own;
    }
  }
  return value;
}

}  // namespace

std::vector<GroupDomain> topologyDomains(Gangs& gangs, const Gang& gang) {
  const Cluster& cluster = gangs.handle().cluster();
  const std::string& key = gang.spec->topologyKey;
  const std::string* taken = takenValue(cluster, gang, key);
  std::map<std::string_view, NodeSet> byValue;
  cluster.live().forEach([&](NodeId node) {
    const std::string* value = valueOf(cluster, node, key);
    if (value && (!taken || *value == *taken)) byValue[*value].insert(node);
  });
  std::vector<GroupDomain> domains;
  for (auto& [value, nodes] : byValue) domains.push_back({std::move(nodes), {}});
  std::ranges::stable_sort(domains, std::ranges::greater{},
                           [](const GroupDomain& domain) { return domain.nodes.size(); });
  if (domains.empty()) domains.emplace_back();
  return domains;
}

}  // namespace koord::scheduler
