// The second half of NodeSearch: scores and the selection among feasible nodes.

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/framework/node_search.h"

namespace koord::scheduler {

namespace {

Status failedScore(const std::string& plugin, const Status& status) {
  return Status::error(fmt::format("running Score plugins: plugin \"{}\" failed with: {}", plugin,
                                   status.message()));
}

}  // namespace

// PreScore of Signed plugins, once per class.
Status NodeSearch::prepareScores(PodClass& podClass, const PodInfo& pod) {
  if (podClass.scorePrepared) return podClass.preScore;
  podClass.scorePrepared = true;
  for (const auto& plugin : profile_.preScore) {
    if (!plugin.signedPlugin) continue;
    const Status status = timer_.plugin(
        plugin.name, "PreScore", [&] { return plugin.point->preScore(podClass.state, pod, {}); });
    if (status.skipped()) {
      const std::size_t position = Profile::indexOf(profile_.score, plugin.name);
      if (position != Profile::npos) podClass.skipScore |= PluginMask{1} << position;
    } else if (!status.ok()) {
      podClass.preScore = Status::error(
          fmt::format("running PreScore plugin \"{}\": {}", plugin.name, status.message()));
      break;
    }
  }
  findSharedRules(podClass, pod);
  return podClass.preScore;
}

void NodeSearch::findSharedRules(PodClass& podClass, const PodInfo& pod) const {
  const auto& plugins = profile_.score;
  const auto plain = [&](std::size_t i) {
    return plugins[i].signedPlugin && !contains(podClass.skipScore, i) &&
           plugins[i].point->normalization() == Normalization::None;
  };
  podClass.sharedRules.clear();
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    const ScorePlugin* other = plain(i) ? plugins[i].point->scoreAlias(pod) : nullptr;
    if (!other) continue;
    const auto found = std::ranges::find(plugins, other, [](const auto& each) {
      return static_cast<const ScorePlugin*>(each.point);
    });
    const auto source = static_cast<std::size_t>(found - plugins.begin());
    if (source < plugins.size() && source != i && plain(source))
      podClass.sharedRules.emplace_back(i, source);
  }
}

Status NodeSearch::choose(CycleState& state, const PodPtr& pod, Attempt& attempt,
                          const NodeSet& feasible, bool fast, SearchResult& result) {
  PodClass& podClass = *attempt.podClass;
  if (result.feasible == 1) {
    (fast ? podClass.nodes->feasible() : feasible).forEach([&](NodeId node) {
      result.node = node;
    });
    return {};
  }
  Status status = timer_.point("PreScore", [&] { return prepareScores(podClass, *pod); });
  if (!status.ok()) return status;
  return timer_.point("Score", [&] { return pick(state, pod, attempt, feasible, fast, result); });
}

// The second half of choose(), after the scores are prepared.
Status NodeSearch::pick(CycleState& state, const PodPtr& pod, Attempt& attempt,
                        const NodeSet& feasible, bool fast, SearchResult& result) {
  PodClass& podClass = *attempt.podClass;
  Status status;
  if (fast) {
    status = podClass.nodes->syncScores(*pod, timer_);
    if (!status.ok()) return status;
    const auto best = podClass.nodes->best(random_);
    const NodeId favored = attempt.favored;
    const bool tied = favored != kNoNode && podClass.nodes->feasible().contains(favored) &&
                      podClass.nodes->totalOf(favored) == best->total;
    result.node = tied ? favored : best->node;
    return {};
  }
  if (!attempt.restricted) {
    status = podClass.nodes->syncScores(*pod, timer_);
    if (!status.ok()) return status;
    result.node = pickByParts(*pod, *podClass.nodes, feasible, attempt.favored);
    if (result.node != kNoNode) return {};
  }
  feasible.copyTo(list_);
  if (attempt.restricted) {
    auto table = scoreNodes(state, pod, list_);
    if (!table) return Status::of(table.error());
    totals_ = std::move(table->totals);
  } else {
    totals_.assign(list_.size(), 0);
    podClass.nodes->addTotals(list_, totals_);
    const ViewScope seen(state, podClass.nodes->view());
    status = addOtherScores(state, *pod, list_, totals_, nullptr);
    if (!status.ok()) return status;
  }
  result.node = bestOfList(attempt.favored);
  return {};
}

NodeId NodeSearch::pickByParts(const PodInfo& pod, ClassNodes& kept, const NodeSet& feasible,
                               NodeId favored) {
  if (!kept.sameScale(feasible)) return kNoNode;
  const Cluster::PodsOnNodes hidden = hiddenFrom(pod);
  const Cluster::Hidden unseen(cluster_, hidden);
  NodeParts parts(feasible);
  for (const auto& plugin : profile_.score) {
    if (plugin.signedPlugin || plugin.point->willSkipScore(pod)) continue;
    std::optional<NodeParts> scores;
    timer_.plugin(plugin.name, "PreScore", [&] {
      scores = plugin.point->scoreParts(pod, feasible);
      return Status{};
    });
    if (!scores) return kNoNode;
    bool few = true;
    timer_.plugin(plugin.name, "Score", [&] {
      few = parts.add(*scores, static_cast<double>(plugin.weight));
      return Status{};
    });
    if (!few) return kNoNode;
  }
  std::vector<ScoreIndex::Top> tops;
  std::int64_t best = 0;
  std::uint64_t ties = 0;
  const auto total = [&](std::size_t i) {
    return tops[i].total + static_cast<std::int64_t>(parts.parts()[i].value);
  };
  for (std::size_t i = 0; i < parts.parts().size(); ++i) {
    tops.push_back(kept.top(parts.parts()[i].nodes));
    if (total(i) < best) continue;
    if (total(i) > best) ties = 0;
    best = total(i);
    ties += tops[i].ties;
  }
  std::uint64_t skip = ties > 1 ? random_.below(ties) : 0;
  for (std::size_t i = 0; i < tops.size() && favored != kNoNode; ++i)
    if (total(i) == best && parts.parts()[i].nodes.contains(favored) &&
        kept.totalOf(favored) == tops[i].total)
      return favored;
  for (std::size_t i = 0; i < tops.size(); ++i) {
    if (total(i) != best) continue;
    if (skip < tops[i].ties) return kept.nth(tops[i], skip, parts.parts()[i].nodes);
    skip -= tops[i].ties;
  }
  return kNoNode;
}

NodeId NodeSearch::bestOfList(NodeId favored) {
  const std::int64_t best = *std::ranges::max_element(totals_);
  const auto ties = static_cast<std::uint64_t>(std::ranges::count(totals_, best));
  std::uint64_t skip = ties > 1 ? random_.below(ties) : 0;
  const auto place = static_cast<std::size_t>(std::ranges::find(list_, favored) - list_.begin());
  if (place < list_.size() && totals_[place] == best) return favored;
  std::size_t at = 0;
  while (totals_[at] != best || skip-- > 0) ++at;
  return list_[at];
}

Status NodeSearch::addOtherScores(CycleState& state, const PodInfo& pod,
                                  std::span<const NodeId> nodes, std::span<std::int64_t> totals,
                                  ScoreTable* table) {
  if (!hasOtherScores(pod)) return {};
  const Cluster::PodsOnNodes hidden = hiddenFrom(pod);
  const Cluster::Hidden unseen(cluster_, hidden);
  PluginMask skip = 0;
  for (const auto& plugin : profile_.preScore) {
    if (plugin.signedPlugin) continue;
    const Status status = timer_.plugin(plugin.name, "PreScore",
                                        [&] { return plugin.point->preScore(state, pod, nodes); });
    if (status.skipped()) {
      const std::size_t position = Profile::indexOf(profile_.score, plugin.name);
      if (position != Profile::npos) skip |= PluginMask{1} << position;
    } else if (!status.ok()) {
      return Status::error(
          fmt::format("running PreScore plugin \"{}\": {}", plugin.name, status.message()));
    }
  }
  std::vector<std::int64_t> scores(nodes.size());
  for (std::size_t i = 0; i < profile_.score.size(); ++i) {
    const auto& plugin = profile_.score[i];
    if (plugin.signedPlugin || contains(skip, i)) continue;
    Status status = timer_.plugin(plugin.name, "Score",
                                  [&] { return plugin.point->score(state, pod, nodes, scores); });
    if (!status.ok()) return failedScore(plugin.name, status);
    const Normalization kind = plugin.point->normalization();
    if (kind == Normalization::Own) {
      status = guarded(timer_.observer(), plugin.name, "NormalizeScore",
                       [&] { return plugin.point->normalize(state, pod, nodes, scores); });
      if (!status.ok()) {
        return Status::error(
            fmt::format("running Normalize on Score plugins: plugin \"{}\" failed with: {}",
                        plugin.name, status.message()));
      }
    } else if (kind != Normalization::None && !scores.empty()) {
      const std::int64_t max = *std::ranges::max_element(scores);
      for (auto& score : scores) score = normalizedScore(score, max, kind == Normalization::Lowest);
    }
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (scores[n] < 0 || scores[n] > 100) return invalidScore(plugin.name, scores[n]);
      scores[n] *= plugin.weight;
      totals[n] += scores[n];
    }
    if (table) {
      table->plugins.push_back(plugin.name);
      table->values.push_back(scores);
    }
  }
  return {};
}

Result<ScoreTable> NodeSearch::scoreNodes(CycleState& state, const PodPtr& pod,
                                          std::span<const NodeId> nodes) {
  const Attempt& attempt = *state.get<Attempt>(kAttempt);
  PodClass& podClass = *attempt.podClass;
  ScoreTable table;
  table.nodes.assign(nodes.begin(), nodes.end());
  table.totals.assign(nodes.size(), 0);
  Status status = prepareScores(podClass, *pod);
  if (!status.ok()) return fail(ErrorCode::Internal, status.message());
  NodeView view;
  if (podClass.hasView) {
    NodeSet set;
    for (const NodeId node : nodes) set.insert(node);
    updateView(profile_, *pod, set, view);
  }
  const ViewScope seenByClass(podClass.state, view);
  const ViewScope seen(state, view);
  std::vector<std::int64_t> scores(nodes.size());
  for (std::size_t i = 0; i < profile_.score.size(); ++i) {
    const auto& plugin = profile_.score[i];
    if (!plugin.signedPlugin || contains(podClass.skipScore, i)) continue;
    status = guarded(timer_.observer(), plugin.name, "Score",
                     [&] { return plugin.point->score(podClass.state, *pod, nodes, scores); });
    if (!status.ok()) return fail(ErrorCode::Internal, failedScore(plugin.name, status).message());
    const Normalization kind = plugin.point->normalization();
    if (kind != Normalization::None && !scores.empty()) {
      const std::int64_t max = *std::ranges::max_element(scores);
      for (auto& score : scores) score = normalizedScore(score, max, kind == Normalization::Lowest);
    }
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (scores[n] < 0 || scores[n] > 100)
        return fail(ErrorCode::Internal, invalidScore(plugin.name, scores[n]).message());
      scores[n] *= plugin.weight;
      table.totals[n] += scores[n];
    }
    table.plugins.push_back(plugin.name);
    table.values.push_back(scores);
  }
  status = addOtherScores(state, *pod, nodes, table.totals, &table);
  if (!status.ok()) return fail(ErrorCode::Internal, status.message());
  return table;
}

}  // namespace koord::scheduler
