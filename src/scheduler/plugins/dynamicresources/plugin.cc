#include "scheduler/plugins/dynamicresources/plugin.h"

#include <fmt/format.h>

namespace koord::scheduler {

namespace {

// "gpu, nic"; "" if the pod names none.
std::string claimsOf(const PodInfo& pod) {
  std::string names;
  for (const auto& claim : pod.pod->spec.resourceClaims)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", claim.name);
  return names;
}

}  // namespace

void DynamicResources::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(claimsOf(pod));
}

PreFilterResult DynamicResources::preFilter(CycleState&, const PodInfo& pod) {
  const std::string claims = claimsOf(pod);
  if (claims.empty()) return {Status::skip(), {}};
  return {Status::unresolvable(fmt::format(
              "dynamic resource allocation is not supported yet, so that nothing allocates the "
              "pod's resource claims: {}",
              claims)),
          {}};
}

}  // namespace koord::scheduler
