#include <fmt/format.h>

#include <algorithm>

#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler::testing {

namespace {

std::string textIn(const api::StringMap& map, const char* key) {
  const auto* text = api::findIn(map, key);
  return text ? *text : std::string();
}

}  // namespace

api::ObjectReference HoldKind::reference(const PodInfo& unit) const {
  api::ObjectReference reference;
  reference.kind = "Hold";
  reference.name = unit.pod->metadata.name;
  return reference;
}

Task<Result<Whereabouts>> HoldKind::find(PodPtr unit) {
  Whereabouts found;
  if (const auto it = boundTo.find(unit->pod->metadata.name); it != boundTo.end())
    found = {Whereabouts::Kind::Bound, it->second, nullptr};
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

Holds::Holds(Handle& handle)
    : handle_(handle),
      cluster_(handle.cluster()),
      kind_(kindOf(handle)),
      ledger_(handle.shared().of<HoldLedger>([&] {
        auto ledger = std::make_unique<HoldLedger>();
        handle.cluster().addLedger(*ledger);
        return ledger;
      })) {}

HoldKind& Holds::kindOf(Handle& handle) {
  return handle.shared().of<HoldKind>([&] { return std::make_unique<HoldKind>(handle); });
}

void Holds::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(textIn(pod.pod->metadata.labels, kTeam));
}

bool Holds::hasCredits(const PodInfo& pod) const {
  return !textIn(pod.pod->metadata.labels, kTeam).empty();
}

PodPtr Holds::holdFor(const PodInfo& pod, NodeId node) const {
  const std::string team = textIn(pod.pod->metadata.labels, kTeam);
  if (team.empty()) return nullptr;
  for (const PodPtr& other : cluster_.node(node).pods)
    if (other->kind == &kind_ && textIn(other->pod->metadata.annotations, kFor) == team)
      return other;
  return nullptr;
}

Resources Holds::restOf(const PodInfo& hold) const {
  Resources rest = hold.request;
  if (const auto it = ledger_.used.find(hold.uid()); it != ledger_.used.end())
    rest.subtract(it->second);
  return rest;
}

bool Holds::addCredit(const PodInfo& pod, NodeId node, NodeCredit& credit) const {
  const PodPtr hold = holdFor(pod, node);
  if (!hold) return false;
  credit.amount = restOf(*hold);
  credit.nonZeroCpu = credit.amount.base[kCpu];
  credit.nonZeroMemory = credit.amount.base[kMemory];
  credit.ports.assign(hold->ports.begin(), hold->ports.end());
  return true;
}

Status Holds::filter(const CycleState&, const PodInfo&, NodeFilter&) {
  return {};
}

Status Holds::reserve(CycleState&, const PodPtr& pod, NodeId node) {
  const PodPtr hold = holdFor(*pod, node);
  if (!hold) return {};
  const Resources rest = restOf(*hold);
  HoldShare share{hold->uid(), {}};
  pod->request.forEach([&](ResourceId id, std::int64_t amount) {
    share.part.set(id, std::min(amount, rest.amount(id)));
  });
  cluster_.regrant(pod->uid(), ledger_.id(), HoldLedger::grantOf(std::move(share)));
  return {};
}

Task<Status> Holds::bind(CycleState&, PodPtr pod, std::string nodeName) {
  kind_.boundTo[pod->pod->metadata.name] = nodeName;
  auto bound = std::make_shared<api::Pod>(*pod->pod);
  bound->spec.nodeName = nodeName;
  bound->metadata.resourceVersion += "0";
  handle_.executor().post(
      [this, before = pod->pod, bound] { handle_.units().updated(before, bound, kind_); });
  co_return Status{};
}

}  // namespace koord::scheduler::testing
