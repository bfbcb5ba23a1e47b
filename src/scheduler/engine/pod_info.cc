#include "scheduler/engine/pod_info.h"

#include <algorithm>

#include "model/pod_requests.h"
#include "scheduler/engine/cluster.h"

namespace koord::scheduler {

namespace {

// The API rejects negative amounts; here they count as 0.
std::int64_t bounded(std::int64_t amount) {
  return std::max<std::int64_t>(amount, 0);
}

void addPorts(Cluster& cluster, const api::Container& container, PodInfo& info) {
  for (const auto& port : container.ports) {
    if (port.hostPort <= 0) continue;
    info.ports.push_back({cluster.addresses().intern(port.hostIP.empty() ? "0.0.0.0" : port.hostIP),
                          cluster.addresses().intern(port.protocol.empty() ? "TCP" : port.protocol),
                          port.hostPort});
  }
}

// All that follows from the pod's shape, if it has one.
std::shared_ptr<PodInfo> readPod(Cluster& cluster, const api::Pod& pod) {
  auto info = std::make_shared<PodInfo>();
  info->priority = pod.spec.priority.value_or(0);
  const model::PodTotals totals = model::podTotals(pod);
  info->request.base = {bounded(totals.milliCpu), bounded(totals.memory),
                        bounded(totals.ephemeralStorage)};
  for (const auto& [name, amount] : totals.scalars)
    info->request.set(cluster.resources().intern(name), bounded(amount));
  info->beyond = totals.beyond;
  info->nonZeroCpu = bounded(totals.nonZeroMilliCpu);
  info->nonZeroMemory = bounded(totals.nonZeroMemory);
  for (const auto& container : pod.spec.containers) addPorts(cluster, container, *info);
  for (const auto& container : pod.spec.initContainers)
    if (container.restartPolicy == "Always") addPorts(cluster, container, *info);
  info->labelSet = cluster.labelSets().intern(pod.metadata.namespace_, pod.metadata.labels);
  info->terms = cluster.terms().parse(cluster.symbols(), pod);
  return info;
}

}  // namespace

PodPtr makePodInfo(Cluster& cluster, std::shared_ptr<const api::Pod> pod, UnitKind* kind) {
  cluster.compactSymbols();
  PodShapes::Shape* const shape = kind ? nullptr : cluster.shapes().of(*pod);
  if (shape && !shape->common) {
    auto common = readPod(cluster, *pod);
    common->shape = shape->id;
    shape->common = std::move(common);
  }
  auto info = shape ? std::make_shared<PodInfo>(*shape->common) : readPod(cluster, *pod);
  info->pod = std::move(pod);
  info->kind = kind;
  return info;
}

PodPtr placedOn(const PodInfo& pod, const std::string& node) {
  auto object = std::make_shared<api::Pod>(*pod.pod);
  object->spec.nodeName = node;
  auto info = std::make_shared<PodInfo>(pod);
  info->pod = std::move(object);
  return info;
}

}  // namespace koord::scheduler
