#include <fmt/format.h>

#include <charconv>

#include "scheduler/testing/small_plugins.h"

namespace koord::scheduler::testing {

namespace {

CpuSet setIn(const api::StringMap& annotations, const char* key) {
  const auto* text = api::findIn(annotations, key);
  return text ? CpuSet::parse(*text).value_or(CpuSet()) : CpuSet();
}

}  // namespace

CpuSet SlotLedger::free(NodeId node) const {
  const auto& object = cluster_.node(node).object;
  const CpuSet all = object ? setIn(object->metadata.annotations, Slots::kSlots) : CpuSet();
  const auto it = taken.find(node);
  return it == taken.end() ? all : all.difference(it->second);
}

std::optional<CpuSet> SlotLedger::readValue(const PodInfo& pod, NodeId, const CpuSet*) {
  CpuSet slots = setIn(pod.pod->metadata.annotations, Slots::kSlots);
  return slots.empty() ? std::nullopt : std::optional(std::move(slots));
}

void SlotLedger::addValue(NodeId node, const PodInfo&, const CpuSet& slots) {
  taken[node] = taken[node].unionWith(slots);
}

// Two pods may have the same slot for a moment: after a relist, added pods are delivered before
// removed ones.
void SlotLedger::removeValue(NodeId node, const PodInfo& pod, const CpuSet& slots) {
  CpuSet freed = slots;
  for (const PodPtr& other : cluster_.node(node).pods) {
    if (other->uid() == pod.uid()) continue;
    if (const CpuSet* theirs = in(cluster_.findPod(other->uid())->grants))
      freed = freed.difference(*theirs);
  }
  taken[node] = taken[node].difference(freed);
}

std::string SlotLedger::verifyValues(NodeId node, Held held) const {
  CpuSet counted;
  for (const auto& [pod, slots] : held) counted = counted.unionWith(*slots);
  const auto it = taken.find(node);
  const CpuSet kept = it == taken.end() ? CpuSet() : it->second;
  if (kept == counted) return "";
  return fmt::format("kept {}, counted {}; ", kept.toString(), counted.toString());
}

Slots::Slots(Handle& handle) : cluster_(handle.cluster()), ledger_(ledgerOf(handle)) {
  cluster_.watchNodeAnnotation(kSlots);
}

SlotLedger& Slots::ledgerOf(Handle& handle) {
  return handle.shared().of<SlotLedger>([&] {
    auto ledger = std::make_unique<SlotLedger>(handle.cluster());
    handle.cluster().addLedger(*ledger);
    return ledger;
  });
}

int Slots::wantedBy(const PodInfo& pod) {
  const auto* text = api::findIn(pod.pod->metadata.annotations, kWants);
  int wanted = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), wanted);
  return wanted;
}

const CpuSet* Slots::slotsOf(const PodInfo& pod) const {
  const auto* record = cluster_.findPod(pod.uid());
  return record ? ledger_.in(record->grants) : nullptr;
}

void Slots::sign(const PodInfo& pod, Signature& signature) const {
  signature.add(std::int64_t{wantedBy(pod)});
}

Status Slots::filter(const CycleState&, const PodInfo& pod, NodeFilter& nodes) {
  nodes.forEach([&](NodeId node) {
    if (ledger_.free(node).size() < wantedBy(pod))
      nodes.reject(node, Code::Unschedulable, "Insufficient slots");
  });
  return {};
}

Status Slots::reserve(CycleState&, const PodPtr& pod, NodeId node) {
  CpuSet slots;
  ledger_.free(node).forEach([&](int slot) {
    if (slots.size() < wantedBy(*pod)) slots.add(slot);
  });
  if (!slots.empty()) cluster_.regrant(pod->uid(), ledger_.id(), SlotLedger::grantOf(slots));
  return {};
}

Status Slots::preBindPreFlight(CycleState&, const PodPtr& pod, NodeId) {
  return slotsOf(*pod) ? Status() : Status::skip();
}

Task<Status> Slots::preBind(CycleState& state, PodPtr pod, NodeId) {
  const CpuSet* slots = slotsOf(*pod);
  if (!slots) co_return Status::error("the pod has lost its slots");
  state.annotations()[kSlots] = slots->toString();
  co_return Status{};
}

std::vector<EventRegistration> Slots::eventsToRegister() const {
  return {{EventResource::Pod, action::kDelete, "", {}},
          {EventResource::Node, action::kAdd | action::kUpdateNodeAnnotation, "", {}}};
}

std::string Slots::remedyFor(const PodInfo& pod, NodeId node) const {
  return fmt::format("{} slots fewer", wantedBy(pod) - ledger_.free(node).size());
}

std::vector<ServicePlugin::Route> Slots::routes() {
  return {{"nodes/", "nodes/:nodeName", [this](const std::string& name) -> Result<json::value> {
             const auto node = cluster_.findNode(name);
             if (!node) return fail(ErrorCode::NotFound, "cannot find node " + name);
             return json::value(json::object{{"free", ledger_.free(*node).toString()}});
           }}};
}

}  // namespace koord::scheduler::testing
