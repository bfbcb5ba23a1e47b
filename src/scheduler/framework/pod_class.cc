// A scheduler that evaluates every node for every pod does N x P work, and nearly all of it repeats
// known results: pods come from few templates, and placing a pod changes one node. So verdicts and
// scores are kept for each class of pods (equal signatures) and updated from the cluster's change
// log:
//
//   sync         takes the nodes that changed since the class was last used from the log, runs the
//                Signed filters on these alone, and adds them to or removes them from the feasible
//                set.
//   syncScores   scores the feasible nodes among them and puts the new totals into the ScoreIndex.
//   best         reads the index, without visiting all nodes.
//
// Everything is recomputed if the log does not reach back to the class's position, if there are
// more changes than nodes, if a plugin's epoch rose (its answers for unchanged nodes may differ),
// or if a PreFilter answer changed that the plugin's own filter depends on.
//
// Normalisation is the difficult part. Scores of some plugins are scaled by the highest score of
// all feasible nodes, so one node can change the totals of all. Each such plugin's raw scores are
// kept, with the highest and the number of nodes that have it. While the highest stays, only
// changed nodes get new totals. When it changes, the old scaled parts of all nodes are subtracted
// and the new ones added (rescale). That is O(N) and rare: raw scores like "untolerated taints"
// have few values.
//
// Cost of an attempt: O(c x plugins) for c nodes that changed since the class was last used, and
// O(N / 64) for the best. With k classes in turn, c is about k. A new or dropped class costs O(N x
// plugins). Memory is about 6 bytes per node and class (NarrowColumn); the least recently used
// classes are dropped above 64 MiB.
//
// search_test.cc compares the results with a plain evaluation of everything, and so does the
// simulation for every pod.

#include "scheduler/framework/pod_class.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/framework/nominated_nodes.h"

namespace koord::scheduler {

std::int64_t normalizedScore(std::int64_t score, std::int64_t highest, bool reverse,
                             std::int64_t top) {
  if (highest == 0 || score == 0) return reverse ? top : score;
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

void PodClass::forgetNodes() {
  nodes.reset();
  nominated.clear();
  scorePrepared = false;
  skipScore = 0;
  sharedRules.clear();
}

void updateView(const Profile& profile, const PodInfo& pod, const NodeSet& nodes, NodeView& view) {
  view.erase(nodes);
  const auto look = [&](NodeId node) {
    NodeCredit credit;
    bool any = false;
    for (const ViewPlugin* plugin : profile.views) any |= plugin->addCredit(pod, node, credit);
    if (any) view.set(node, std::move(credit));
  };
  NodeSet among;
  for (const ViewPlugin* plugin : profile.views) {
    const NodeSet* const credited = plugin->creditNodes(pod);
    if (!credited) return nodes.forEach(look);
    among.unite(*credited);
  }
  nodes.forEachIn(among, look);
}

PodClasses::PodClasses(Cluster& cluster, const Profile& profile)
    : cluster_(cluster),
      profile_(profile),
      signShapes_(std::ranges::all_of(profile.signedPlugins, &Signed::shapeDeterminesSignature)) {
  for (std::size_t i = 0; i < profile.preFilter.size(); ++i) {
    const auto& plugin = profile.preFilter[i];
    if (!plugin.signedPlugin) continue;
    preFilters_.push_back({i, dynamic_cast<const Changing*>(plugin.signedPlugin),
                           Profile::indexOf(profile.filter, plugin.name) != Profile::npos ||
                               Profile::indexOf(profile.score, plugin.name) != Profile::npos});
    if (preFilters_.back().changing) changing_.push_back(preFilters_.back());
  }
}

std::shared_ptr<PodClass> PodClasses::of(const PodInfo& pod) {
  if (std::exchange(symbols_, cluster_.symbolsVersion()) != cluster_.symbolsVersion()) clear();
  const bool shapeStillDetermines =
      signShapes_ && std::ranges::all_of(profile_.changing, &Changing::shapeStillDetermines);
  if (!shapeStillDetermines) byShape_.clear();  // a shape does not determine the class then
  const bool byShape = shapeStillDetermines && pod.shape != 0 && pod.pod->spec.nodeName.empty();
  order_.splice(order_.begin(), order_,
                byShape ? byShape_.of(pod, [&] { return find(pod); }) : find(pod));
  std::shared_ptr<PodClass> podClass = order_.front();
  const bool holds =
      !podClass->preFilter.empty() &&
      std::ranges::all_of(changing_, [&](const SignedPreFilter& each) {
        return each.changing->preFilterEpoch(pod) == podClass->preFilterEpochs[each.position];
      });
  if (!holds) preFilter(*podClass, pod);
  return podClass;
}

void PodClasses::drop(const PodClass& podClass) {
  const auto it = byBytes_.find(podClass.signature);
  if (it == byBytes_.end() || it->second->get() != &podClass) return;
  byShape_.clear();
  const auto place = it->second;
  byBytes_.erase(it);
  order_.erase(place);
}

void PodClasses::clear() {
  byShape_.clear();
  byBytes_.clear();
  order_.clear();
}

// Finds the class by the pod's signature, or creates it.
PodClasses::Order::iterator PodClasses::find(const PodInfo& pod) {
  signature_.clear();
  for (const Signed* part : profile_.signedPlugins) part->sign(pod, signature_);
  if (const auto it = byBytes_.find(signature_.bytes()); it != byBytes_.end()) return it->second;
  auto podClass = std::make_shared<PodClass>(signature_.bytes());
  podClass->hasView = std::ranges::any_of(
      profile_.views, [&](const ViewPlugin* view) { return view->hasCredits(pod); });
  order_.push_front(std::move(podClass));
  const auto place = order_.begin();
  byBytes_.emplace((*place)->signature, place);
  if (order_.size() > limit()) byShape_.clear();
  while (order_.size() > limit()) {
    byBytes_.erase(order_.back()->signature);
    order_.pop_back();
  }
  return place;
}

// Calls the Signed plugins whose answers are missing or outdated.
void PodClasses::preFilter(PodClass& podClass, const PodInfo& pod) {
  const bool known = !podClass.preFilter.empty();
  if (!known) {
    podClass.preFilter.resize(profile_.preFilter.size());
    podClass.preFilterEpochs.resize(profile_.preFilter.size());
  }
  for (const auto& [i, changing, judgesNodes] : known ? changing_ : preFilters_) {
    const std::uint64_t epoch = changing ? changing->preFilterEpoch(pod) : 0;
    if (known && epoch == podClass.preFilterEpochs[i]) continue;
    const auto& plugin = profile_.preFilter[i];
    // Results of its filter or score may depend on the state that PreFilter left.
    if (known && judgesNodes) podClass.forgetNodes();
    podClass.preFilterEpochs[i] = epoch;
    PreFilterResult& said = podClass.preFilter[i];
    said = guarded(nullptr, plugin.name, "PreFilter",
                   [&] { return plugin.point->preFilter(podClass.state, pod); });
    if (!said.status.ok() && !said.status.skipped()) said.status.setPlugin(plugin.name);
    const auto note = [&](PluginMask& mask, bool is) {
      mask = is ? mask | PluginMask{1} << i : mask & ~(PluginMask{1} << i);
    };
    note(podClass.preFilterSkipped, said.status.skipped());
    note(podClass.preFilterReported,
         !said.status.skipped() && (!said.status.ok() || said.nodeNames));
  }
}

std::size_t PodClasses::limit() const {
  // About 6 bytes per node and class. As many classes as fit in 64 MiB, and at least some hundred
  // on large clusters: recreating a class costs a pass over all nodes.
  const std::size_t perClass = 6 * cluster_.capacity() + 4096;
  return std::clamp<std::size_t>((std::size_t{64} << 20) / perClass, 256, 4096);
}

ClassNodes::ClassNodes(Cluster& cluster, const Profile& profile, PodClass& podClass,
                       Scratch& scratch)
    : cluster_(cluster), profile_(profile), class_(podClass), scratch_(scratch) {
  for (std::size_t i = 0; i < profile.filter.size(); ++i)
    if (profile.filter[i].signedPlugin) signedFilters_ |= PluginMask{1} << i;
}

void ClassNodes::reset() {
  const std::size_t capacity = cluster_.capacity();
  view_.clear();
  verdicts_.clear(capacity);
  feasible_.clear();
  feasible_.reserve(capacity);
  feasibleCount_ = 0;
  unscored_.clear();
  totals_.clear(capacity);
  scorers_.clear();
  normalized_.clear();
  for (std::size_t i = 0; i < profile_.score.size(); ++i) {
    const auto& plugin = profile_.score[i];
    const Normalization kind = plugin.point->normalization();
    if (!plugin.signedPlugin || kind == Normalization::None || kind == Normalization::Own) continue;
    Normalized& scores = normalized_.emplace_back();
    scores.position = i;
    scores.reverse = kind == Normalization::Lowest;
    scores.weight = plugin.weight;
    scores.scored.reserve(capacity);
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

bool ClassNodes::epochsIncreased(const PodInfo& pod) {
  epochs_.resize(profile_.changing.size());
  bool rose = false;
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    const std::uint64_t epoch = profile_.changing[i]->epoch(class_.state, pod);
    rose |= std::exchange(epochs_[i], epoch) != epoch;
  }
  return rose;
}

bool ClassNodes::takeChanges(const PodInfo& pod, NodeSet& changed) {
  const bool rose = epochsIncreased(pod);
  const auto changes = cluster_.changesSince(position_);
  const bool all = !valid_ || !changes || changes->size() >= cluster_.liveCount() || rose;
  position_ = cluster_.changeEnd();
  const bool nodesChanged =
      std::exchange(nodes_, cluster_.nodesVersion()) != cluster_.nodesVersion();
  if (all) {
    reset();
    changed = cluster_.live();
    return true;
  }
  const std::size_t capacity = cluster_.capacity();
  verdicts_.reserve(capacity);
  totals_.reserve(capacity);
  for (Normalized& scores : normalized_)
    if (!scores.raw.empty()) scores.raw.resize(capacity);
  changed.clear();
  for (const NodeId node : *changes) changed.insert(node);
  verdicts_.pass(changed);
  if (nodesChanged) {
    NodeSet& gone = scratch_.left;
    gone = changed;
    gone.subtract(cluster_.live());
    gone.forEach([&](NodeId node) {
      drop(node);
      view_.erase(node);
    });
  }
  changed.intersect(cluster_.live());
  return false;
}

Status filterError(const std::string& plugin, const Status& status) {
  return Status::error(fmt::format("running \"{}\" filter plugin: {}", plugin, status.message()));
}

Status ClassNodes::runFilters(const PodInfo& pod, PluginMask skipFilter, const AttemptTimer& timer,
                              const NodeSet& changed, NodeSet& left) {
  if (class_.hasView) updateView(profile_, pod, changed, view_);
  const ViewScope seen(class_.state, view_);
  left = changed;
  for (PluginMask rest = signedFilters_ & ~skipFilter; rest != 0; rest &= rest - 1) {
    const std::size_t i = firstIn(rest);
    const auto& plugin = profile_.filter[i];
    NodeFilter batch(left, &verdicts_, static_cast<std::uint16_t>(i));
    Status status = timer.plugin(plugin.name, "Filter",
                                 [&] { return plugin.point->filter(class_.state, pod, batch); });
    if (!status.ok()) return filterError(plugin.name, status);
    if (left.empty()) break;
  }
  return {};
}

Status ClassNodes::sync(const PodInfo& pod, PluginMask skipFilter, const AttemptTimer& timer) {
  NodeSet& changed = scratch_.changed;
  NodeSet& left = scratch_.left;
  const bool all = takeChanges(pod, changed);
  valid_ = false;  // until all is complete
  if (Status status = runFilters(pod, skipFilter, timer, changed, left); !status.ok())
    return status;
  if (all) {
    feasible_ = left;
    unscored_ = left;
    feasibleCount_ = left.size();
  } else {
    changed.subtract(left);
    changed.forEach([&](NodeId node) { drop(node); });
    feasibleCount_ += feasible_.add(left);
    unscored_.unite(left);
  }
  valid_ = true;
  return {};
}

void ClassNodes::setRaw(Normalized& scores, NodeId node, std::int64_t raw) {
  if (scores.raw.empty()) {
    if (raw == 0) return;
    scores.raw.assign(cluster_.capacity());
  }
  const std::int64_t before = scores.raw.at(node);
  if (before == raw) return;
  if (before == scores.max && before != 0) --scores.holders;
  scores.raw.set(node, raw);
  if (raw == 0) {
    scores.scored.erase(node);
    return;
  }
  scores.scored.insert(node);
  raiseMax(scores, raw);
}

// The same for many nodes.
void ClassNodes::setRaw(Normalized& scores, std::span<const NodeId> nodes,
                        std::span<const std::int64_t> raw) {
  const bool first = scores.scored.empty();
  if (!first) {
    scores.raw.read([&](const auto& before) {
      for (const NodeId node : nodes)
        if (before[node] != 0 && static_cast<std::int64_t>(before[node]) == scores.max)
          --scores.holders;
    });
    scores.raw.set(nodes, raw, 0);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (raw[n] == 0) {  // nearly all of them at first
      if (!first) scores.scored.erase(nodes[n]);
      continue;
    }
    if (first) {
      if (scores.raw.empty()) scores.raw.assign(cluster_.capacity());
      scores.raw.set(nodes[n], raw[n]);
    }
    scores.scored.insert(nodes[n]);
    raiseMax(scores, raw[n]);
  }
}

void ClassNodes::raiseMax(Normalized& scores, std::int64_t raw) {
  if (raw < scores.max) return;
  scores.holders = raw == scores.max ? scores.holders + 1 : 1;
  scores.max = raw;
}

// Adds or subtracts the weighted sum of each node's normalised scores.
void ClassNodes::addNormalized(std::span<const NodeId> nodes, std::span<std::int64_t> totals,
                               std::int64_t factor) const {
  for (const Normalized& scores : normalized_) {
    if (contains(class_.skipScore, scores.position)) continue;
    const std::int64_t weight = factor * scores.weight;
    const auto part = [&](std::int64_t raw) {
      return weight * normalizedScore(raw, scores.max, scores.reverse);
    };
    const std::int64_t lowest = part(0);
    if (scores.raw.empty()) {
      if (lowest == 0) continue;
      for (std::int64_t& total : totals) total += lowest;
      continue;
    }
    const std::int64_t highest = part(scores.max);
    scores.raw.read([&](const auto& raw) {
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        const std::int64_t value = raw[nodes[n]];
        totals[n] += value == 0 ? lowest : value == scores.max ? highest : part(value);
      }
    });
  }
}

void ClassNodes::findScorers() {
  std::erase_if(normalized_,
                [&](const auto& each) { return contains(class_.skipScore, each.position); });
  for (std::size_t i = 0, next = 0; i < profile_.score.size(); ++i) {
    const auto& plugin = profile_.score[i];
    if (!plugin.signedPlugin || contains(class_.skipScore, i)) continue;
    Normalized* const normalized = next < normalized_.size() && normalized_[next].position == i
                                       ? &normalized_[next++]
                                       : nullptr;
    scorers_.push_back({i, normalized, plugin.weight});
  }
  const auto at = [&](std::size_t position) {
    return &*std::ranges::find(scorers_, position, &Scorer::position);
  };
  sharedRules_.clear();
  for (const auto& [position, source] : class_.sharedRules)
    sharedRules_.push_back({at(position), at(source)});
}

// Adds the weight of plugins whose scores equal another plugin's on all of the nodes to that
// plugin.
void ClassNodes::shareRules(std::span<const NodeId> nodes, const AttemptTimer& timer) {
  const auto reset = [&](Scorer& scorer) {
    scorer.weight = profile_.score[scorer.position].weight;
  };
  for (const auto& [scorer, source] : sharedRules_) {
    reset(*scorer);
    reset(*source);
  }
  for (const auto& [scorer, source] : sharedRules_) {
    const auto& plugin = profile_.score[scorer->position];
    if (!plugin.point->scoresEqualAlias(class_.state, nodes)) continue;
    source->weight += std::exchange(scorer->weight, 0);
    timer.plugin(plugin.name, "Score", [] { return Status{}; });
  }
}

// Adds up in `fixed` the Signed scores that are not normalised.
Status ClassNodes::score(const PodInfo& pod, const Scorer& scorer, std::span<const NodeId> nodes,
                         std::span<std::int64_t> fixed) {
  const auto& plugin = profile_.score[scorer.position];
  Normalized* const normalized = scorer.normalized;
  const std::int64_t weight = scorer.weight;
  // All nodes score 0.
  if ((!normalized || normalized->raw.empty()) && plugin.point->willSkipScore(pod)) return {};
  auto& scores = scratch_.scores;
  for (std::size_t first = 0; first < nodes.size(); first += kChunk) {
    const auto chunk = nodes.subspan(first, std::min(kChunk, nodes.size() - first));
    scores.resize(chunk.size());
    const Status status = plugin.point->score(class_.state, pod, chunk, scores);
    if (!status.ok()) {
      return Status::error(fmt::format("running Score plugins: plugin \"{}\" failed with: {}",
                                       plugin.name, status.message()));
    }
    if (normalized) {
      setRaw(*normalized, chunk, scores);
      continue;
    }
    std::int64_t outside = 0;  // negative if a score is not 0 to 100
    const std::int64_t* const from = scores.data();
    std::int64_t* const to = fixed.data() + first;
    for (std::size_t n = 0; n < chunk.size(); ++n) {
      outside |= from[n] | (100 - from[n]);
      to[n] += weight * from[n];
    }
    if (outside < 0) {
      const auto [least, most] = std::ranges::minmax(scores);
      return invalidScore(plugin.name, least < 0 ? least : most);
    }
  }
  return {};
}

Status ClassNodes::syncScores(const PodInfo& pod, const AttemptTimer& timer) {
  const ViewScope seen(class_.state, view_);
  auto& list = scratch_.list;
  auto& totals = scratch_.totals;
  unscored_.copyTo(list);
  totals.assign(list.size(), 0);
  if (scorers_.empty()) findScorers();
  Maxima before;
  for (const Normalized& each : normalized_) before.push_back(each.max);

  if (!list.empty()) shareRules(list, timer);
  for (const Scorer& scorer : scorers_) {
    if (list.empty()) break;
    if (scorer.weight == 0) continue;
    const auto& plugin = profile_.score[scorer.position];
    Status status =
        timer.plugin(plugin.name, "Score", [&] { return score(pod, scorer, list, totals); });
    if (!status.ok()) {
      valid_ = false;
      return status;
    }
  }
  NodeSet others = rescale(before);
  others.subtract(unscored_);
  if (!others.empty()) {
    // Nodes that were not scored again keep the part that is not normalised.
    std::vector<NodeId> nodes;
    others.copyTo(nodes);
    std::vector<std::int64_t> kept;
    kept.reserve(nodes.size());
    for (const NodeId node : nodes) kept.push_back(totals_.at(node));
    const auto swapScale = [&] {
      for (std::size_t i = 0; i < before.size(); ++i) std::swap(normalized_[i].max, before[i]);
    };
    swapScale();
    addNormalized(nodes, kept, -1);
    swapScale();
    addNormalized(nodes, kept, 1);
    totals_.set(nodes, kept);
  }
  addNormalized(list, totals, 1);
  totals_.set(list, totals);
  unscored_.clear();
  return {};
}

// Recomputes the highest scores that no node has now. A score of 0 is the same on every scale.
NodeSet ClassNodes::rescale(const Maxima& before) {
  NodeSet rescaled;
  for (std::size_t i = 0; i < normalized_.size(); ++i) {
    Normalized& scores = normalized_[i];
    if (scores.max != 0 && scores.holders == 0) {
      scores.max = 0;
      scores.scored.forEach([&](NodeId node) {
        const std::int64_t raw = scores.raw.at(node);
        if (raw > scores.max) {
          scores.max = raw;
          scores.holders = 0;
        }
        if (raw == scores.max) ++scores.holders;
      });
    }
    if (scores.max == before[i]) continue;
    rescaled.unite(scores.scored);
  }
  rescaled.intersect(feasible_);
  return rescaled;
}

// Returns true if the scores are scaled by a highest score above 0.
bool ClassNodes::scaled(const Normalized& scores) const {
  return !contains(class_.skipScore, scores.position) && !scores.raw.empty() && scores.max != 0;
}

bool ClassNodes::sameScale(const NodeSet& nodes) const {
  return std::ranges::all_of(normalized_, [&](const Normalized& scores) {
    return !scaled(scores) ||
           nodes.any([&](NodeId node) { return scores.raw.at(node) == scores.max; });
  });
}

void ClassNodes::addTotals(std::span<const NodeId> nodes, std::span<std::int64_t> totals) const {
  const bool sameScale = std::ranges::all_of(normalized_, [&](const Normalized& scores) {
    return !scaled(scores) || std::ranges::any_of(nodes, [&](NodeId node) {
      return scores.raw.at(node) == scores.max;
    });
  });
  if (sameScale) {
    for (std::size_t n = 0; n < nodes.size(); ++n) totals[n] += totals_.at(nodes[n]);
    return;
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) totals[n] += totals_.at(nodes[n]);
  addNormalized(nodes, totals, -1);
  for (const Normalized& scores : normalized_) {
    if (contains(class_.skipScore, scores.position)) continue;
    if (scores.raw.empty()) {
      const std::int64_t all = scores.weight * normalizedScore(0, 0, scores.reverse);
      for (std::int64_t& total : totals) total += all;
      continue;
    }
    std::int64_t max = 0;
    for (const NodeId node : nodes) max = std::max(max, scores.raw.at(node));
    for (std::size_t n = 0; n < nodes.size(); ++n)
      totals[n] += scores.weight * normalizedScore(scores.raw.at(nodes[n]), max, scores.reverse);
  }
}

}  // namespace koord::scheduler
