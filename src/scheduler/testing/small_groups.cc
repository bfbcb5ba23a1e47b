#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler::testing {

std::string Together::groupOf(const PodInfo& pod) const {
  const auto* text = api::findIn(pod.pod->metadata.annotations, kGroup);
  return text ? *text : std::string();
}

GroupPlan Together::planOf(const std::string&, std::span<const PodPtr>) {
  std::map<std::string, NodeSet> zones;
  cluster_.live().forEach([&](NodeId node) {
    const auto* zone = api::findIn(cluster_.node(node).object->metadata.labels, "zone");
    if (zone) zones[*zone].insert(node);
  });
  GroupPlan plan;
  if (zones.empty()) return plan;
  for (auto& [zone, nodes] : zones) plan.domains.push_back({std::move(nodes), {}});
  plan.domains.push_back({cluster_.live(), {}});
  return plan;
}

Status Together::judge(const std::string& group, const GroupOutcome&) {
  std::size_t needed = 0;
  const std::string_view text = std::string_view(group).substr(group.find('/') + 1);
  std::from_chars(text.data(), text.data() + text.size(), needed);
  // Members that were just placed are already counted.
  const auto have = static_cast<std::size_t>(std::ranges::count_if(
      cluster_.pods(), [&](const auto& record) { return groupOf(*record.info) == group; }));
  if (have >= needed) return {};
  return Status::unschedulable(
      fmt::format("{} of {} pods of group {} have a node", have, needed, group));
}

void AllowanceLedger::addValue(NodeId node, const PodInfo& pod, const std::int64_t& amount) {
  const std::string& name = pod.pod->metadata.namespace_;
  used[name] += amount;
  usedOn[node][name] += amount;
  ++version;
}

void AllowanceLedger::removeValue(NodeId node, const PodInfo& pod, const std::int64_t& amount) {
  const std::string& name = pod.pod->metadata.namespace_;
  used[name] -= amount;
  usedOn[node][name] -= amount;
  ++version;
}

std::string AllowanceLedger::verifyValues(NodeId node, Held held) const {
  std::string difference;
  const auto compare = [&](const std::string& what, std::int64_t kept, std::int64_t counted) {
    if (kept != counted)
      difference += fmt::format("{}: kept {}, counted {}; ", what, kept, counted);
  };
  std::map<std::string, std::int64_t> counted;
  for (const auto& [pod, amount] : held) counted[pod->pod->metadata.namespace_] += *amount;
  const auto there = usedOn.find(node);
  auto kept = there == usedOn.end() ? std::map<std::string, std::int64_t>() : there->second;
  for (const auto& [name, amount] : counted) kept.try_emplace(name, 0);
  for (const auto& [name, amount] : kept) compare(name, amount, counted[name]);
  // Also the sum over all nodes.
  std::map<std::string, std::int64_t> sums;
  for (const auto& [id, onNode] : usedOn)
    for (const auto& [name, amount] : onNode) sums[name] += amount;
  for (const auto& [name, amount] : used) sums.try_emplace(name, 0);
  for (const auto& [name, sum] : sums) {
    const auto all = used.find(name);
    compare(name + " in all", all == used.end() ? 0 : all->second, sum);
  }
  return difference;
}

AllowanceLedger& Allowance::ledgerOf(Handle& handle) {
  return handle.shared().of<AllowanceLedger>([&] {
    auto ledger = std::make_unique<AllowanceLedger>();
    handle.cluster().addLedger(*ledger);
    auto& limits = handle.stores().of<AllowanceLimit>();
    limits.listen([&limits, ledger = ledger.get()](const auto& before, const auto& after) {
      const std::string& name = (after ? after : before)->metadata.namespace_;
      ledger->limit.erase(name);
      for (const auto& [key, object] : limits.all()) {
        if (key.namespace_ != name) continue;
        const auto [known, fresh] = ledger->limit.emplace(name, object->spec.milliCpu);
        if (!fresh) known->second = std::min(known->second, object->spec.milliCpu);
      }
      ++ledger->version;
    });
    return ledger;
  });
}

void Allowance::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(pod.pod->metadata.namespace_);
  signature.add(pod.request.amount(kCpu));
}

PreFilterResult Allowance::preFilter(CycleState&, const PodInfo& pod) {
  return {judge(pod), {}};
}

Status Allowance::admit(const CycleState&, const PodPtr& pod, NodeId) const {
  return judge(*pod);
}

Status Allowance::judge(const PodInfo& pod) const {
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

std::vector<EventRegistration> Allowance::eventsToRegister() const {
  const auto nextTo = [](const PodInfo& pod, const ClusterEvent& event) {
    const PodPtr& other = event.oldPod ? event.oldPod : event.newPod;
    return other && other->pod->metadata.namespace_ == pod.pod->metadata.namespace_ ? Hint::Queue
                                                                                    : Hint::Skip;
  };
  const auto about = [](const PodInfo& pod, const ClusterEvent& event) {
    const auto before = event.before<AllowanceLimit>(), after = event.after<AllowanceLimit>();
    const auto& object = after ? after : before;
    return object && object->metadata.namespace_ == pod.pod->metadata.namespace_ ? Hint::Queue
                                                                                 : Hint::Skip;
  };
  return {{EventResource::Pod, action::kDelete | action::kUpdatePodScaleDown, "", nextTo},
          {EventResource::Custom, action::kAll,
           std::string(KindOf<AllowanceLimit>::value.customResource), about}};
}

}  // namespace koord::scheduler::testing
