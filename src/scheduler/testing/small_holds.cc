#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler::testing {

namespace {

// An amount of zero may be present or not.
bool sameAmounts(const Resources& a, const Resources& b) {
  Resources rest = a;
  rest.subtract(b);
  bool same = true;
  rest.forEach([&](ResourceId, std::int64_t amount) { same &= amount == 0; });
  return same;
}

}  // namespace

api::ObjectReference HoldKind::reference(const PodInfo& unit) const {
  api::ObjectReference reference;
  reference.kind = "Hold";
  reference.name = unit.pod->metadata.name;
  return reference;
}

Task<Result<PodLocation>> HoldKind::find(PodPtr unit) {
  PodLocation found;
  if (const auto it = boundTo.find(unit->pod->metadata.name); it != boundTo.end())
    found = {PodLocation::Kind::Bound, it->second, nullptr};
  co_return found;
}

Task<void> HoldKind::report(PodPtr unit, FailureReport failure) {
  reports.push_back(
      fmt::format("{} {}: {}", unit->pod->metadata.name, failure.reason, failure.message));
  co_return;
}

Task<void> HoldKind::announce(PodPtr, std::string) {
  co_return;
}

Task<Result<>> HoldKind::annotate(PodPtr, api::StringMap) {
  co_return Result<>{};
}

Task<bool> HoldKind::evict(PodPtr unit, PodPtr) {
  evicted.push_back(unit->pod->metadata.name);
  handle_.units().removed(unit->pod);
  co_return true;
}

Task<Status> HoldKind::bind(PodPtr unit, std::string node) {
  boundTo[unit->pod->metadata.name] = node;
  auto bound = std::make_shared<api::Pod>(*unit->pod);
  bound->spec.nodeName = node;
  bound->metadata.annotations[Holds::kBound] = node;
  bound->metadata.resourceVersion += "0";
  handle_.executor().post(
      [this, before = unit->pod, bound] { handle_.units().updated(before, bound, *this); });
  co_return Status{};
}

// --- Usage of holds by their owners.

Resources HoldLedger::restOf(const PodInfo& hold, NodeId node) const {
  Resources rest = hold.request;
  const auto there = used.find(node);
  if (there == used.end()) return rest;
  if (const auto use = there->second.find(hold.uid()); use != there->second.end())
    rest.subtract(use->second.amount);
  return rest;
}

std::string HoldLedger::textOf(const HoldShare& share) const {
  std::string text = share.hold;
  share.part.forEach([&](ResourceId id, std::int64_t amount) {
    text += fmt::format(" {}={}", cluster_.resources().name(id), amount);
  });
  return text;
}

// Parses the format of textOf(). Any other text means no share.
std::optional<HoldShare> HoldLedger::readValue(const PodInfo& pod, NodeId node, const HoldShare*) {
  std::istringstream text(std::string(api::textIn(pod.pod->metadata.annotations, Holds::kShare)));
  HoldShare share;
  if (!(text >> share.hold)) return std::nullopt;
  for (std::string word; text >> word;) {
    const auto sign = word.find('=');
    std::int64_t amount = 0;
    if (sign == std::string::npos) return std::nullopt;
    const auto read = std::from_chars(word.data() + sign + 1, word.data() + word.size(), amount);
    if (read.ec != std::errc() || amount < 0) return std::nullopt;
    const ResourceId id = cluster_.resources().intern(word.substr(0, sign));
    share.part.set(id, std::min(amount, pod.request.amount(id)));
  }
  share.dormant = !present(share.hold, node);
  return share;
}

void HoldLedger::addValue(NodeId node, const PodInfo&, const HoldShare& share) {
  if (share.dormant) return;
  Use& use = used[node][share.hold];
  use.amount.add(share.part);
  ++use.owners;
}

void HoldLedger::removeValue(NodeId node, const PodInfo&, const HoldShare& share) {
  if (share.dormant) return;
  auto& there = used[node];
  Use& use = there[share.hold];
  use.amount.subtract(share.part);
  if (--use.owners == 0) there.erase(share.hold);
  if (there.empty()) used.erase(node);
}

bool HoldLedger::present(const std::string& hold, NodeId node) const {
  const auto* record = cluster_.findPod(hold);
  return record && record->node == node && record->info->kind == &kind_;
}

void HoldLedger::settle(NodeId node, const PodInfo& pod) {
  if (pod.kind != &kind_) return settleShare(node, pod);
  for (const PodPtr& other : cluster_.node(node).pods) settleShare(node, *other);
}

void HoldLedger::settleShare(NodeId node, const PodInfo& pod) {
  const auto* record = cluster_.findPod(pod.uid());
  const HoldShare* share = record ? in(record->grants) : nullptr;
  if (!share || share->dormant != present(share->hold, node)) return;
  HoldShare changed = *share;
  changed.dormant = !changed.dormant;
  cluster_.regrant(pod.uid(), id(), grantOf(std::move(changed)));
}

std::string HoldLedger::verifyValues(NodeId node, Held held) const {
  std::string difference;
  std::map<std::string, Use> counted;
  for (const auto& [pod, share] : held) {
    if (share->dormant == present(share->hold, node))
      difference += fmt::format("the share of {} is {}in force, its hold is {}there; ", pod->key(),
                                share->dormant ? "not " : "", share->dormant ? "" : "not ");
    if (share->dormant) continue;
    Use& use = counted[share->hold];
    use.amount.add(share->part);
    ++use.owners;
  }
  const auto there = used.find(node);
  std::map<std::string, Use> kept =
      there == used.end() ? std::map<std::string, Use>() : there->second;
  for (const auto& [hold, use] : counted) kept.try_emplace(hold);
  for (const auto& [hold, use] : kept) {
    const Use& right = counted[hold];
    const auto text = [&](const Use& of) {
      return fmt::format("{} owners{}", of.owners, textOf({"", of.amount}));
    };
    if (use.owners != right.owners || !sameAmounts(use.amount, right.amount))
      difference += fmt::format("{}: kept {}, counted {}; ", hold, text(use), text(right));
  }
  return difference;
}

// --- The plugin.

Holds::Holds(Handle& handle)
    : cluster_(handle.cluster()), kind_(kindOf(handle)), ledger_(ledgerOf(handle)) {
  cluster_.watchPodAnnotation(kBound);
}

HoldKind& Holds::kindOf(Handle& handle) {
  return handle.shared().of<HoldKind>([&] { return std::make_unique<HoldKind>(handle); });
}

HoldLedger& Holds::ledgerOf(Handle& handle) {
  return handle.shared().of<HoldLedger>([&] {
    auto ledger = std::make_unique<HoldLedger>(handle.cluster(), kindOf(handle));
    handle.cluster().addLedger(*ledger);
    handle.cluster().addListener(*ledger);
    return ledger;
  });
}

void Holds::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(api::textIn(pod.pod->metadata.labels, kTeam));
}

bool Holds::hasCredits(const PodInfo& pod) const {
  return !api::textIn(pod.pod->metadata.labels, kTeam).empty();
}

PodPtr Holds::holdFor(const PodInfo& pod, NodeId node) const {
  const std::string_view team = api::textIn(pod.pod->metadata.labels, kTeam);
  PodPtr found;
  if (team.empty()) return found;
  for (const PodPtr& other : cluster_.node(node).pods) {
    // The binding of a hold that is only assumed may fail, after its owners were bound.
    if (other->kind != &kind_ || other->pod->spec.nodeName.empty() ||
        api::textIn(other->pod->metadata.annotations, kFor) != team)
      continue;
    if (!found || other->uid() < found->uid()) found = other;
  }
  return found;
}

const HoldShare* Holds::shareOf(const PodInfo& pod) const {
  const auto* record = cluster_.findPod(pod.uid());
  return record ? ledger_.in(record->grants) : nullptr;
}

bool Holds::addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const {
  const PodPtr hold = holdFor(pod, node);
  if (!hold) return false;
  credit.amount = ledger_.restOf(*hold, node);
  credit.nonZeroCpu = credit.amount.base[kCpu];
  credit.nonZeroMemory = credit.amount.base[kMemory];
  credit.ports.assign(hold->ports.begin(), hold->ports.end());
  return true;
}

Status Holds::filter(const CycleState&, const PodInfo&, NodeFilter&) {
  return {};
}

Status Holds::reserve(CycleState&, const PodPtr& pod, NodeId node) {
  return grant(pod, node);
}

Status Holds::grant(const PodPtr& pod, NodeId node) {
  const PodPtr hold = holdFor(*pod, node);
  if (!hold) return {};
  const Resources rest = ledger_.restOf(*hold, node);
  HoldShare share{hold->uid(), {}};
  pod->request.forEach([&](ResourceId id, std::int64_t amount) {
    share.part.set(id, std::min(amount, rest.amount(id)));
  });
  cluster_.regrant(pod->uid(), ledger_.id(), HoldLedger::grantOf(std::move(share)));
  return {};
}

Status Holds::preBindPreFlight(CycleState&, const PodPtr& pod, NodeId) {
  return shareOf(*pod) ? Status() : Status::skip();
}

Task<Status> Holds::preBind(CycleState& state, PodPtr pod, NodeId) {
  if (const HoldShare* share = shareOf(*pod)) state.annotations()[kShare] = ledger_.textOf(*share);
  co_return Status{};
}

Task<Status> Holds::bind(CycleState&, PodPtr pod, std::string nodeName) {
  auto binding = kind_.bind(std::move(pod), std::move(nodeName));
  const Status status = co_await binding;
  co_return status;
}

std::vector<EventRegistration> Holds::eventsToRegister() const {
  return {
      {EventResource::Pod, action::kAdd, "", [this](const PodInfo& pod, const ClusterEvent& event) {
         const PodPtr& hold = event.newPod;
         const std::string_view team = api::textIn(pod.pod->metadata.labels, kTeam);
         const bool ours = hold && hold->kind == &kind_ && !team.empty() &&
                           api::textIn(hold->pod->metadata.annotations, kFor) == team;
         return ours ? Hint::Queue : Hint::Skip;
       }}};
}

}  // namespace koord::scheduler::testing
