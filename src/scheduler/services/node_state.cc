// GET /apis/v1/nodes/NAME: the scheduler's state of a node in the format of upstream's NodeInfo.
// Amounts are integers in its units: millicores, bytes, counts. Empty fields are omitted.

#include <algorithm>
#include <map>

#include "api/codec.h"
#include "scheduler/engine/pod_claims.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler {

namespace {

struct NodeAmounts {
  std::int64_t milliCpu = 0, memory = 0, storage = 0, pods = 0;
  json::object scalars;

  void set(const ResourceNames& names, ResourceId id, std::int64_t amount) {
    if (id == kCpu) {
      milliCpu = amount;
    } else if (id == kMemory) {
      memory = amount;
    } else if (id == kEphemeralStorage) {
      storage = amount;
    } else {
      scalars[names.name(id)] = amount;
    }
  }
  json::object toJson() && {
    return {{"MilliCPU", milliCpu},
            {"Memory", memory},
            {"EphemeralStorage", storage},
            {"AllowedPodNumber", pods},
            {"ScalarResources", scalars.empty() ? json::value() : json::value(std::move(scalars))}};
  }
};

// The Cluster counts requests for a resource only if some node has had it since the process
// started. For a resource that this node lacks, the sum is computed from its pods, so that every
// process shows the same.
std::int64_t requestedOn(const Cluster& cluster, ResourceId resource, NodeId id) {
  if (resource < kFirstScalar || Cluster::columnAt(cluster.allocatable(resource), id) > 0)
    return Cluster::columnAt(cluster.requested(resource), id);
  std::int64_t sum = 0;
  for (const PodPtr& pod : cluster.node(id).pods) {
    sum = addSaturating(sum, pod->request.amount(resource));
    if (const auto* record = cluster.findPod(pod->uid()))
      record->grants.forEach([&](LedgerId, const Grant& grant) {
        if (const Resources* covered = grant.covered()) sum -= covered->amount(resource);
      });
  }
  return std::max<std::int64_t>(sum, 0);
}

void addAmounts(const Cluster& cluster, NodeId id, json::object& shown) {
  NodeAmounts allocatable, requested, remaining, nonZero;
  const ResourceNames& names = cluster.resources();
  for (ResourceId resource = 0; resource < names.size(); ++resource) {
    const std::int64_t all = Cluster::columnAt(cluster.allocatable(resource), id);
    const std::int64_t used = requestedOn(cluster, resource, id);
    if (all == 0 && used == 0) continue;
    allocatable.set(names, resource, all);
    requested.set(names, resource, used);
    remaining.set(names, resource, all - used);
  }
  allocatable.pods = remaining.pods = cluster.allowedPods()[id];
  nonZero.milliCpu = cluster.nonZeroCpu()[id];
  nonZero.memory = cluster.nonZeroMemory()[id];
  shown["requested"] = std::move(requested).toJson();
  shown["nonZeroRequested"] = std::move(nonZero).toJson();
  shown["remaining"] = std::move(remaining).toJson();
  shown["allocatable"] = std::move(allocatable).toJson();
}

void addPods(const NodeRow& row, json::object& shown) {
  json::array pods, attracted, repelled;
  std::map<std::string, int> claims;
  for (const PodPtr& pod : row.pods) {
    const json::object entry{{"Pod", api::encode(*pod->pod)}};
    if (pod->terms) attracted.push_back(entry);
    if (pod->terms && !pod->terms->antiAffinity.empty()) repelled.push_back(entry);
    pods.push_back(entry);
    for (const PodClaim& claim : claimsOf(*pod->pod))
      ++claims[pod->pod->metadata.namespace_ + "/" + claim.name];
  }
  json::object claimCounts;
  for (const auto& [claim, users] : claims) claimCounts.emplace(claim, users);
  if (!pods.empty()) shown["pods"] = std::move(pods);
  if (!attracted.empty()) shown["podsWithAffinity"] = std::move(attracted);
  if (!repelled.empty()) shown["podsWithRequiredAntiAffinity"] = std::move(repelled);
  if (!claimCounts.empty()) shown["pvcRefCounts"] = std::move(claimCounts);
}

}  // namespace

Result<json::value> describeNode(const Scheduler& scheduler, const std::string& name) {
  const Cluster& cluster = scheduler.cluster();
  const auto id = cluster.findNode(name);
  if (!id || !cluster.live().contains(*id))
    return fail(ErrorCode::NotFound, "cannot find node " + name);
  const NodeRow& row = cluster.node(*id);
  // Upstream counts changes of all nodes and shows this node's last one. We show the last change of
  // any node.
  json::object shown{{"node", api::encode(*row.object)}, {"generation", cluster.changeEnd()}};
  addPods(row, shown);
  addAmounts(cluster, *id, shown);
  json::object ports;
  for (const HostPort& port : row.usedPorts) {
    const auto [list, fresh] = ports.emplace(cluster.addresses().text(port.ip), json::array());
    list->value().get_array().push_back(
        json::object{{"Protocol", cluster.addresses().text(port.protocol)}, {"Port", port.port}});
  }
  if (!ports.empty()) shown["usedPorts"] = std::move(ports);
  json::object images;
  for (const NodeImage& image : row.images) {
    images.emplace(
        cluster.symbols().text(image.image),
        json::object{{"Size", image.size}, {"NumNodes", cluster.imageSpread(image.image).nodes}});
  }
  if (!images.empty()) shown["imageStates"] = std::move(images);
  return json::value(std::move(shown));
}

}  // namespace koord::scheduler
