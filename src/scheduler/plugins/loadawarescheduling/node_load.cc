#include "scheduler/plugins/loadawarescheduling/node_load.h"

#include <algorithm>

#include "model/priority.h"

namespace koord::scheduler {

namespace {

using namespace std::chrono_literals;

constexpr Duration kUsualInterval = 60s;

Duration intervalOf(const LoadReport& report) {
  const auto& policy = report.spec.metricCollectPolicy;
  if (!policy || !policy->reportIntervalSeconds) return kUsualInterval;
  return std::chrono::seconds(std::clamp<std::int64_t>(*policy->reportIntervalSeconds, 0, 86400));
}

}  // namespace

void NodeLoad::setReport(const LoadResources& resources, std::shared_ptr<const LoadReport> report,
                         WallTime seen, bool prodIncludesSystem) {
  clear();
  report_ = std::move(report);
  resources_ = &resources;
  interval_ = intervalOf(*report_);
  if (report_->updateTime) updated_ = std::min(*report_->updateTime, seen);
  prodUsage_ = prodDelta_ = delta_ = estimated_ = usage_ = resources.none();
  if (const auto& info = report_->node) {
    measured_ = true;
    usage_ = resources.of(info->nodeUsage.resources);
    readAggregates(resources, *info);
    if (prodIncludesSystem) addLoad(prodUsage_, resources.of(info->systemUsage.resources));
  }
  prod_ = prodUsage_;
  all_ = usage_;
}

void NodeLoad::readAggregates(const LoadResources& resources, const api::NodeMetricInfo& info) {
  for (const auto& aggregate : info.aggregatedNodeUsages) {
    for (const auto& [type, usage] : aggregate.usage) {
      if (usage.resources.empty()) continue;
      aggregates_.push_back(
          {type, aggregate.duration.value_or(Duration::zero()), resources.of(usage.resources)});
    }
  }
  // Of duplicates, the last counts.
  std::ranges::stable_sort(aggregates_, [](const Aggregate& a, const Aggregate& b) {
    return std::tie(a.type, a.span) < std::tie(b.type, b.span);
  });
}

LoadShare NodeLoad::shareOf(const PodInfo& pod, const AssignedLoad& load) const {
  LoadShare share(load);
  if (const LoadReport::PodUsage* const reported = report_->of(pod.pod->metadata)) {
    share.reported_ = true;
    share.usage_ = resources_->of(*reported);
    share.active_ = load.prod && reported->prod;
  }
  share.lacking_ = !share.reported_ || !updated_ || *updated_ - interval_ < load.since ||
                   (load.forced && *load.forced > *updated_);
  return share;
}

void NodeLoad::count(const PodInfo& pod, const AssignedLoad& load, int sign) {
  if (!reported()) return;
  const LoadShare share = shareOf(pod, load);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const LoadShare::Amounts amounts = share.of(i);
    prodUsage_[i] += sign * amounts.prodUsage;
    estimated_[i] += sign * amounts.estimated;
    delta_[i] += sign * amounts.delta;
    prodDelta_[i] += sign * amounts.prodDelta;
    all_[i] += sign * amounts.delta;
    prod_[i] += sign * (amounts.prodUsage + amounts.prodDelta);
  }
}

const LoadAmounts* NodeLoad::usageOver(const Aggregation& wanted, bool exact) const {
  const LoadAmounts* longest = nullptr;
  const LoadAmounts* next = nullptr;  // the shortest duration that is at least the wanted one
  Duration nextSpan{};
  for (const Aggregate& aggregate : aggregates_) {
    if (aggregate.type != wanted.type) continue;
    longest = &aggregate.usage;
    if (aggregate.span < wanted.span || (exact && aggregate.span != wanted.span)) continue;
    if (next && aggregate.span != nextSpan) continue;
    next = &aggregate.usage;
    nextSpan = aggregate.span;
  }
  if (wanted.span > Duration::zero()) return next;
  return longest ? longest : &usage_;
}

LoadAmounts NodeLoad::aggregated(const Aggregation& wanted, bool exact) const {
  const LoadAmounts* usage = usageOver(wanted, exact);
  if (!usage) return estimated_;
  LoadAmounts sum = *usage;
  addLoad(sum, delta_);
  return sum;
}

bool NodeLoad::sameAnswers(const NodeLoad& other) const {
  return reported() == other.reported() && measured_ == other.measured_ && usage_ == other.usage_ &&
         updated_.has_value() == other.updated_.has_value() && prodUsage_ == other.prodUsage_ &&
         prodDelta_ == other.prodDelta_ && delta_ == other.delta_ &&
         estimated_ == other.estimated_ && aggregates_ == other.aggregates_;
}

}  // namespace koord::scheduler
