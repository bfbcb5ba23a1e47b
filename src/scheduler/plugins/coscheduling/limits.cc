#include "scheduler/plugins/coscheduling/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/elasticquota.h"
#include "model/well_known.h"
#include "scheduler/framework/pod_limits.h"

namespace koord::scheduler {

namespace {

// The members that a limit applies to, by gang.
struct Limited {
  PodLimits::Limit limit;
  std::vector<CapacityDemand> inside;
};

std::string levelText(std::size_t above) {
  if (above == 0) return "";
  return fmt::format(", {} level{} above theirs,", above, above == 1 ? "" : "s");
}

}  // namespace

bool changesLimits(const ClusterEvent& event) {
  const auto before = event.before<api::ElasticQuota>();
  const auto after = event.after<api::ElasticQuota>();
  if (!before || !after) return true;
  const std::set<std::string> kept{std::string(model::kAnnotationQuotaNamespaces)};
  return before->spec.max != after->spec.max || before->metadata.labels != after->metadata.labels ||
         !sameAnnotations(kept, before->metadata.annotations, after->metadata.annotations);
}

std::optional<std::string> overLimit(const Cluster& cluster, const Profile& profile,
                                     std::span<const CapacityDemand> demands) {
  std::map<std::string, Limited> all;
  for (const PodLimits* limits : profile.offers<const PodLimits>()) {
    for (std::size_t gang = 0; gang < demands.size(); ++gang) {
      for (const PodPtr& pod : demands[gang].candidates) {
        for (PodLimits::Limit& limit : limits->limitsOf(*pod)) {
          Limited& limited = all[limit.who];
          if (limited.inside.empty())
            limited = {limit, std::vector<CapacityDemand>(demands.size())};
          limited.inside[gang].candidates.push_back(pod);
        }
      }
    }
  }
  for (auto& [who, limited] : all) {
    for (std::size_t gang = 0; gang < demands.size(); ++gang) {
      CapacityDemand& inside = limited.inside[gang];
      const auto outside = std::ssize(demands[gang].candidates) - std::ssize(inside.candidates);
      inside.count = std::max<std::int64_t>(demands[gang].count - outside, 0);
    }
    const CapacityNeed need = needOf(limited.inside);
    for (const auto& [resource, most] : limited.limit.most) {
      const std::int64_t needed = need.amount.amount(resource);
      if (needed <= most) continue;
      return fmt::format(
          "Insufficient quotas, its members need at least {} {}, and the max of {}{} is {}",
          amountText(resource, needed), cluster.resources().name(resource), who,
          levelText(limited.limit.above), amountText(resource, most));
    }
  }
  return std::nullopt;
}

}  // namespace koord::scheduler
