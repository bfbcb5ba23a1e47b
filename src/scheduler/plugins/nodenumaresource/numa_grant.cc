#include "scheduler/plugins/nodenumaresource/numa_grant.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/json.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/documents.h"

namespace koord::scheduler {

namespace {

// No node has more; sums of it cannot overflow.
constexpr std::int64_t kMaxHeld = std::int64_t{1} << 53;

Result<NumaGrant> grantIn(ResourceNames& names, const ResourceStatusDocument& status) {
  NumaGrant grant;
  auto cpus = CpuSet::parse(status.cpuset);
  if (!cpus) return fail(std::move(cpus.error()).within("cpuset"));
  grant.cpus = *std::move(cpus);
  for (std::size_t i = 0; i < status.numaNodeResources.size(); ++i) {
    const NumaNodeResourceDocument& part = status.numaNodeResources[i];
    const std::string path = fmt::format("numaNodeResources[{}]", i);
    if (part.node < 0)
      return fail(ErrorCode::Invalid, fmt::format("{}.node: {} is negative", path, part.node));
    for (const auto& [name, amount] : part.resources)
      if (amount.sign() < 0)
        return fail(ErrorCode::Invalid,
                    fmt::format("{}.resources[{}]: {} is negative", path, name, amount.toString()));
    Resources amounts;
    toResources(names, part.resources).forEach([&](ResourceId id, std::int64_t amount) {
      if (amount != 0) amounts.set(id, std::min(amount, kMaxHeld));
    });
    const auto known = std::ranges::find(grant.numa, part.node, &NumaAmounts::numa);
    if (known == grant.numa.end()) {
      grant.numa.push_back({part.node, std::move(amounts)});
    } else {
      known->amounts.add(amounts);
    }
  }
  std::ranges::sort(grant.numa, {}, &NumaAmounts::numa);
  return grant;
}

}  // namespace

Result<std::optional<NumaGrant>> readNumaGrant(ResourceNames& names,
                                               const api::StringMap& annotations) {
  const auto* text = api::findIn(annotations, model::kAnnotationResourceStatus);
  if (!text) return std::nullopt;
  const auto status = api::decodeText<ResourceStatusDocument>(*text, api::Reading::Go);
  auto grant = status ? grantIn(names, *status) : fail(Error(status.error()));
  if (!grant) {
    return fail(
        std::move(grant.error())
            .within(fmt::format("metadata.annotations[{}]", model::kAnnotationResourceStatus)));
  }
  if (grant->nothing()) return std::nullopt;
  if (const auto* requested = api::findIn(annotations, model::kAnnotationResourceSpec)) {
    const auto spec = api::decodeText<ResourceSpecDocument>(*requested, api::Reading::Go);
    if (spec) grant->exclusive = cpuExclusivePolicyOf(spec->preferredCPUExclusivePolicy);
  }
  return *std::move(grant);
}

std::string resourceStatusText(const ResourceNames& names, const NumaGrant& grant) {
  json::object status;
  if (!grant.cpus.empty()) status["cpuset"] = grant.cpus.toString();
  json::array parts;
  for (const NumaAmounts& part : grant.numa) {
    std::map<std::string, std::string> sorted;
    part.amounts.forEach([&](ResourceId id, std::int64_t amount) {
      if (amount != 0) sorted[names.name(id)] = amountText(id, amount);
    });
    json::object resources;
    for (const auto& [name, amount] : sorted) resources.emplace(name, amount);
    json::object shown{{"node", part.numa}};
    if (!resources.empty()) shown.emplace("resources", std::move(resources));
    parts.emplace_back(std::move(shown));
  }
  if (!parts.empty()) status["numaNodeResources"] = std::move(parts);
  return toJson(status);
}

}  // namespace koord::scheduler
