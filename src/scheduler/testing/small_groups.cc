#include <fmt/format.h>

#include <charconv>
#include <set>

#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler::testing {

std::string Together::groupOf(const PodInfo& pod) const {
  const auto* text = api::findIn(pod.pod->metadata.annotations, kGroup);
  return text ? *text : std::string();
}

std::vector<NodeSet> Together::domainsOf(const std::string&, std::span<const PodPtr>) {
  std::map<std::string, NodeSet> zones;
  cluster_.live().forEach([&](NodeId node) {
    const auto* zone = api::findIn(cluster_.node(node).object->metadata.labels, "zone");
    if (zone) zones[*zone].insert(node);
  });
  std::vector<NodeSet> domains;
  if (zones.empty()) return domains;
  for (auto& [zone, nodes] : zones) domains.push_back(std::move(nodes));
  domains.push_back(cluster_.live());
  return domains;
}

Status Together::judge(const std::string& group, const GroupOutcome& outcome) {
  std::size_t needed = 0;
  const std::string_view text = std::string_view(group).substr(group.find('/') + 1);
  std::from_chars(text.data(), text.data() + text.size(), needed);
  const std::size_t placed = outcome.placed.size();
  if (placed >= needed) return {};
  return Status::unschedulable(
      fmt::format("{} of {} pods of group {} have a node", placed, needed, group));
}

void AllowanceLedger::addValue(NodeId, const PodInfo& pod, const std::int64_t& amount) {
  used[pod.pod->metadata.namespace_] += amount;
  ++version;
}

void AllowanceLedger::removeValue(NodeId, const PodInfo& pod, const std::int64_t& amount) {
  used[pod.pod->metadata.namespace_] -= amount;
  ++version;
}

AllowanceLedger& Allowance::ledgerOf(Handle& handle) {
  return handle.shared().of<AllowanceLedger>([&] {
    auto ledger = std::make_unique<AllowanceLedger>();
    handle.cluster().addLedger(*ledger);
    return ledger;
  });
}

void Allowance::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(pod.pod->metadata.namespace_);
  signature.add(pod.request.amount(kCpu));
}

PreFilterResult Allowance::preFilter(CycleState& state, const PodInfo& pod) {
  return {admit(state, pod), {}};
}

Status Allowance::admit(const CycleState&, const PodInfo& pod) const {
  const std::string& name = pod.pod->metadata.namespace_;
  const auto limit = ledger_.limit.find(name);
  if (limit == ledger_.limit.end()) return {};
  const auto used = ledger_.used.find(name);
  const std::int64_t sum =
      (used == ledger_.used.end() ? 0 : used->second) + pod.request.amount(kCpu);
  if (sum <= limit->second) return {};
  return Status::unschedulable(
      fmt::format("namespace {} would use {}m of {}m cpu", name, sum, limit->second));
}

Status Allowance::reserve(CycleState&, const PodPtr& pod, NodeId) {
  cluster_.regrant(pod->uid(), ledger_.id(), AllowanceLedger::grantOf(pod->request.amount(kCpu)));
  return {};
}

}  // namespace koord::scheduler::testing
