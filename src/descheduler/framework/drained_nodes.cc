#include "descheduler/framework/drained_nodes.h"

#include "api/core.h"
#include "base/log.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

// The resourceVersion keeps the write off a node that has changed since: its drain may have ended.
Task<void> release(kube::Api* api, NodePtr node, std::string plugin) {
  json::object annotations;
  annotations[kAnnotationDrainedBy] = nullptr;
  json::value patch =
      json::object{{"metadata", json::object{{"resourceVersion", node->metadata.resourceVersion},
                                             {"annotations", std::move(annotations)}}},
                   {"spec", json::object{{"unschedulable", false}}}};
  auto call = kube::patchOnly(*api, api::Node::kType, {"", node->metadata.name},
                              kube::PatchType::Merge, std::move(patch));
  const Result<> done = co_await call;
  if (done)
    log::info("node {} is uncordoned: {} began to drain it and does not continue",
              node->metadata.name, plugin);
  else if (done.error().code != ErrorCode::Conflict && done.error().code != ErrorCode::NotFound)
    log::warn("node {}, which {} started to drain, could not be uncordoned: {}",
              node->metadata.name, plugin, done.error().message);
}

}  // namespace

std::map<std::string, std::string> drainedNodes(Stores& stores) {
  std::map<std::string, std::string> drained;
  for (const NodePtr& node : stores.nodes().objects())
    if (const std::string* plugin = api::findIn(node->metadata.annotations, kAnnotationDrainedBy))
      drained.emplace(node->metadata.name, *plugin);
  return drained;
}

Task<void> releaseDrained(kube::Api& api, Stores& stores,
                          std::map<std::string, std::string> before) {
  for (const auto& [name, plugin] : before) {
    const NodePtr node = stores.nodes().get({"", name});
    if (!node || !node->metadata.annotations.contains(kAnnotationDrainedBy)) continue;
    auto releasing = release(&api, node, plugin);
    co_await releasing;
  }
}

}  // namespace koord::descheduler
