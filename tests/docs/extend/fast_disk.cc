#include "fast_disk.h"

namespace koord::scheduler {

namespace {

bool needsFastDisk(const PodInfo& pod) {
  return api::findIn(pod.pod->metadata.annotations, FastDisk::kNeeded) != nullptr;
}

}  // namespace

FastDiskArgs FastDiskArgs::read(Fields& fields) {
  FastDiskArgs args{.label = fields.text("label", "example.com/fast-disk"),
                    .othersOnFast = fields.integer("othersOnFast", 20, 0, 100)};
  fields.refuseUnknown();
  return args;
}

FastDisk::FastDisk(Handle& handle, FastDiskArgs args)
    : cluster_(handle.cluster()), args_(std::move(args)) {}

bool FastDisk::isFast(NodeId node) const {
  const auto& object = cluster_.node(node).object;
  return object && api::findIn(object->metadata.labels, args_.label);
}

void FastDisk::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(std::int64_t{needsFastDisk(pod)});
}

Status FastDisk::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  if (!needsFastDisk(pod)) return {};
  nodes.forEach([&](NodeId node) {
    if (!isFast(node))
      nodes.reject(node, Code::UnschedulableAndUnresolvable, "node(s) had no fast disk");
  });
  return {};
}

Status FastDisk::score(const CycleState&, const PodInfo& pod, std::span<const NodeId> nodes,
                       std::span<std::int64_t> scores) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    scores[i] = needsFastDisk(pod) || !isFast(nodes[i]) ? 100 : args_.othersOnFast;
  return {};
}

std::vector<EventRegistration> FastDisk::eventsToRegister() const {
  return {{EventResource::Node, action::kAdd | action::kUpdateNodeLabel, "", {}}};
}

}  // namespace koord::scheduler
