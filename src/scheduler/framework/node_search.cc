// One attempt: from a pod to a node, or to the reasons for having none. The order is
// kube-scheduler's: PreFilter, the nominated node, Filter, PostFilter (elsewhere), Score. The
// method differs: plugins are called for all nodes at once, and Signed plugins are not called if
// the pod's class has their answers (pod_class.cc).
//
// Three paths, from fast to slow, with the same result:
//
//   fast        only Signed plugins apply to the pod, there are no nominations, and all nodes are
//               allowed: the class's best node is the answer. O(changed nodes + N / 64).
//   kept        the class's feasible nodes as a bitset. The other filters run on these, then nodes
//               that are nominated for pods of no lower priority are removed if necessary. Plugins
//               that are not Signed return their scores as parts (few sets of nodes with equal
//               score) if they can, and the best is found per part; otherwise node by node.
//   restricted  PreFilter or a plan named the nodes: all filters run on these alone, and nothing is
//               kept. O(named nodes x plugins).
//
// A nominated pod counts on its node for other pods of no higher priority. As upstream, a node must
// pass with these pods and without them, because affinity may require either. If only Signed
// plugins judge, the result is kept per class and priority (nominated_nodes.h). Otherwise it is
// computed in a transaction, node by node.
//
// A failure is described by one verdict per node. The kept verdicts hold the first rejection in
// plugin order only if no other plugin comes between. Otherwise all filters run once in order, for
// the message. That costs O(N x plugins), but only for pods that fit nowhere.
//
// Ties are broken evenly by the seeded random source. percentageOfNodesToScore cuts the feasible
// nodes off after so many, from where the last attempt stopped; by default it does not.

#include "scheduler/framework/node_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/framework/nominated_nodes.h"

namespace koord::scheduler {

std::size_t nodesToFind(std::size_t nodes, std::int32_t percentage) {
  if (nodes < 100 || percentage <= 0 || percentage >= 100) return nodes;
  return std::max<std::size_t>(100, nodes * static_cast<std::size_t>(percentage) / 100);
}

NodeSearch::NodeSearch(Cluster& cluster, Nominator& nominator, const Profile& profile,
                       Random random, std::int32_t percentage)
    : cluster_(cluster),
      nominator_(nominator),
      profile_(profile),
      random_(random),
      percentage_(percentage),
      classes_(cluster, profile) {
  for (std::size_t i = 0; i < profile.filter.size(); ++i) {
    filterNames_.push_back(profile.filter[i].name);
    preFilterOf_.push_back(Profile::indexOf(profile.preFilter, profile.filter[i].name));
    if (!profile.filter[i].signedPlugin) otherFilters_ |= PluginMask{1} << i;
  }
  filterNames_.emplace_back(kExtenderName);
  for (std::size_t i = 0; i < profile.preFilter.size(); ++i)
    if (!profile.preFilter[i].signedPlugin) otherPreFilters_ |= PluginMask{1} << i;
  for (const auto& plugin : profile.score)
    if (!plugin.signedPlugin) otherScores_.push_back(plugin.point);
}

bool NodeSearch::hasOtherScores(const PodInfo& pod) const {
  return std::ranges::any_of(otherScores_,
                             [&](ScorePlugin* plugin) { return !plugin->willSkipScore(pod); });
}

SearchResult NodeSearch::prepare(CycleState& state, const PodPtr& pod) {
  SearchResult result;
  result.diagnosis.totalNodes = cluster_.liveCount();
  Attempt& attempt = state.put(kAttempt, Attempt{});
  runPreFilter(state, pod, attempt, result);
  return result;
}

template <class Search>
SearchResult NodeSearch::concluded(const CycleState& state, const AttemptTimer& timer,
                                   Search&& search) {
  timer_ = timer;
  SearchResult result = guarded(timer.observer(), "of the profile", "a search", search);
  timer_ = {};
  // The results kept for its class may be incomplete.
  if (result.status.code == Code::Error)
    if (const auto* attempt = state.get<Attempt>(kAttempt); attempt && attempt->podClass)
      classes_.drop(*attempt->podClass);
  return result;
}

SearchResult NodeSearch::findAmong(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                                   const ExtenderVerdicts& extenders, const AttemptTimer& timer) {
  return concluded(state, timer, [&] { return findAmongTimed(state, pod, scope, extenders); });
}

SearchResult NodeSearch::find(CycleState& state, const PodPtr& pod, const SearchScope& scope,
                              const AttemptTimer& timer) {
  return concluded(state, timer, [&] { return findTimed(state, pod, scope); });
}

// Begins every search. Returns nullptr if the search ends here.
NodeSearch::Attempt* NodeSearch::begin(CycleState& state, const PodPtr& pod,
                                       const SearchScope& scope, SearchResult& result) {
  result.diagnosis.totalNodes = cluster_.liveCount();
  result.diagnosis.filterPlugins = filterNames_;
  if (result.diagnosis.totalNodes == 0) {
    result.status = Status::unresolvable(std::string(kNoNodes));
    return nullptr;
  }
  Attempt& attempt = state.put(kAttempt, Attempt{});
  timer_.point("PreFilter", [&] {
    runPreFilter(state, pod, attempt, result);
    return result.status;
  });
  attempt.among = scope.among;
  attempt.favored = scope.favored;
  attempt.preferred.assign(scope.preferred.begin(), scope.preferred.end());
  const PluginMask idle = profile_.idleFor(*pod).planners;
  for (std::size_t i = 0; i < profile_.planners.size() && result.status.ok(); ++i) {
    if (contains(idle, i)) continue;
    result.status = applyPlan(*profile_.planners[i], state, pod, attempt);
    if (result.status.skipped()) {
      result.status = {};
    } else if (result.status.ok()) {
      break;
    } else {
      result.diagnosis.preFilter = result.status;
      result.diagnosis.notePlugin(result.status.plugin(), result.status.code);
    }
  }
  return result.status.ok() ? &attempt : nullptr;
}

// Skip: the planner has no plan for the pod.
Status NodeSearch::applyPlan(PlanPlugin& planner, CycleState& state, const PodPtr& pod,
                             Attempt& attempt) {
  PlanPlugin::Plan plan =
      guarded(timer_.observer(), "that plans", "Plan", [&] { return planner.plan(state, pod); });
  if (!plan.status.ok()) return plan.status;
  std::ranges::copy(plan.first, std::back_inserter(attempt.preferred));
  if (plan.only.empty()) return {};
  NodeSet only;
  for (const NodeId node : plan.only)
    if (attempt.allows(node) && cluster_.live().contains(node)) only.insert(node);
  attempt.restricted = true;
  attempt.allowed = std::move(only);
  attempt.declined.clear();
  attempt.absentStatus = Status::unresolvable("node(s) are not those planned for the pod");
  return {};
}

SearchResult NodeSearch::findTimed(CycleState& state, const PodPtr& pod, const SearchScope& scope) {
  SearchResult result;
  Attempt* const begun = begin(state, pod, scope, result);
  if (!begun) return result;
  Attempt& attempt = *begun;
  Diagnosis& diagnosis = result.diagnosis;
  if (tryNominated(state, pod, attempt, result)) return result;
  for (const NodeId node : attempt.preferred)
    if (tryNode(state, pod, attempt, node, result)) return result;

  NodeSet feasible;
  bool fast = false;
  result.status =
      timer_.point("Filter", [&] { return findFeasible(state, pod, attempt, feasible, fast); });
  if (!result.status.ok()) return result;
  const bool limited = attempt.restricted || attempt.among;
  result.evaluated = limited ? attempt.of(cluster_.live()).size() : diagnosis.totalNodes;
  ClassNodes* kept = attempt.restricted ? nullptr : attempt.podClass->nodes.get();
  result.feasible = fast ? kept->feasibleCount() : feasible.size();
  if (result.feasible > 0) {
    result.status = choose(state, pod, attempt, feasible, fast, result);
    return result;
  }
  if (!scope.diagnose) {
    result.status = Status(Code::Unschedulable);
    return result;
  }

  // Only calling all plugins in order finds the first rejection of each node.
  const bool keptIsAll = kept != nullptr && !attempt.among &&
                         (otherFilters_ & ~attempt.skipFilter) == 0 && nominator_.empty();
  if (!keptIsAll && !attempt.restricted) {
    NodeSet all = attempt.of(cluster_.live());
    if ((otherFilters_ & ~attempt.skipFilter) == 0 && !attempt.among) {
      verdicts_ = kept->verdicts();
      all = kept->feasible();
    } else {
      verdicts_.clear(cluster_.capacity());
      result.status = filterOn(state, pod, attempt, all, &verdicts_, true);
    }
    if (result.status.ok()) result.status = dropNominated(state, pod, attempt, all, &verdicts_);
    if (!result.status.ok()) return result;
  }
  describe(attempt, keptIsAll ? kept->verdicts() : verdicts_, diagnosis);
  result.status = Status(Code::Unschedulable);
  return result;
}

Status NodeSearch::absentStatusOf(const Attempt& attempt) {
  if (!attempt.absentStatus.ok()) return attempt.absentStatus;
  if (attempt.restrictedBy.empty()) return Status::unresolvable(std::string(kOutOfScope));
  return Status::unresolvable(
      fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(attempt.restrictedBy, " ")));
}

void NodeSearch::describe(const Attempt& attempt, const Verdicts& verdicts,
                          Diagnosis& diagnosis) const {
  diagnosis.verdicts = &verdicts;
  if (attempt.restricted || attempt.among) {
    diagnosis.absent = cluster_.live();
    diagnosis.absent.subtract(attempt.of(cluster_.live()));
    diagnosis.absentStatus = absentStatusOf(attempt);
    diagnosis.declined = attempt.declined;
    if (attempt.among) diagnosis.declined.intersect(*attempt.among);
    diagnosis.declinedStatus = attempt.declinedStatus;
    diagnosis.absent.subtract(diagnosis.declined);
    if (!diagnosis.absent.empty())
      for (const std::string& plugin : attempt.restrictedBy)
        diagnosis.notePlugin(plugin, Code::UnschedulableAndUnresolvable);
  }
  for (VerdictId id = 1; id < verdicts.size(); ++id) {
    if (verdicts.count(id) == 0) continue;
    const Rejection& rejection = verdicts.rejection(id);
    diagnosis.notePlugin(diagnosis.filterPlugins[rejection.plugin], rejection.code);
  }
}

bool NodeSearch::runPreFilter(CycleState& state, const PodPtr& pod, Attempt& attempt,
                              SearchResult& result) {
  attempt.podClass = classes_.of(*pod);
  const PodClass& podClass = *attempt.podClass;
  const PluginMask idle = otherPreFilters_ & profile_.idleFor(*pod).preFilter;
  PreFilterSoFar soFar{
      .skipped = podClass.preFilterSkipped | idle, .remembered = {}, .declined = {}};
  const auto countIdle = [&](PluginMask among) {
    forEachIn(idle & among,
              [&](std::size_t i) { timer_.idle(profile_.preFilter[i].name, "PreFilter"); });
  };
  PluginMask rest = podClass.preFilterReported | (otherPreFilters_ & ~idle);
  for (; rest != 0; rest &= rest - 1) {
    const std::size_t i = firstIn(rest);
    const auto& plugin = profile_.preFilter[i];
    bool shouldContinue = true;
    if (plugin.signedPlugin) {
      shouldContinue = take(podClass.preFilter[i], i, attempt, soFar, result);
    } else {
      const PreFilterResult own = timer_.plugin(
          plugin.name, "PreFilter", [&] { return plugin.point->preFilter(state, *pod); });
      if (own.status.ok() && !own.nodeNames) continue;
      shouldContinue = take(own, i, attempt, soFar, result);
    }
    if (shouldContinue) continue;
    countIdle((PluginMask{1} << i) - 1);
    return false;
  }
  countIdle(idle);
  // Also if the pod is rejected: preemption runs the filters.
  skipFilters(*pod, soFar.skipped, attempt);
  Status& remembered = soFar.remembered;
  for (PreFilterResult& answer : soFar.declined)
    if (remembered.ok() && !declineOthers(answer, attempt)) remembered = std::move(answer.status);
  if (!remembered.ok()) {
    result.diagnosis.preFilter = remembered;
    result.status = remembered;
    return false;
  }
  std::ranges::sort(attempt.restrictedBy);
  return true;
}

// Applies one plugin's result; false: the search is over.
bool NodeSearch::take(const PreFilterResult& answer, std::size_t position, Attempt& attempt,
                      PreFilterSoFar& soFar, SearchResult& result) {
  const std::string& name = profile_.preFilter[position].name;
  if (answer.status.skipped()) {
    soFar.skipped |= PluginMask{1} << position;
    return true;
  }
  if (answer.status.rejected()) {
    Status said = answer.status;
    said.setPlugin(name);
    result.diagnosis.notePlugin(name, said.code);
    if (said.code != Code::Unschedulable) {
      result.diagnosis.preFilter = said;
      result.status = std::move(said);
      return false;
    }
    if (answer.nodeNames) {
      soFar.declined.push_back({std::move(said), answer.nodeNames});
    } else if (soFar.remembered.ok()) {
      soFar.remembered = std::move(said);
    }
    return true;
  }
  if (!answer.status.ok()) {
    result.status = Status::error(
        fmt::format("running PreFilter plugin \"{}\": {}", name, answer.status.message()));
    return false;
  }
  if (!answer.nodeNames) return true;
  if (Status left = restrictTo(*answer.nodeNames, name, attempt); !left.ok()) {
    for (const auto& by : attempt.restrictedBy)
      result.diagnosis.notePlugin(by, Code::UnschedulableAndUnresolvable);
    result.diagnosis.preFilter = left;
    result.status = std::move(left);
    return false;
  }
  return true;
}

void NodeSearch::skipFilters(const PodInfo& pod, std::uint64_t skippedPreFilters,
                             Attempt& attempt) const {
  for (std::size_t f = 0; f < profile_.filter.size(); ++f)
    if (preFilterOf_[f] != Profile::npos && contains(skippedPreFilters, preFilterOf_[f]))
      attempt.skipFilter |= PluginMask{1} << f;
  if (!attempt.podClass->hasView || (otherFilters_ & ~attempt.skipFilter) == 0) return;
  attempt.hidden = hiddenFrom(pod);
}

Cluster::PodsOnNodes NodeSearch::hiddenFrom(const PodInfo& pod) const {
  Cluster::PodsOnNodes hidden;
  for (const ViewPlugin* view : profile_.views)
    std::ranges::copy(view->hidden(pod), std::back_inserter(hidden));
  return hidden;
}

NodeSet NodeSearch::nodesNamed(const std::vector<std::string>& names) const {
  NodeSet named;
  for (const auto& name : names)
    if (const auto id = cluster_.findNode(name); id && cluster_.live().contains(*id))
      named.insert(*id);
  return named;
}

bool NodeSearch::declineOthers(const PreFilterResult& answer, Attempt& attempt) const {
  NodeSet left = nodesNamed(*answer.nodeNames);
  if (attempt.restricted) left.intersect(attempt.allowed);
  if (left.empty()) return false;
  NodeSet others = attempt.restricted ? attempt.allowed : cluster_.live();
  others.subtract(left);
  if (attempt.declinedStatus.ok()) attempt.declinedStatus = answer.status;
  attempt.declined.unite(others);
  attempt.restricted = true;
  attempt.allowed = std::move(left);
  return true;
}

Status NodeSearch::restrictTo(const std::vector<std::string>& names, const std::string& plugin,
                              Attempt& attempt) {
  NodeSet named = nodesNamed(names);
  if (attempt.restricted) {
    attempt.allowed.intersect(named);
  } else {
    attempt.restricted = true;
    attempt.allowed = std::move(named);
  }
  std::vector<std::string>& plugins = attempt.restrictedBy;
  plugins.push_back(plugin);
  // As upstream, uses the names alone: a name without a node results in no candidates.
  if (!names.empty() && (plugins.size() == 1 || !attempt.allowed.empty())) return {};
  std::ranges::sort(plugins);
  if (plugins.size() == 1)
    return Status::unresolvable(fmt::format("node(s) didn't satisfy plugin {}", plugins[0]));
  return Status::unresolvable(
      fmt::format("node(s) didn't satisfy plugin(s) [{}] simultaneously", fmt::join(plugins, " ")));
}

bool NodeSearch::tryNominated(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                              SearchResult& result) {
  std::string name = pod->pod->status.nominatedNodeName.str();
  if (pod->kind) name = nominator_.nodeOf(pod->uid());  // a unit has no field for it
  if (name.empty()) return false;
  const auto node = cluster_.findNode(name);
  return node && tryNode(state, pod, attempt, *node, result);
}

bool NodeSearch::tryNode(CycleState& state, const PodPtr& pod, const Attempt& attempt, NodeId node,
                         SearchResult& result) {
  if (!cluster_.live().contains(node) || !attempt.allows(node)) return false;
  if (!filterNode(state, pod, node).ok()) return false;
  result.node = node;
  result.feasible = 1;
  result.evaluated = 1;
  return true;
}

// `fast`: the kept results of the class are complete; `feasible` stays empty then.
Status NodeSearch::findFeasible(CycleState& state, const PodPtr& pod, Attempt& attempt,
                                NodeSet& feasible, bool& fast) {
  const PluginMask others = otherFilters_ & ~attempt.skipFilter;
  if (attempt.restricted) {
    verdicts_.clear(cluster_.capacity());
    feasible = attempt.of(cluster_.live());
    Status status = filterOn(state, pod, attempt, feasible, &verdicts_, true);
    if (!status.ok()) return status;
    status = dropNominated(state, pod, attempt, feasible, &verdicts_);
    if (status.ok()) limitFeasible(feasible);
    return status;
  }
  PodClass& podClass = *attempt.podClass;
  if (!podClass.nodes)
    podClass.nodes = std::make_unique<ClassNodes>(cluster_, profile_, podClass, scratch_);
  Status status = podClass.nodes->sync(*pod, attempt.skipFilter, timer_);
  if (!status.ok() && others != 0) {
    // The error does not count on nodes that a plugin of the others rejects before.
    attempt.restricted = true;
    attempt.allowed = cluster_.live();
    return findFeasible(state, pod, attempt, feasible, fast);
  }
  if (!status.ok()) return status;
  const std::size_t enough = nodesToFind(cluster_.liveCount(), percentage_);
  fast = others == 0 && !attempt.among && nominator_.empty() && enough >= cluster_.liveCount() &&
         !hasOtherScores(*pod);
  if (fast) return {};
  feasible = podClass.nodes->feasible();
  if (attempt.among) feasible.intersect(*attempt.among);
  if (others != 0) {
    status = filterOn(state, pod, attempt, feasible, nullptr, false);
    if (!status.ok()) return status;
  }
  status = dropNominated(state, pod, attempt, feasible, nullptr);
  if (status.ok()) limitFeasible(feasible);
  return status;
}

// Removes nodes that are free only because a nominated pod of no lower priority does not run there
// yet. A rejected node may be rejected for other reasons when those pods are counted. Upstream
// reports these reasons, so `verdicts`, if given, get them.
Status NodeSearch::dropNominated(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                                 NodeSet& feasible, Verdicts* verdicts) {
  if (nominator_.empty() || (feasible.empty() && !verdicts)) return {};
  PodClass& podClass = *attempt.podClass;
  // Few priorities are in use at a time; unused ones must not accumulate.
  if (podClass.nominated.size() > 8 && !podClass.nominated.contains(pod->priority))
    podClass.nominated.clear();
  auto& slot = podClass.nominated[pod->priority];
  if (!slot) slot = std::make_unique<NominatedNodes>();
  NominatedNodes& promised = *slot;
  Status status = promised.sync(cluster_, nominator_, profile_, podClass, *pod, attempt.skipFilter);
  if (!status.ok()) return status;
  const PluginMask others = otherFilters_ & ~attempt.skipFilter;
  const auto own = cluster_.findNode(nominator_.nodeOf(pod->uid()));
  std::vector<VerdictId> ids(verdicts ? promised.rejections() : 0);  // in `verdicts`
  for (const auto& [node, verdict] : promised.nodes()) {
    const bool passed = feasible.contains(node);
    if (!attempt.allows(node)) continue;
    if (!passed && !verdicts) continue;
    // The pod itself and members of its group do not count.
    bool ask = own == node || (profile_.groups && nominatedForGroup(*pod, node));
    if (verdict == kPasses) {
      ask |= others != 0;
    } else if (verdicts) {
      // Another plugin may come before the rejecting plugin.
      ask |= (others & ((PluginMask{1} << promised.rejection(verdict).plugin) - 1)) != 0;
    }
    if (ask) {
      if (status = dropOne(state, pod, node, feasible, verdicts); !status.ok()) return status;
    } else if (verdict != kPasses) {
      if (passed) feasible.erase(node);
      if (!verdicts) continue;
      if (ids[verdict] == 0) ids[verdict] = verdicts->intern(promised.rejection(verdict));
      verdicts->set(node, ids[verdict]);
    }
  }
  return {};
}

bool NodeSearch::nominatedForGroup(const PodInfo& pod, NodeId node) const {
  const auto* nominated = nominator_.on(cluster_.node(node).name);
  return nominated && std::ranges::any_of(*nominated, [&](const PodPtr& other) {
           return profile_.sameGroup(pod, *other);
         });
}

Status NodeSearch::dropOne(CycleState& state, const PodPtr& pod, NodeId node, NodeSet& feasible,
                           Verdicts* verdicts) {
  Status status = filterNode(state, pod, node);
  if (status.code == Code::Error) return status;
  if (status.ok()) return {};
  feasible.erase(node);
  if (!verdicts) return {};
  const auto plugin =
      static_cast<std::uint16_t>(Profile::indexOf(profile_.filter, status.plugin()));
  verdicts->set(node, verdicts->intern({plugin, status.code, status.reasons()}));
  return {};
}

// Uses the current state of the cluster: the pod's view is computed for these nodes alone.
Status NodeSearch::filterOn(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                            NodeSet& nodes, Verdicts* verdicts, bool signedToo) {
  NodeView view;
  if (attempt.podClass->hasView) updateView(profile_, *pod, nodes, view);
  return filterSeen(state, pod, attempt, view, nodes, verdicts, signedToo);
}

Status NodeSearch::filterSeen(CycleState& state, const PodPtr& pod, const Attempt& attempt,
                              const NodeView& view, NodeSet& nodes, Verdicts* verdicts,
                              bool signedToo) {
  const ViewScope seen(state, view);
  const ViewScope seenByClass(attempt.podClass->state, view);
  const Cluster::Hidden unseen(cluster_, attempt.hidden);
  for (std::size_t i = 0; i < profile_.filter.size() && !nodes.empty(); ++i) {
    const auto& plugin = profile_.filter[i];
    if (contains(attempt.skipFilter, i) || (!signedToo && plugin.signedPlugin)) continue;
    NodeFilter batch(nodes, verdicts, static_cast<std::uint16_t>(i));
    const Status status = timer_.plugin(plugin.name, "Filter", [&] {
      return plugin.point->filter(stateFor(plugin.signedPlugin, state, attempt), *pod, batch);
    });
    if (!status.ok()) return filterError(plugin.name, status);
  }
  return {};
}

std::shared_ptr<const PodClass> NodeSearch::decidingClass(const CycleState& state) const {
  const Attempt& attempt = *state.get<Attempt>(kAttempt);
  return (otherFilters_ & ~attempt.skipFilter) == 0 ? attempt.podClass : nullptr;
}

std::optional<std::string> NodeSearch::admitKey(const PodInfo& pod) const {
  std::string all;
  for (const AdmitPlugin* plugin : profile_.admits) {
    const std::optional<std::string> key = plugin->admitKey(pod);
    if (!key) return std::nullopt;
    all += fmt::format("{}:", key->size());
    all += *key;
  }
  return all;
}

Status NodeSearch::filterNodes(CycleState& state, const PodPtr& pod, NodeSet& nodes,
                               Verdicts& verdicts) {
  return filterOn(state, pod, *state.get<Attempt>(kAttempt), nodes, &verdicts, true);
}

Result<std::vector<PluginMask>> NodeSearch::rejectingPlugins(CycleState& state, const PodPtr& pod,
                                                             const NodeSet& nodes) {
  const Attempt& attempt = *state.get<Attempt>(kAttempt);
  std::vector<NodeId> list;
  nodes.copyTo(list);
  std::vector<PluginMask> masks(list.size(), 0);
  NodeView view;
  if (attempt.podClass->hasView) updateView(profile_, *pod, nodes, view);
  const ViewScope seen(state, view);
  const ViewScope seenByClass(attempt.podClass->state, view);
  const Cluster::Hidden unseen(cluster_, attempt.hidden);
  for (std::size_t i = 0; i < profile_.filter.size(); ++i) {
    if (contains(attempt.skipFilter, i)) continue;
    const auto& plugin = profile_.filter[i];
    NodeSet left = nodes;
    Verdicts verdicts;
    verdicts.clear(cluster_.capacity());
    NodeFilter batch(left, &verdicts, static_cast<std::uint16_t>(i));
    const Status status = guarded(timer_.observer(), plugin.name, "Filter", [&] {
      return plugin.point->filter(stateFor(plugin.signedPlugin, state, attempt), *pod, batch);
    });
    if (!status.ok()) return fail(ErrorCode::Internal, status.message());
    for (std::size_t n = 0; n < list.size(); ++n)
      if (!left.contains(list[n])) masks[n] |= PluginMask{1} << i;
  }
  return masks;
}

Status NodeSearch::filterNode(CycleState& state, const PodPtr& pod, NodeId node) {
  const Attempt& attempt = *state.get<Attempt>(kAttempt);
  NodeSet one;
  one.insert(node);
  // A nominated pod has no credits yet.
  NodeView view;
  if (attempt.podClass->hasView) updateView(profile_, *pod, one, view);
  const auto judge = [&]() -> Status {
    for (const AdmitPlugin* plugin : profile_.admits)
      if (Status status = guarded(timer_.observer(), "that admits pods", "Admit",
                                  [&] { return plugin->admit(state, pod, node); });
          !status.ok())
        return status;
    Verdicts verdicts;
    verdicts.reserve(node + 1);
    NodeSet left = one;
    Status status = filterSeen(state, pod, attempt, view, left, &verdicts, true);
    if (!status.ok() || !left.empty()) return status;
    const Rejection& rejection = verdicts.rejection(verdicts.at(node));
    return {rejection.code, rejection.reasons, filterNames_[rejection.plugin]};
  };
  if (const auto* nominated = nominator_.on(cluster_.node(node).name)) {
    Cluster::Transaction whatIf(cluster_);
    bool any = false;
    for (const PodPtr& other : *nominated) {
      if (other->priority < pod->priority || other->uid() == pod->uid()) continue;
      if (profile_.sameGroup(*pod, *other)) continue;
      any |= cluster_.assume(other, node).has_value();
    }
    if (any) {
      Status status = judge();
      if (!status.ok()) return status;
    }
  }
  return judge();
}

void NodeSearch::limitFeasible(NodeSet& feasible) {
  const std::size_t total = cluster_.liveCount();
  const std::size_t enough = nodesToFind(total, percentage_);
  if (enough >= total) return;
  // Continues where the last attempt stopped, so that all nodes get a turn.
  feasible.copyTo(list_);
  if (list_.size() <= enough) return;
  const auto start = std::ranges::lower_bound(list_, startNode_);
  std::rotate(list_.begin(), list_.begin() + (start - list_.begin()), list_.end());
  startNode_ = list_[enough];
  feasible.clear();
  for (std::size_t i = 0; i < enough; ++i) feasible.insert(list_[i]);
}

}  // namespace koord::scheduler
