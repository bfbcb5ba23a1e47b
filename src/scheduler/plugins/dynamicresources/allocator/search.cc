// Which devices should the claims of a pod get on this node?
//
// A claim is a list of requests. Each needs a number of devices (or all) that match its class and
// its selectors, are free, whose taints it tolerates and whose counters and capacity suffice; and
// constraints compare attributes across requests. The first solution in the order of claims,
// requests, alternatives and devices is the result, as in kube-scheduler, so that drivers influence
// the choice by the order of their devices.
//
// Trying devices in order, and reverting the last one when no further device fits, finds that
// solution. In nearly all cases the first try works, so the quick search does only that, and
// evaluates selectors of no device that it does not try. But the number of combinations grows
// exponentially: six GPUs of five that are free fail only after all subsets
// (kubernetes/kubernetes#131730). After kQuickSteps devices without a result the search starts
// again, thoroughly. That search visits the same devices in the same order and finds the same
// solution, but leaves out what cannot succeed:
//
//   alike     devices that equal each other in all that this plan reads (verdicts of its selectors,
//             values of its constraints' attributes, taints, capacity, counters) are
//             interchangeable: if one fails at a position, the others fail there, too. A solution
//             with another of them at this position becomes one with the first by exchanging the
//             two everywhere.
//   counts    a request with fewer suitable devices than it needs fails at once. This counts
//             devices after the current one for the current request, and all free ones for later
//             requests. With a match constraint that has no value yet, some value must have enough.
//   states    whether the rest succeeds depends on what the rest can see: free devices that it can
//             use, counters that these consume, values of constraints. A state that failed fails
//             again, whichever devices led to it.
//
// Cost: requests x devices to prepare, then one visit for each different state. States are few,
// because devices before the current one matter only if a later request can use them or shares
// counters with them. Constructed cases remain exponential (the problem contains bin packing), so
// the caller's `expired` ends a search.
//
// Source of the rules: kube-scheduler 1.36, k8s.io/dynamic-resource-allocation/structured. Two
// differences: counters and list values of rejected devices are restored (kubernetes#140431,
// #140326), and a distinct attribute is distinct within a request, too, as the API says.

#include "scheduler/plugins/dynamicresources/allocator/search.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler::dra {

namespace {

constexpr std::uint64_t kQuickSteps = 256;
constexpr std::uint64_t kStepsPerCheck = 64;  // of `expired`

bool tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_.empty() || toleration.operator_ == "Equal")
    return toleration.value == taint.value;
  return toleration.operator_ == "Exists";
}

}  // namespace

Search::Search(const Plan& plan, const NodeInventory& node, const MoreTaints& moreTaints,
               const std::function<bool()>& expired)
    : plan_(plan), node_(node), moreTaints_(moreTaints), expired_(expired) {}

void Search::reset() {
  picks_.clear();
  chosen_.assign(plan_.groups.size(), 0);
  users_.assign(node_.devices.size(), 0);
  shares_.assign(node_.devices.size(), 0);
  consumed_.clear();
  left_.clear();
  constraints_.clear();
  for (const ClaimPlan& claim : plan_.claims) {
    auto& states = constraints_.emplace_back();
    for (const auto& constraint : std::as_const(claim.claim->spec.devices.constraints))
      states.emplace_back(constraint, plan_.features.listTypeAttributes);
  }
  results_.assign(plan_.claims.size(), 0);
  error_.clear();
  overBudget_ = false;
}

Outcome Search::run() {
  if (!node_.error.empty()) return {Outcome::Kind::Failed, node_.error};
  reset();
  if (expire()) return {Outcome::Kind::Expired, ""};
  if (!prepareAll()) return {Outcome::Kind::Failed, error_};
  budget_ = kQuickSteps;
  Outcome outcome = searchAll();
  if (!overBudget_) return outcome;
  reset();
  budget_ = 0;
  prepareThorough();
  return searchAll();
}

Outcome Search::searchAll() {
  const Step step = placeGroup(0);
  if (step == Step::Found) return {Outcome::Kind::Found, ""};
  if (expiredNow_) return {Outcome::Kind::Expired, ""};
  if (!error_.empty()) return {Outcome::Kind::Failed, error_};
  if (node_.anyInvalid) return {Outcome::Kind::Unusable, "invalid resource pools were encountered"};
  return {Outcome::Kind::NotFound, ""};
}

// Finds the devices of requests for all devices. False: error_ is set.
bool Search::prepareAll() {
  all_.assign(plan_.requests.size(), {});
  const auto nameOfClaim = [&](const RequestPlan& request) {
    return nameOf(plan_.claims[request.claim].claim->metadata);
  };
  bool any = false;
  for (std::size_t r = 0; r < plan_.requests.size(); ++r) {
    const RequestPlan& request = plan_.requests[r];
    if (!request.all) continue;
    any = true;
    for (const auto& pool : node_.pools) {
      if (pool->usable()) continue;
      error_ = fmt::format(
          "claim {}, request {}: asks for all devices, but resource pool {} is currently {}",
          nameOfClaim(request), request.own, pool->key.toString(),
          pool->incomplete ? "being updated" : "invalid");
      return false;
    }
    for (std::uint32_t d = 0; d < node_.devices.size(); ++d) {
      const Match match = selectable(d, request);
      if (match == Match::Failed) return false;
      if (match == Match::Yes && fits(d, request, false)) all_[r].push_back(d);
    }
  }
  for (std::size_t c = 0; any && c < plan_.claims.size(); ++c) {
    std::int64_t least = 0;
    for (const GroupPlan& group : plan_.groups) {
      if (group.claim != c) continue;
      std::int64_t fewest = countOf(group.first);
      for (std::size_t a = 1; a < group.alternatives; ++a)
        fewest = std::min(fewest, countOf(group.first + a));
      least += fewest;
    }
    if (least <= static_cast<std::int64_t>(api::kMaxAllocationResults)) continue;
    error_ =
        fmt::format("claim {}: number of requested devices {} exceeds the claim limit of {}",
                    nameOf(plan_.claims[c].claim->metadata), least, api::kMaxAllocationResults);
    return false;
  }
  return true;
}

std::int64_t Search::countOf(std::size_t request) const {
  return plan_.requests[request].all ? static_cast<std::int64_t>(all_[request].size())
                                     : plan_.requests[request].count;
}

bool Search::expire() {
  if (expired_ && expired_()) expiredNow_ = true;
  return expiredNow_;
}

Search::Step Search::placeGroup(std::size_t group) {
  if (group == plan_.groups.size()) return Step::Found;
  const GroupPlan& requests = plan_.groups[group];
  for (std::size_t a = 0; a < requests.alternatives; ++a) {
    chosen_[group] = a;
    const Step step = placeDevices(group, requests.first + a, 0, 0);
    if (step != Step::No) return step;
  }
  return Step::No;
}

// Places the devices of a request from `number` on, the next one not before `start`, and all later
// requests.
Search::Step Search::placeDevices(std::size_t group, std::size_t request, std::int64_t number,
                                  std::uint32_t start) {
  const std::int64_t count = countOf(request);
  if (plan_.requests[request].all && count == 0) return Step::No;
  if (number >= count) return placeGroup(group + 1);
  const auto results = static_cast<std::int64_t>(results_[plan_.requests[request].claim]);
  if (results + count - number > static_cast<std::int64_t>(api::kMaxAllocationResults))
    return Step::No;
  if (!thorough_) return next(group, request, number, start);
  if (cannotSucceed(group, request, number, start)) return Step::No;
  const auto state = stateOf(group, request, number, start);
  if (thorough_->failed.contains(state)) return Step::No;
  const Step step = next(group, request, number, start);
  if (step == Step::No) thorough_->failed.insert(state);
  return step;
}

Search::Step Search::next(std::size_t group, std::size_t request, std::int64_t number,
                          std::uint32_t start) {
  return plan_.requests[request].all ? takeAll(group, request, number)
                                     : takeOne(group, request, number, start);
}

// All devices are known: the next one must be free.
Search::Step Search::takeAll(std::size_t group, std::size_t request, std::int64_t number) {
  const std::uint32_t device = all_[request][static_cast<std::size_t>(number)];
  if (!take(device, request, true)) return error_.empty() ? Step::No : Step::Stop;
  const Step step = placeDevices(group, request, number + 1, 0);
  if (step != Step::Found) release();
  return step;
}

Search::Step Search::takeOne(std::size_t group, std::size_t request, std::int64_t number,
                             std::uint32_t start) {
  const RequestPlan& what = plan_.requests[request];
  std::uint64_t* tried = nullptr;
  std::uint64_t visit = 0;
  if (thorough_) {
    visit = ++thorough_->visits;
    if (thorough_->tried.size() <= picks_.size())
      thorough_->tried.resize(picks_.size() + 1, std::vector<std::uint64_t>(thorough_->kinds));
    tried = thorough_->tried[picks_.size()].data();
  }
  for (std::uint32_t d = start; d < node_.devices.size(); ++d) {
    if (inUse(d, what)) continue;
    const bool alikeFailed = tried && !what.adminAccess && tried[thorough_->alike[d]] == visit;
    if (alikeFailed) continue;
    const Match match = selectable(d, what);
    if (match == Match::Failed) return Step::Stop;
    if (match == Match::No || !fits(d, what, true) || !take(d, request, false)) continue;
    const Step step = placeDevices(group, request, number + 1, d + 1);
    if (step == Step::Found) return step;
    release();
    if (step == Step::Stop) return step;
    // The vector may have moved.
    if (thorough_) {
      tried = thorough_->tried[picks_.size()].data();
      tried[thorough_->alike[d]] = visit;
    }
    if (++steps_ % kStepsPerCheck == 0 && expire()) return Step::Stop;
    if (budget_ != 0 && steps_ >= budget_) {
      overBudget_ = true;
      return Step::Stop;
    }
  }
  return Step::No;
}

bool Search::isShare(const DeviceOnNode& device) const {
  return plan_.features.consumableCapacity && device.content().allowMultipleAllocations;
}

bool Search::inUse(std::uint32_t device, const RequestPlan& request) const {
  if (request.adminAccess) return users_[device] != 0 && isTakenBy(device, request.claim);
  if (users_[device] != 0 || (!excluded_.empty() && excluded_[device])) return true;
  const DeviceOnNode& entry = node_.devices[device];
  const DeviceUse* use = entry.pool->use->of(entry.device->name());
  return use && (use->whole != 0 || (use->shares != 0 && !isShare(entry)));
}

bool Search::isTakenBy(std::uint32_t device, std::size_t claim) const {
  return std::ranges::any_of(picks_, [&](const Pick& pick) {
    return pick.device == device && !pick.share && plan_.requests[pick.request].claim == claim;
  });
}

Match Search::selectorsMatch(std::uint32_t device, const RequestPlan& request) const {
  const DeviceOnNode& entry = node_.devices[device];
  if (!plan_.features.bindingConditions && !entry.device->object->bindingConditions.empty())
    return Match::No;
  const Match class_ = request.classMatcher->match(entry.content());
  if (class_ != Match::Yes) return class_;
  const Match own = request.matcher->match(entry.content());
  return own == Match::Yes && entry.onOtherNode ? Match::No : own;
}

Match Search::selectable(std::uint32_t device, const RequestPlan& request) {
  const Match match = selectorsMatch(device, request);
  if (match != Match::Failed) return match;
  const DeviceOnNode& entry = node_.devices[device];
  const bool ofClass = request.classMatcher->match(entry.content()) == Match::Failed;
  const Matcher::Failure failure =
      (ofClass ? request.classMatcher : request.matcher)->failureOf(entry.content());
  const std::string where = ofClass
                                ? "class " + request.class_->metadata.name
                                : "claim " + nameOf(plan_.claims[request.claim].claim->metadata);
  error_ = failure.compile ? fmt::format("{}: selector #{}: CEL compile error: {}", where,
                                         failure.selector, failure.message)
                           : fmt::format("{}: selector #{} on device {}: CEL runtime error: {}",
                                         where, failure.selector, describe(entry), failure.message);
  return match;
}

std::string Search::describe(const DeviceOnNode& device) const {
  return device.pool->key.toString() + "/" + device.device->name();
}

bool Search::tolerated(std::uint32_t device, const RequestPlan& request) const {
  if (!plan_.features.deviceTaints) return true;
  const DeviceOnNode& entry = node_.devices[device];
  bool ok = true;
  const auto check = [&](const api::DeviceTaint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return;
    ok = ok && std::ranges::any_of(*request.tolerations, [&](const auto& toleration) {
           return tolerates(toleration, taint);
         });
  };
  for (const api::DeviceTaint& taint : entry.device->object->taints) check(taint);
  if (ok && moreTaints_) moreTaints_(entry.pool->key, *entry.device->object, check);
  return ok;
}

// allocating: counts what this search has consumed, too.
bool Search::fits(std::uint32_t device, const RequestPlan& request, bool allocating) const {
  if (!plan_.features.consumableCapacity) return true;
  const DeviceOnNode& entry = node_.devices[device];
  if (!request.capacity && entry.content().capacity.empty()) return true;
  const DeviceUse* use = entry.pool->use->of(entry.device->name());
  const auto own = allocating ? consumed_.find(device) : consumed_.end();
  return capacityFits(request.capacity, entry.content(),
                      use && use->shares > 0 ? &use->consumed : nullptr,
                      own == consumed_.end() ? nullptr : &own->second);
}

// Shares of one device consume its counters once.
bool Search::alreadyShared(std::uint32_t device) const {
  const DeviceOnNode& entry = node_.devices[device];
  if (!isShare(entry)) return false;
  const DeviceUse* use = entry.pool->use->of(entry.device->name());
  return shares_[device] != 0 || (use && use->shares != 0);
}

std::vector<Quantity>& Search::leftOf(const PoolOnNode& pool) {
  const auto [it, added] = left_.try_emplace(&pool);
  if (added) it->second = pool.available();
  return it->second;
}

bool Search::countersFit(const DeviceOnNode& device) {
  const std::vector<Quantity>& left = leftOf(*device.pool);
  // As in kube-scheduler, a pool of which too much is allocated gives nothing.
  if (std::ranges::any_of(device.pool->available(),
                          [](const Quantity& amount) { return amount.sign() < 0; }))
    return false;
  return std::ranges::all_of(
      *device.counters, [&](const CounterUse& use) { return use.amount <= left[use.counter]; });
}

void Search::consume(const DeviceOnNode& device, bool add) {
  std::vector<Quantity>& left = leftOf(*device.pool);
  for (const CounterUse& use : *device.counters)
    add ? left[use.counter].sub(use.amount) : left[use.counter].add(use.amount);
}

bool Search::take(std::uint32_t device, std::size_t request, bool must) {
  const RequestPlan& what = plan_.requests[request];
  const DeviceOnNode& entry = node_.devices[device];
  const DeviceContent& content = entry.content();
  if (inUse(device, what)) return false;
  const bool consumesCounters = !entry.device->object->consumesCounters.empty();
  if (consumesCounters && !plan_.features.partitionableDevices) return false;
  const bool counts = entry.counters && !alreadyShared(device);
  if (counts && !countersFit(entry)) return false;
  if (!tolerated(device, what)) return false;
  auto& constraints = constraints_[what.claim];
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if ((what.constraints >> i & 1) == 0 || constraints[i].allows(content)) continue;
    if (must)
      error_ = fmt::format(
          "claim {}, request {}: cannot add device {} because a claim constraint would not be "
          "satisfied",
          nameOf(plan_.claims[what.claim].claim->metadata), what.own, describe(entry));
    return false;
  }
  if (!fits(device, what, true)) return false;
  for (std::size_t i = 0; i < constraints.size(); ++i)
    if ((what.constraints >> i & 1) != 0) constraints[i].add(content);
  Pick pick{device, request, isShare(entry), counts, {}};
  if (counts) consume(entry, true);
  if (pick.share) {
    pick.consumed = consumedCapacity(what.capacity, content);
    ++shares_[device];
    api::ResourceList& sum = consumed_[device];
    for (const auto& [name, amount] : pick.consumed) sum[name].add(amount);
  } else {
    ++users_[device];
  }
  ++results_[what.claim];
  picks_.push_back(std::move(pick));
  return true;
}

// Reverts the last pick.
void Search::release() {
  const Pick pick = std::move(picks_.back());
  picks_.pop_back();
  const RequestPlan& what = plan_.requests[pick.request];
  const DeviceOnNode& entry = node_.devices[pick.device];
  --results_[what.claim];
  if (pick.share) {
    --shares_[pick.device];
    api::ResourceList& sum = consumed_[pick.device];
    for (const auto& [name, amount] : pick.consumed) sum[name].sub(amount);
  } else {
    --users_[pick.device];
  }
  if (pick.counts) consume(entry, false);
  auto& constraints = constraints_[what.claim];
  for (std::size_t i = 0; i < constraints.size(); ++i)
    if ((what.constraints >> i & 1) != 0) constraints[i].removeLast();
}

}  // namespace koord::scheduler::dra
