#include "descheduler/rules/gpus.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "descheduler/rules/requests.h"
#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

// Rounded up.
std::int64_t quotient(std::int64_t amount, std::int64_t parts) {
  return amount / parts + (amount % parts > 0 ? 1 : 0);
}

// An amount of an annotation: a quantity without unit, as text or number.
std::int64_t amountIn(const json::value& resources, std::string_view name) {
  const json::value* amount = find(resources, name);
  if (!amount) return 0;
  if (amount->is_int64()) return amount->get_int64();
  const auto read =
      amount->is_string() ? Quantity::parse(amount->get_string()) : Result<Quantity>(Quantity());
  return read ? read->value() : 0;
}

// Users can write the annotation.
std::int64_t percentIn(const json::value& resources, std::string_view name) {
  return std::clamp<std::int64_t>(amountIn(resources, name), 0, 100);
}

}  // namespace

std::int64_t GpuRequest::percentOn(std::int64_t bytesOfGpu) const {
  if (bytes <= 0) return percent;
  if (bytesOfGpu <= 0 || bytes >= bytesOfGpu) return 100;
  const auto part =
      static_cast<std::int64_t>((static_cast<__int128>(bytes) * 100 + bytesOfGpu - 1) / bytesOfGpu);
  return std::max(percent, part);
}

GpuRequest gpuRequestOf(const Pod& pod) {
  for (const std::string_view whole : {model::kNvidiaGpu, model::kAmdGpu, model::kDcuGpu})
    if (const std::int64_t count = requestOf(pod, whole); count > 0) return {count, 100, 0};
  const std::int64_t percent =
      std::max({requestOf(pod, model::kGpu), requestOf(pod, model::kGpuCore),
                requestOf(pod, model::kGpuMemoryRatio)});
  const std::int64_t bytes = requestOf(pod, model::kGpuMemory);
  if (percent <= 0 && bytes <= 0) return {};
  const std::int64_t parts = requestOf(pod, model::kGpuShared);
  const std::int64_t count = parts > 0 ? parts : std::max<std::int64_t>(quotient(percent, 100), 1);
  return {count, quotient(percent, count), quotient(bytes, count)};
}

std::vector<GpuShare> allocatedGpus(const api::StringMap& annotations, const GpuRequest& request) {
  std::vector<GpuShare> shares;
  if (request.count <= 0) return shares;
  const std::string* text = api::findIn(annotations, model::kAnnotationDeviceAllocated);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  const json::value* gpus = document ? find(*document, "gpu") : nullptr;
  if (!gpus || !gpus->is_array()) return shares;
  for (const json::value& gpu : gpus->get_array()) {
    if (std::ssize(shares) == request.count) break;
    const json::value* minor = find(gpu, "minor");
    const json::value* resources = find(gpu, "resources");
    if (!minor || !minor->is_int64() || !resources) continue;
    shares.push_back({minor->get_int64(), std::max(percentIn(*resources, model::kGpuCore),
                                                   percentIn(*resources, model::kGpuMemoryRatio))});
  }
  return shares;
}

}  // namespace koord::descheduler
