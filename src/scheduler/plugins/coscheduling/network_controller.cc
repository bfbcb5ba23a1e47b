#include "scheduler/plugins/coscheduling/network_controller.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/log.h"
#include "kube/client.h"
#include "kube/events.h"

namespace koord::scheduler {

namespace {

json::object infoOf(const NetworkTree& tree, const NetworkTree::Place& place) {
  return {{"topologyLayer", tree.layers().list[place.level].name}, {"topologyName", place.name}};
}

void describe(const NetworkTree& tree, NetworkTree::PlaceId id, json::array& list) {
  const NetworkTree::Place& place = tree.place(id);
  const std::size_t lowest = tree.layers().depth();
  if (place.level == lowest) return;
  json::object entry{{"topologyInfo", infoOf(tree, place)}};
  if (id != NetworkTree::kRoot)
    entry.emplace("parentTopologyInfo", infoOf(tree, tree.place(place.parent)));
  if (!place.below.empty())
    entry.emplace("childTopologyLayer", tree.layers().list[place.level + 1].name);
  if (!place.below.empty() && place.level + 1 < lowest) {
    json::array names;
    for (const auto& [name, below] : place.below) names.push_back(json::string(name));
    entry.emplace("childTopologyNames", std::move(names));
  }
  entry.emplace("nodeNum", place.nodes);
  list.push_back(std::move(entry));
  for (const auto& [name, below] : place.below) describe(tree, below, list);
}

}  // namespace

json::value networkStatus(const NetworkTree& tree) {
  json::array list;
  describe(tree, NetworkTree::kRoot, list);
  return json::object{{"detailStatus", std::move(list)}};
}

void NetworkController::update() {
  const auto object = network_.object();
  if (!object) return;
  tell(*object);
  const auto tree = network_.tree();
  if (busy_ || !tree || !handle_.enabled("enable-network-topology-manager")) return;
  if (tree == seen_ && object == written_) return;
  seen_ = tree;
  written_ = object;
  json::value status = networkStatus(*tree);
  if (status == object->status) return;
  busy_ = true;
  tasks_.spawn(write(object, std::move(status)));
}

void NetworkController::tell(const api::ClusterNetworkTopology& object) {
  const std::string problem = network_.problem();
  if (problem == reportedProblem_) return;
  reportedProblem_ = problem;
  if (problem.empty()) return;
  log::warn("ClusterNetworkTopology {}: {}", object.metadata.name, problem);
  if (handle_.events())
    handle_.events()->record(kube::referenceTo(api::ClusterNetworkTopology::kType, object.metadata),
                             "Warning", "InvalidTopology", problem);
}

Task<void> NetworkController::write(std::shared_ptr<const api::ClusterNetworkTopology> object,
                                    json::value status) {
  json::value patch = json::object{
      {"metadata", json::object{{"resourceVersion", object->metadata.resourceVersion}}},
      {"status", std::move(status)}};
  auto patching = kube::mergePatch(*handle_.api(), api::ClusterNetworkTopology::kType,
                                   api::keyOf(object->metadata), std::move(patch), "status");
  const Result<json::value> reply = co_await patching;
  busy_ = false;
  if (reply) co_return;
  seen_ = nullptr;  // retried at the next check
  if (reply.error().code != ErrorCode::Conflict && reply.error().code != ErrorCode::NotFound)
    log::warn("status of ClusterNetworkTopology {}: {}", object->metadata.name,
              reply.error().message);
}

}  // namespace koord::scheduler
