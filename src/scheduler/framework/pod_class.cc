#include "scheduler/framework/pod_class.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/framework/nominated_nodes.h"

namespace koord::scheduler {

std::int64_t normalizedScore(std::int64_t score, std::int64_t highest, bool reverse,
                             std::int64_t top) {
  if (highest == 0) return reverse ? top : score;
  const std::int64_t scaled = top * score / highest;
  return reverse ? top - scaled : scaled;
}

Status invalidScore(const std::string& plugin, std::int64_t score) {
  return Status::error(
      fmt::format("applying score defaultWeights on Score plugins: plugin \"{}\" returns an "
                  "invalid score {}, it should in the range of [0, 100] after normalizing",
                  plugin, score));
}

PodClass::PodClass(std::string signatureBytes) : signature(std::move(signatureBytes)) {}
PodClass::~PodClass() = default;

std::shared_ptr<PodClass> PodClasses::of(const PodInfo& pod) {
  if (std::exchange(symbols_, cluster_.symbolsVersion()) != cluster_.symbolsVersion()) {
    byBytes_.clear();
    order_.clear();
  }
  signature_.clear();
  for (const Signed* part : profile_.signedPlugins) part->sign(pod, signature_);
  if (const auto it = byBytes_.find(signature_.bytes()); it != byBytes_.end()) {
    order_.splice(order_.begin(), order_, it->second);
    return order_.front();
  }
  auto podClass = std::make_shared<PodClass>(signature_.bytes());
  for (const auto& plugin : profile_.preFilter) {
    auto& result = podClass->preFilter.emplace_back();
    if (plugin.signedPlugin) result = plugin.point->preFilter(podClass->state, pod);
    result.status.plugin = plugin.name;
  }
  order_.push_front(podClass);
  byBytes_.emplace(podClass->signature, order_.begin());
  while (order_.size() > limit()) {
    byBytes_.erase(order_.back()->signature);
    order_.pop_back();
  }
  return podClass;
}

std::size_t PodClasses::limit() const {
  // About 20 bytes per node and class. As many classes as 64 MiB hold, and on large clusters at
  // least some hundred: one that has to be made anew costs a walk over all nodes.
  const std::size_t perClass = 20 * cluster_.capacity() + 4096;
  return std::clamp<std::size_t>((std::size_t{64} << 20) / perClass, 256, 4096);
}

ClassNodes::ClassNodes(Cluster& cluster, const Profile& profile, PodClass& podClass)
    : cluster_(cluster), profile_(profile), class_(podClass) {}

void ClassNodes::reset() {
  const std::size_t capacity = cluster_.capacity();
  verdicts_.clear(capacity);
  feasible_.clear();
  feasible_.reserve(capacity);
  feasibleCount_ = 0;
  unscored_.clear();
  totals_.clear(capacity);
  normalized_.clear();
  for (std::size_t i = 0; i < profile_.score.size(); ++i) {
    const auto& plugin = profile_.score[i];
    const Normalization kind = plugin.point->normalization();
    if (!plugin.signedPlugin || kind == Normalization::None || kind == Normalization::Own) continue;
    normalized_.push_back({i, kind == Normalization::Lowest, plugin.weight, {}, 0, 0});
  }
}

void ClassNodes::drop(NodeId node) {
  if (!feasible_.contains(node)) return;
  feasible_.erase(node);
  --feasibleCount_;
  unscored_.erase(node);
  for (Normalized& scores : normalized_) setRaw(scores, node, 0);
  totals_.set(node, ScoreIndex::kInfeasible);
}

Status ClassNodes::sync(const PodInfo& pod, PluginMask skipFilter, const AttemptTimer& timer) {
  std::vector<std::uint64_t> epochs;
  epochs.reserve(profile_.signedPlugins.size());
  for (const Signed* part : profile_.signedPlugins)
    epochs.push_back(part->epoch(class_.state, pod));

  const auto changes = cluster_.changesSince(position_);
  changed_.clear();
  if (!valid_ || !changes || changes->size() >= cluster_.liveCount() || epochs != epochs_) {
    reset();
    changed_.unite(cluster_.live());
  } else {
    const std::size_t capacity = cluster_.capacity();
    verdicts_.reserve(capacity);
    totals_.reserve(capacity);
    for (Normalized& scores : normalized_)
      if (!scores.raw.empty()) scores.raw.resize(capacity);
    for (const NodeId node : *changes) changed_.insert(node);
  }
  position_ = cluster_.changeEnd();
  epochs_ = std::move(epochs);
  valid_ = false;  // until all is done

  changed_.forEach([&](NodeId node) {
    verdicts_.set(node, kPasses);
    if (!cluster_.live().contains(node)) drop(node);
  });
  changed_.intersect(cluster_.live());
  NodeSet left = changed_;
  for (std::size_t i = 0; i < profile_.filter.size(); ++i) {
    const auto& plugin = profile_.filter[i];
    if (!plugin.signedPlugin || (skipFilter >> i & 1) != 0) continue;
    NodeFilter batch(left, verdicts_, static_cast<std::uint16_t>(i));
    Status status = timer.plugin(plugin.name, "Filter",
                                 [&] { return plugin.point->filter(class_.state, pod, batch); });
    if (!status.ok()) return status;
    if (left.empty()) break;
  }
  changed_.subtract(left);
  changed_.forEach([&](NodeId node) { drop(node); });
  left.forEach([&](NodeId node) {
    if (!feasible_.contains(node)) {
      feasible_.insert(node);
      ++feasibleCount_;
    }
    unscored_.insert(node);
  });
  valid_ = true;
  return {};
}

void ClassNodes::setRaw(Normalized& scores, NodeId node, std::int64_t raw) {
  if (scores.raw.empty()) {
    if (raw == 0) return;
    scores.raw.assign(cluster_.capacity(), 0);
  }
  std::int64_t& slot = scores.raw[node];
  if (slot == raw) return;
  if (slot == scores.max && slot != 0) --scores.holders;
  slot = raw;
  if (raw == scores.max) {
    if (raw != 0) ++scores.holders;
  } else if (raw > scores.max) {
    scores.max = raw;
    scores.holders = 1;
  }
}

// The weighted sum of a node's normalised scores.
std::int64_t ClassNodes::normalizedPart(NodeId node) const {
  std::int64_t sum = 0;
  for (const Normalized& scores : normalized_) {
    if ((class_.skipScore >> scores.position & 1) != 0) continue;
    const std::int64_t raw = scores.raw.empty() ? 0 : scores.raw[node];
    sum += scores.weight * normalizedScore(raw, scores.max, scores.reverse);
  }
  return sum;
}

Status ClassNodes::syncScores(const PodInfo& pod, const AttemptTimer& timer) {
  unscored_.copyTo(list_);
  scores_.resize(list_.size());
  fixed_.assign(list_.size(), 0);
  std::vector<std::int64_t> maxima;
  for (const Normalized& scores : normalized_) maxima.push_back(scores.max);

  for (std::size_t i = 0, next = 0; i < profile_.score.size() && !list_.empty(); ++i) {
    const auto& plugin = profile_.score[i];
    if (!plugin.signedPlugin) continue;
    Normalized* normalized = next < normalized_.size() && normalized_[next].position == i
                                 ? &normalized_[next++]
                                 : nullptr;
    if ((class_.skipScore >> i & 1) != 0) continue;
    Status status = timer.plugin(plugin.name, "Score", [&] {
      return plugin.point->score(class_.state, pod, list_, scores_);
    });
    if (!status.ok()) {
      valid_ = false;
      return Status::error(fmt::format("running Score plugins: plugin \"{}\" failed with: {}",
                                       plugin.name, status.message()));
    }
    if (normalized) {
      for (std::size_t n = 0; n < list_.size(); ++n) setRaw(*normalized, list_[n], scores_[n]);
      continue;
    }
    for (std::size_t n = 0; n < list_.size(); ++n) {
      if (scores_[n] < 0 || scores_[n] > 100) {
        valid_ = false;
        return invalidScore(plugin.name, scores_[n]);
      }
      fixed_[n] += plugin.weight * scores_[n];
    }
  }
  if (rescale(maxima)) {
    // The scale changed: nodes that were not scored again keep what is not normalised.
    std::vector<std::int64_t> now;
    for (Normalized& scores : normalized_) {
      now.push_back(scores.max);
      scores.max = maxima[static_cast<std::size_t>(&scores - normalized_.data())];
    }
    list_.clear();
    feasible_.forEach([&](NodeId node) {
      if (!unscored_.contains(node)) list_.push_back(node);
    });
    std::vector<std::int64_t> rest;
    for (const NodeId node : list_) rest.push_back(totals_.at(node) - normalizedPart(node));
    for (std::size_t i = 0; i < now.size(); ++i) normalized_[i].max = now[i];
    for (std::size_t n = 0; n < list_.size(); ++n)
      totals_.set(list_[n], rest[n] + normalizedPart(list_[n]));
    unscored_.copyTo(list_);
  }
  for (std::size_t n = 0; n < list_.size(); ++n)
    totals_.set(list_[n], fixed_[n] + normalizedPart(list_[n]));
  unscored_.clear();
  return {};
}

// Finds the highest scores anew where nobody has them any more; whether any of them differs from
// before.
bool ClassNodes::rescale(const std::vector<std::int64_t>& before) {
  bool changed = false;
  for (std::size_t i = 0; i < normalized_.size(); ++i) {
    Normalized& scores = normalized_[i];
    if (scores.max != 0 && scores.holders == 0) {
      scores.max = 0;
      feasible_.forEach([&](NodeId node) {
        const std::int64_t raw = scores.raw[node];
        if (raw > scores.max) {
          scores.max = raw;
          scores.holders = 0;
        }
        if (raw == scores.max && raw != 0) ++scores.holders;
      });
    }
    changed |= scores.max != before[i];
  }
  return changed;
}

void ClassNodes::addTotals(std::span<const NodeId> nodes, std::span<std::int64_t> totals) const {
  // When the highest scores are among these nodes, the kept totals are right as they are.
  const bool sameScale = std::ranges::all_of(normalized_, [&](const Normalized& scores) {
    if ((class_.skipScore >> scores.position & 1) != 0 || scores.raw.empty() || scores.max == 0)
      return true;
    return std::ranges::any_of(nodes, [&](NodeId node) { return scores.raw[node] == scores.max; });
  });
  if (sameScale) {
    for (std::size_t n = 0; n < nodes.size(); ++n) totals[n] += totals_.at(nodes[n]);
    return;
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    totals[n] += totals_.at(nodes[n]) - normalizedPart(nodes[n]);
  for (const Normalized& scores : normalized_) {
    if ((class_.skipScore >> scores.position & 1) != 0) continue;
    if (scores.raw.empty()) {
      const std::int64_t all = scores.weight * normalizedScore(0, 0, scores.reverse);
      for (std::int64_t& total : totals) total += all;
      continue;
    }
    std::int64_t max = 0;
    for (const NodeId node : nodes) max = std::max(max, scores.raw[node]);
    for (std::size_t n = 0; n < nodes.size(); ++n)
      totals[n] += scores.weight * normalizedScore(scores.raw[nodes[n]], max, scores.reverse);
  }
}

}  // namespace koord::scheduler
