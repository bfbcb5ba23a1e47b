#include "descheduler/plugins/lownodeload/relief.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "descheduler/rules/pod_order.h"

namespace koord::descheduler {

namespace {

bool anyUsedUp(const Amounts& available) {
  return std::ranges::any_of(available, [](std::int64_t left) { return left <= 0; });
}

void addTo(Amounts& sum, const Amounts& amounts, std::int64_t sign = 1) {
  for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += sign * amounts[r];
}

bool isProd(const Candidate& candidate) {
  return candidate.entry->facts.priorityClass == model::PriorityClass::Prod;
}

}  // namespace

Relief::Relief(PoolLoad& pool, Evictor& evictor, Options options)
    : pool_(pool), evictor_(evictor), options_(std::move(options)) {}

void Relief::addTargets(Phase& phase, LoadClass loadClass) {
  for (NodeLoad* load : pool_.of(loadClass)) {
    const auto [known, fresh] = targetOf_.emplace(load, targets_.size());
    if (fresh) targets_.push_back({load, {}});
    phase.targets.push_back(known->second);
  }
}

Amounts Relief::headroom(LoadClass loadClass, Scope scope) {
  Amounts sum(pool_.size());
  for (NodeLoad* load : pool_.of(loadClass)) {
    addTo(sum, highOf(*load, scope));
    addTo(sum, usageOf(*load, scope), -1);
  }
  return sum;
}

void Relief::measureFree(Phase& phase) {
  phase.maxFree.assign(pool_.size(), 0);
  for (const std::size_t index : phase.targets) {
    NodeLoad& load = *targets_[index].load;
    const Amounts& high = highOf(load, phase.scope);
    const Amounts& usage = usageOf(load, phase.scope);
    for (std::size_t r = 0; r < pool_.size(); ++r)
      phase.maxFree[r] = std::max(phase.maxFree[r], high[r] - usage[r]);
  }
  if (options_.rules == LoadRules::AsUpstream) return;
  // The least loaded target first.
  std::vector<std::pair<std::int64_t, std::size_t>> scored;
  for (const std::size_t index : phase.targets)
    scored.emplace_back(pool_.score(*targets_[index].load), index);
  std::ranges::stable_sort(scored, {}, [](const auto& each) { return each.first; });
  std::ranges::transform(scored, phase.targets.begin(),
                         [](const auto& each) { return each.second; });
}

Task<void> Relief::run(std::vector<NodeLoad*> sources, std::vector<NodeLoad*> prodSources) {
  std::size_t room = 0;
  for (const LoadClass roomy : {LoadClass::Low, LoadClass::ProdLow, LoadClass::BothLow})
    room += pool_.of(roomy).size();
  if (room <= options_.numberOfNodes) {
    log::v(4, "LowNodeLoad: {} underutilized nodes, numberOfNodes is {}", room,
           options_.numberOfNodes);
    co_return;
  }
  for (const auto& [over, scope] :
       {std::pair(&sources, Scope::All), std::pair(&prodSources, Scope::Prod)})
    std::ranges::stable_sort(*over, std::greater<>(), [&, scope = scope](const NodeLoad* node) {
      return pool_.score(*node, scope);
    });
  Phase nodes;
  addTargets(nodes, LoadClass::Low);
  addTargets(nodes, LoadClass::BothLow);
  nodes.available = headroom(LoadClass::Low, Scope::All);
  Amounts ofBoth = headroom(LoadClass::BothLow, Scope::All);
  const Amounts ofBothProd = headroom(LoadClass::BothLow, Scope::Prod);
  Phase prod;
  prod.scope = Scope::Prod;
  addTargets(prod, LoadClass::ProdLow);
  addTargets(prod, LoadClass::BothLow);
  prod.available = headroom(LoadClass::ProdLow, Scope::Prod);
  addTo(nodes.available, ofBoth);

  auto first = relieve(nodes, std::move(sources));
  co_await first;
  // The resources that the first phase left on nodes that are targets of both.
  for (std::size_t r = 0; r < pool_.size(); ++r)
    prod.available[r] += std::min({ofBothProd[r], ofBoth[r], nodes.available[r]});
  auto second = relieve(prod, std::move(prodSources));
  co_await second;
}

Task<void> Relief::relieve(Phase& phase, std::vector<NodeLoad*> sources) {
  if (phase.targets.empty()) co_return;
  measureFree(phase);
  for (NodeLoad* source : sources) {
    auto task = relieveNode(phase, *source);
    co_await task;
  }
}

std::vector<Candidate> Relief::candidatesOf(const Phase& phase, const NodeLoad& source) {
  std::vector<Candidate> candidates;
  for (const auto& entry : source.view->pods->entries) {
    if (entry.facts.is(PodFacts::Terminal)) continue;
    if (phase.scope == Scope::Prod && entry.facts.priorityClass != model::PriorityClass::Prod)
      continue;
    const auto* usage = source.report->podUsage(entry.facts.key);
    if (options_.nodeFit && !usage) continue;
    if (options_.evictable(*entry.pod) && evictor_.filter(*entry.pod))
      candidates.push_back({&entry, usage, 0});
  }
  return candidates;
}

Task<void> Relief::relieveNode(Phase& phase, NodeLoad& source) {
  std::vector<Candidate> candidates = candidatesOf(phase, source);
  while (!candidates.empty() && isOver(source, phase.scope) && !anyUsedUp(phase.available)) {
    const bool asUpstream = options_.rules == LoadRules::AsUpstream;
    std::vector<Move> moves = asUpstream ? planAsUpstream(phase, source, std::move(candidates))
                                         : plan(phase, source, candidates);
    if (moves.empty()) break;
    bool over = false;  // true: the rest of the plan is dropped
    for (const Move& move : moves) {
      over = over || !isOver(source, phase.scope) || anyUsedUp(phase.available);
      if (over) {
        send(move.target, move.candidate, -1);
        continue;
      }
      std::erase_if(candidates, [&](const Candidate& candidate) {
        return candidate.entry == move.candidate.entry;
      });
      auto task = executeMove(phase, source, move);
      const bool evicted = co_await task;
      if (evicted) continue;
      send(move.target, move.candidate, -1);
      over = !asUpstream;  // a new plan follows
    }
    if (asUpstream || evictor_.nodeExhausted(source.name())) break;
  }
  if (!isOver(source, phase.scope)) options_.cured(source, phase.scope);
}

// The scheduler, which predicts the pod's new node, considers more than loads, and may choose a
// node that is as loaded as this one.
std::string Relief::rejectTarget(const Phase& phase, const NodeLoad& source, const Move& move,
                                 const std::string& node) {
  const auto found = std::ranges::find(pool_.nodes(), node, &NodeLoad::name);
  if (found == pool_.nodes().end() || !found->known()) return "";
  NodeLoad there = *found;
  // The planned target already counts the pod.
  if (move.target == kNowhere || targets_[move.target].load != &*found)
    takeFrom(there, move.candidate, 1);
  for (const Scope scope : {phase.scope, Scope::All})
    if (isOver(there, scope))
      return fmt::format("the pod would overload node {}: {}", node, pool_.excess(there, scope));
  // Compares in the scope of the overload: a node that is over by its prod pods may have few other
  // pods.
  const std::int64_t here = pool_.score(source, phase.scope);
  const std::int64_t then = pool_.score(there, phase.scope);
  if (then < here) return "";
  return fmt::format(
      "with the pod, the load of node {} would be {:.1f} %; the load of {} is {:.1f} %{}", node,
      static_cast<double>(then) / 10, source.name(), static_cast<double>(here) / 10,
      phase.scope == Scope::Prod ? " by prod pods" : "");
}

Task<bool> Relief::executeMove(Phase& phase, NodeLoad& source, const Move& move) {
  const Candidate& candidate = move.candidate;
  const PodPtr pod = candidate.entry->pod;
  if (!evictor_.filter(*pod)) co_return false;
  EvictOptions options;
  options.reason = "node is overutilized, " + pool_.excess(source, phase.scope);
  options.dryRun = options_.dryRun;
  if (options_.rules == LoadRules::Ours)
    options.rejectTarget = [&](const Pod&, const std::string& node) {
      return rejectTarget(phase, source, move, node);
    };
  auto task = evictor_.evict(pod, std::move(options));
  const bool evicted = co_await task;
  if (evicted && !options_.dryRun) options_.moved(*pod);
  if (!evicted || !candidate.usage) co_return evicted;
  addTo(phase.available, pool_.podAmounts(*candidate.usage), -1);
  takeFrom(source, candidate, -1);
  co_return true;
}

void Relief::takeFrom(NodeLoad& load, const Candidate& candidate, std::int64_t sign) const {
  if (!candidate.usage) return;
  const Amounts amounts = pool_.podAmounts(*candidate.usage);
  addTo(load.usage, amounts, sign);
  if (isProd(candidate)) addTo(load.prodUsage, amounts, sign);
}

bool Relief::fits(const Phase& phase, const Candidate& candidate, const NodeDemand& demand,
                  const Target& target) const {
  const bool asUpstream = options_.rules == LoadRules::AsUpstream;
  if (!fitsKoordinator(*candidate.entry->pod, demand, *target.load->view,
                       asUpstream ? nullptr : &target.arrivals))
    return false;
  const Amounts amounts = pool_.podAmounts(*candidate.usage);
  const auto below = [&](const Amounts& usage, const Amounts& high) {
    for (std::size_t r = 0; r < amounts.size(); ++r) {
      // Upstream does not count the pods that it sends.
      if (asUpstream && pool_.resources()[r] == "pods") continue;
      if (usage[r] + amounts[r] > high[r]) return false;
    }
    return true;
  };
  NodeLoad& load = *target.load;
  if (!below(usageOf(load, phase.scope), highOf(load, phase.scope))) return false;
  return asUpstream || phase.scope == Scope::All || below(load.usage, load.high);
}

std::size_t Relief::targetFor(const Phase& phase, const Candidate& candidate) {
  if (!options_.nodeFit) return kNowhere;
  const Amounts amounts = pool_.podAmounts(*candidate.usage);
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    if (options_.rules == LoadRules::AsUpstream && pool_.resources()[r] == "pods") continue;
    if (amounts[r] > phase.maxFree[r]) return kNowhere;
  }
  const NodeDemand demand(*candidate.entry->pod);
  for (const std::size_t index : phase.targets)
    if (fits(phase, candidate, demand, targets_[index])) return index;
  return kNowhere;
}

void Relief::send(std::size_t target, const Candidate& candidate, std::int64_t sign) {
  if (target == kNowhere) return;
  takeFrom(*targets_[target].load, candidate, sign);
  Arrivals& arrivals = targets_[target].arrivals;
  if (sign > 0) {
    arrivals.add(*candidate.entry->pod);
  } else {
    arrivals.remove(*candidate.entry->pod);
  }
}

std::vector<Relief::Move> Relief::planAsUpstream(Phase& phase, const NodeLoad& source,
                                                 std::vector<Candidate> candidates) {
  std::vector<Candidate> fitting;
  for (const Candidate& candidate : candidates) {
    const std::size_t target = targetFor(phase, candidate);
    if (options_.nodeFit && target == kNowhere) continue;
    send(target, candidate, 1);
    fitting.push_back(candidate);
  }
  sortCandidates(pool_, source, phase.scope, fitting);
  std::vector<Move> moves;
  for (const Candidate& candidate : fitting) moves.push_back({candidate, kNowhere});
  return moves;
}

std::vector<Relief::Move> Relief::plan(Phase& phase, const NodeLoad& source,
                                       std::vector<Candidate> candidates) {
  std::vector<Move> moves;
  NodeLoad simulated = source;
  Amounts available = phase.available;
  while (!candidates.empty() && isOver(simulated, phase.scope) && !anyUsedUp(available)) {
    sortCandidates(pool_, simulated, phase.scope, candidates);
    const Candidate next = candidates.front();
    candidates.erase(candidates.begin());
    const std::size_t target = targetFor(phase, next);
    if (options_.nodeFit && target == kNowhere) continue;
    // Without a metric its effect is unknown.
    if (!next.usage) continue;
    if (next.score <= 0) continue;  // does not use the exceeded resources
    send(target, next, 1);
    takeFrom(simulated, next, -1);
    addTo(available, pool_.podAmounts(*next.usage), -1);
    moves.push_back({next, target});
  }
  if (!isOver(simulated, phase.scope)) removeUnplaceable(simulated, phase.scope, moves);
  return moves;
}

// Drops the pods without which the node is not over either. The last one is always needed,
// otherwise the plan would have ended before it.
void Relief::removeUnplaceable(NodeLoad& simulated, Scope scope, std::vector<Move>& moves) {
  for (std::size_t i = moves.size(); i-- > 0;) {
    takeFrom(simulated, moves[i].candidate, 1);
    if (!isOver(simulated, scope)) {
      send(moves[i].target, moves[i].candidate, -1);
      moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      takeFrom(simulated, moves[i].candidate, -1);
    }
  }
}

}  // namespace koord::descheduler
