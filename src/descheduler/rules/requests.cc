#include "descheduler/rules/requests.h"

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

std::int64_t scalarIn(const api::Map<std::int64_t>& scalars, std::string_view resource) {
  const auto found = scalars.find(resource);
  return found == scalars.end() ? 0 : found->second;
}

}  // namespace

std::int64_t requestOf(const Pod& pod, std::string_view resource) {
  if (resource == model::kCpu) return pod.facts.milliCpu;
  if (resource == model::kMemory) return pod.facts.memory;
  return resource == "pods" ? 1 : scalarIn(pod.scalars, resource);
}

std::int64_t requestedOn(const NodePods& pods, std::string_view resource) {
  if (resource == model::kCpu) return pods.milliCpu;
  if (resource == model::kMemory) return pods.memory;
  return resource == "pods" ? pods.running : scalarIn(pods.scalars, resource);
}

std::int64_t amountOf(const api::ResourceList& amounts, std::string_view resource) {
  const Quantity amount = model::amountOf(amounts, resource);
  return resource == model::kCpu ? amount.milliValue() : amount.value();
}

}  // namespace koord::descheduler
