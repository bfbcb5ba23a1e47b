#include "koordctl/colocation/pods.h"

#include "koordctl/colocation/units.h"
#include "model/well_known.h"

namespace koord::koordctl::colocation {

namespace {

// The values of deploy/manifests/priority-classes.yaml.
constexpr std::int32_t kProdPriority = 9000, kMidPriority = 7000, kBatchPriority = 5000;

Quantity bytesQuantity(double gib) {
  return Quantity::of(bytesOf(gib), Quantity::Format::BinarySI);
}

Quantity milliQuantity(double cores) {
  return Quantity::ofMilli(milliOf(cores));
}

std::shared_ptr<api::Pod> emptyPod(const std::string& name, const std::string& scheduler) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = name;
  pod->metadata.uid = name;
  pod->metadata.namespace_ = "study";
  pod->metadata.resourceVersion = "1";
  pod->spec.schedulerName = scheduler;
  pod->status.phase = "Pending";
  pod->spec.containers.emplace_back().name = "main";
  return pod;
}

}  // namespace

std::shared_ptr<const api::Node> nodeObject(const NodeSize& size) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = size.name;
  node->metadata.uid = size.name;
  api::ResourceList amounts;
  amounts["cpu"] = milliQuantity(size.cores);
  amounts["memory"] = bytesQuantity(size.memoryGib);
  amounts["pods"] = Quantity::of(1000);
  node->status.capacity = node->status.allocatable = amounts;
  return node;
}

std::shared_ptr<const api::Pod> servicePod(const ServicePod& service, const std::string& name,
                                           const std::string& scheduler) {
  auto pod = emptyPod(name, scheduler);
  pod->metadata.labels[std::string(model::kLabelQos)] = service.qos;
  pod->spec.priority = kProdPriority;
  if (!service.node.empty()) {
    pod->spec.nodeName = service.node;
    pod->status.phase = "Running";
  }
  auto& resources = pod->spec.containers.front().resources;
  resources.requests["cpu"] = milliQuantity(service.cores);
  resources.requests["memory"] = bytesQuantity(service.memoryGib);
  if (service.limit > 0) resources.limits["cpu"] = milliQuantity(service.limit);
  resources.limits["memory"] = bytesQuantity(service.memoryGib);
  return pod;
}

std::shared_ptr<const api::Pod> jobPod(JobKind kind, const Job& job, const std::string& name,
                                       const std::string& scheduler) {
  auto pod = emptyPod(name, scheduler);
  auto& resources = pod->spec.containers.front().resources;
  if (kind == JobKind::Requests) {
    resources.requests["cpu"] = milliQuantity(job.cores);
    resources.requests["memory"] = bytesQuantity(job.memoryGib);
  } else {
    pod->metadata.labels[std::string(model::kLabelQos)] = "BE";
    pod->spec.priority = job.mid ? kMidPriority : kBatchPriority;
    resources.requests[std::string(job.mid ? model::kMidCpu : model::kBatchCpu)] =
        Quantity::of(milliOf(job.cores));
    resources.requests[std::string(job.mid ? model::kMidMemory : model::kBatchMemory)] =
        bytesQuantity(job.memoryGib);
  }
  resources.limits = resources.requests;
  return pod;
}

}  // namespace koord::koordctl::colocation
