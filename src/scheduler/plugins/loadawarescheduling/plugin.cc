#include "scheduler/plugins/loadawarescheduling/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scheduler/framework/own_events.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

namespace koord::scheduler {

namespace {

std::int64_t percentOf(std::int64_t amount, std::int64_t capacity) {
  return std::llround(static_cast<double>(amount) / static_cast<double>(capacity) * 100);
}

std::int64_t scoreOfLeft(std::int64_t used, std::int64_t capacity) {
  return capacity == 0 || used > capacity ? 0 : (capacity - used) * 100 / capacity;
}

// The node's own setting, or else the setting for all nodes.
template <class T>
const T* either(const NodeSettings* settings, std::optional<T> UsageLimits::* part,
                const UsageLimits& usual) {
  if (settings && (settings->limits.*part)) return &*(settings->limits.*part);
  return usual.*part ? &*(usual.*part) : nullptr;
}

}  // namespace

LoadAwareScheduling::LoadAwareScheduling(Handle& handle, const LoadAwareSchedulingArgs& args,
                                         Rules rules)
    : cluster_(handle.cluster()),
      executor_(handle.executor()),
      args_(args),
      rules_(rules),
      table_(LoadTable::of(handle, args)),
      tables_(LoadTable::all(handle)),
      limits_(limitsOf(table_.resources(), args)),
      limited_((limits_.usage && !hasNoLoad(*limits_.usage)) ||
               (limits_.prod && !hasNoLoad(*limits_.prod)) ||
               (limits_.aggregated && !hasNoLoad(limits_.aggregated->limits))),
      weights_(table_.resources().of(args.resourceWeights)),
      all_(table_, false, limits_.usage ? &*limits_.usage : nullptr, weights_),
      prod_(table_, true, limits_.prod ? &*limits_.prod : nullptr, weights_),
      byProd_(prod_.judges() || args.scoreAccordingProdUsage),
      expiry_(executor_, [this](NodeId node) {
        all_.tooOld(node);
        prod_.tooOld(node);
        cluster_.touch(node);
      }) {
  for (const std::int64_t weight : weights_) weightSum_ += weight;
  if (!args.aggregated.scoreAggregationType.empty()) {
    scoredOver_ =
        Aggregation{args.aggregated.scoreAggregationType, args.aggregated.scoreAggregatedDuration};
  }
  const auto watch = [this](NodeId node) {
    const NodeLoad* load = table_.at(node);
    const auto updated = load ? load->updated() : std::nullopt;
    expiry_.set(node,
                updated ? std::optional(*updated + std::chrono::seconds(std::min<std::int64_t>(
                                                       args_.nodeMetricExpirationSeconds, 1 << 30)))
                        : std::nullopt);
  };
  table_.onReport([this, watch](NodeId node) {
    watch(node);
    writeRows(node, false);
  });
  table_.onLoad([this](NodeId node, bool resized) { writeRows(node, resized); });
  for (NodeId node = 0; node < cluster_.capacity(); ++node) {
    watch(node);
    writeRows(node, true);
  }
}

void LoadAwareScheduling::writeRows(NodeId node, bool resized) {
  const bool fresh = expiry_.watches(node);
  const auto write = [&](LoadRows& rows) {
    resized ? rows.resize(node, fresh) : rows.load(node, fresh);
  };
  write(all_);
  if (byProd_) write(prod_);
}

// --- The pod.

const LoadAwareScheduling::Incoming& LoadAwareScheduling::incomingOf(const PodInfo& pod) const {
  return incoming_.of(pod, [&]() -> Incoming {
    const Estimator::Estimate& estimate = table_.estimator().estimateOf(pod);
    return {estimate.amounts, estimate.prod,
            std::ranges::any_of(pod.pod->metadata.ownerReferences,
                                [](const auto& owner) { return owner.kind == "DaemonSet"; })};
  });
}

void LoadAwareScheduling::sign(const PodInfo& pod, Signature& signature) const {
  const Incoming& incoming = incomingOf(pod);
  signature.add(std::int64_t{incoming.prod ? 1 : 0} + (incoming.daemon ? 2 : 0));
  for (const std::int64_t amount : incoming.estimate) signature.add(amount);
}

// --- One node.

// A report from this time or before has expired.
WallTime LoadAwareScheduling::tooOld(WallTime now) const {
  return now -
         std::chrono::seconds(std::min<std::int64_t>(args_.nodeMetricExpirationSeconds, 1 << 30));
}

bool LoadAwareScheduling::expired(const NodeLoad& load, WallTime tooOld) {
  return !load.updated() || *load.updated() <= tooOld;
}

LoadAwareScheduling::Rule LoadAwareScheduling::ruleFor(const Incoming& pod,
                                                       const NodeSettings* settings) const {
  using Kind = Excess::Kind;
  Rule rule;
  const LoadAmounts* const prod = either(settings, &UsageLimits::prod, limits_);
  rule.byProd = pod.prod && prod && !hasNoLoad(*prod);
  const auto* const aggregated =
      rule.byProd ? nullptr : either(settings, &UsageLimits::aggregated, limits_);
  if (rule.byProd) {
    rule.limits = prod;
  } else if (aggregated) {
    rule.limits = &aggregated->limits;
    rule.over = &aggregated->of;
    rule.kind = Kind::Aggregated;
  } else {
    rule.limits = either(settings, &UsageLimits::usage, limits_);
  }
  if (rule.limits && hasNoLoad(*rule.limits)) rule.limits = nullptr;
  return rule;
}

LoadAwareScheduling::Excess LoadAwareScheduling::judge(const Incoming& pod, NodeId node,
                                                       WallTime now) const {
  return judge(pod, node, ruleFor(pod, nullptr), tooOld(now));
}

LoadAwareScheduling::Excess LoadAwareScheduling::judge(const Incoming& pod, NodeId node,
                                                       const Rule& usual, WallTime tooOld) const {
  using Kind = Excess::Kind;
  const NodeLoad* const load = table_.at(node);
  if (pod.daemon || !load) return {};
  const NodeSettings* const settings = table_.settingsOf(node);
  const Rule rule = settings ? ruleFor(pod, settings) : usual;
  if (!rule.limits) return {};
  if (args_.filterExpiredNodeMetrics && expired(*load, tooOld))
    return {args_.enableScheduleWhenNodeMetricsExpired ? Kind::None : Kind::Expired};
  if (!load->measured()) return {};
  if (rule.over)
    return compare(pod, node, settings, rule,
                   load->aggregated(*rule.over, rules_ == Rules::AsUpstream));
  return compare(pod, node, settings, rule, rule.byProd ? load->prod() : load->all());
}

LoadAwareScheduling::Excess LoadAwareScheduling::compare(const Incoming& pod, NodeId node,
                                                         const NodeSettings* settings,
                                                         const Rule& rule,
                                                         const LoadAmounts& load) const {
  const LoadAmounts& limits = *rule.limits;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i] == 0) continue;
    const std::int64_t capacity = table_.capacity(node, settings, i);
    if (capacity == 0) continue;
    const std::int64_t amount = load[i] + pod.estimate[i];
    // No rounding can exceed the limit.
    if (__int128{amount} * 100 <= __int128{capacity} * limits[i]) continue;
    const std::int64_t percent = percentOf(amount, capacity);
    if (percent > limits[i]) return {rule.kind, i, percent, limits[i]};
  }
  return {};
}

std::string LoadAwareScheduling::reasonOf(const Excess& excess) const {
  if (excess.kind == Excess::Kind::Expired) return "node(s) nodeMetric expired";
  return fmt::format("node(s) {}{} usage exceed threshold",
                     table_.resources().name(excess.resource),
                     excess.kind == Excess::Kind::Aggregated ? " aggregated" : "");
}

Status LoadAwareScheduling::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  const bool limited = limited_ || table_.settings() > 0;
  if (!limited || table_.reports() == 0) return {};
  const Incoming& asked = incomingOf(pod);
  if (asked.daemon) return {};
  const Rule usual = ruleFor(asked, nullptr);
  if (!usual.limits && table_.settings() == 0) return {};
  const WallTime now = executor_.wallNow();
  const WallTime oldest = tooOld(now);
  rest_.clear();
  LoadRows& known = usual.byProd ? prod_ : all_;
  if (usual.limits && !usual.over && known.judges()) {
    known.judge(asked.estimate, nodes.nodes(), oldest, expiry_.allReported(now), rest_);
  } else {
    nodes.nodes().copyTo(rest_);
  }
  if (!rest_.empty()) judgeRest(asked, usual, oldest, nodes);
  return {};
}

void LoadAwareScheduling::judgeRest(const Incoming& pod, const Rule& usual, WallTime oldest,
                                    NodeFilter& nodes) {
  std::vector<std::pair<std::pair<Excess::Kind, std::size_t>, VerdictId>> known;
  for (const NodeId node : rest_) {
    const Excess excess = judge(pod, node, usual, oldest);
    if (excess.kind == Excess::Kind::None) continue;
    const std::pair reason{excess.kind, excess.resource};
    auto it = std::ranges::find(known, reason, [](const auto& each) { return each.first; });
    if (it == known.end()) {
      known.emplace_back(reason, nodes.rejection(Code::Unschedulable, {reasonOf(excess)}));
      it = std::prev(known.end());
    }
    nodes.reject(node, it->second);
  }
}

std::int64_t LoadAwareScheduling::scoreOf(const Incoming& pod, NodeId node, WallTime tooOld) const {
  const NodeLoad* const load = table_.at(node);
  if (!load || expired(*load, tooOld) || !load->measured()) return 0;
  const NodeSettings* const settings = table_.settingsOf(node);
  if (args_.scoreAccordingProdUsage && pod.prod) return scoreOf(pod, node, settings, load->prod());
  if (!scoredOver_) return scoreOf(pod, node, settings, load->all());
  return scoreOf(pod, node, settings, load->aggregated(*scoredOver_, rules_ == Rules::AsUpstream));
}

std::int64_t LoadAwareScheduling::scoreOf(const Incoming& pod, NodeId node,
                                          const NodeSettings* settings,
                                          const LoadAmounts& used) const {
  const std::int64_t dominant = args_.dominantResourceWeight;
  std::int64_t sum = 0;
  std::int64_t least = 100;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0 && dominant == 0) continue;
    const std::int64_t score =
        scoreOfLeft(used[i] + pod.estimate[i], table_.capacity(node, settings, i));
    sum += score * weights_[i];
    least = std::min(least, score);
  }
  const std::int64_t weights = weightSum_ + dominant;
  return weights <= 0 ? 0 : (sum + dominant * least) / weights;
}

Status LoadAwareScheduling::score(const CycleState&, const PodInfo& pod,
                                  std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  if (table_.reports() == 0) {
    std::ranges::fill(scores, 0);
    return {};
  }
  const Incoming& asked = incomingOf(pod);
  const WallTime oldest = tooOld(executor_.wallNow());
  const bool byProd = args_.scoreAccordingProdUsage && asked.prod;
  const LoadRows& known = byProd ? prod_ : all_;
  const bool summed = (byProd || !scoredOver_) && args_.dominantResourceWeight == 0;
  if (!summed || !known.scores()) {
    for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = scoreOf(asked, nodes[n], oldest);
    return {};
  }
  const LoadRows::Row* const rows = known.rows();
  const LoadRows::Scale scale = known.scaleFor(asked.estimate);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const LoadRows::Row& row = rows[nodes[n]];
    scores[n] =
        row.updated > oldest ? LoadRows::score(scale, row) : scoreOf(asked, nodes[n], oldest);
  }
  return {};
}

Status LoadAwareScheduling::reserve(CycleState&, const PodPtr& pod, NodeId) {
  for (const auto& table : tables_) table->assign(*pod);
  return {};
}

// --- Events and remedies.

Hint LoadAwareScheduling::onNode(const PodInfo& pod, const std::string& name) const {
  const auto node = cluster_.findNode(name);
  if (!node) return Hint::Queue;
  const Excess excess = judge(incomingOf(pod), *node, executor_.wallNow());
  return excess.kind == Excess::Kind::None ? Hint::Queue : Hint::Skip;
}

std::vector<EventRegistration> LoadAwareScheduling::eventsToRegister() const {
  const auto onReport = [this](const PodInfo& pod, const ClusterEvent& event) {
    const auto after = event.after<LoadReport>();
    return after ? onNode(pod, after->metadata.name) : Hint::Queue;
  };
  const auto onNodeEvent = [this](const PodInfo& pod, const ClusterEvent& event) {
    return event.newNode ? onNode(pod, event.newNode->metadata.name) : Hint::Skip;
  };
  return {onOwnMetadata(),
          {EventResource::Pod, action::kDelete, "", {}},
          {EventResource::Node,
           action::kAdd | action::kUpdateNodeAllocatable | action::kUpdateNodeAnnotation, "",
           onNodeEvent},
          {EventResource::Custom, action::kAdd | action::kUpdate | action::kDelete,
           std::string(KindOf<LoadReport>::value.customResource), onReport}};
}

std::string LoadAwareScheduling::remedyFor(const PodInfo& pod, NodeId node) const {
  const Excess excess = judge(incomingOf(pod), node, executor_.wallNow());
  switch (excess.kind) {
    case Excess::Kind::None:
      return "";
    case Excess::Kind::Expired:
      return "make koordlet report the usage again";
    case Excess::Kind::Usage:
    case Excess::Kind::Aggregated:
      return fmt::format("lower the {} usage, which would be {} %; the limit is {} %",
                         table_.resources().name(excess.resource), excess.percent, excess.limit);
  }
  return "";
}

}  // namespace koord::scheduler
