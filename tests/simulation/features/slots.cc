#include "simulation/features/slots.h"

#include "scheduler/testing/small_plugins.h"

namespace koord::simulation {

using scheduler::testing::Slots;

namespace {

CpuSet slotsOf(const api::ObjectMeta& meta) {
  return CpuSet::parse(textOf(meta.annotations, Slots::kSlots)).value_or(CpuSet());
}
int slotsWantedBy(const api::Pod& pod) {
  const std::string text = textOf(pod.metadata.annotations, Slots::kWants);
  return text.empty() ? 0 : std::stoi(text);
}

}  // namespace

void SlotsFeature::join(scheduler::Registry& registry) {
  registry[std::string(Slots::kName)] = [](scheduler::Fields&, scheduler::Handle& handle) {
    return std::make_unique<Slots>(handle);
  };
}

std::vector<std::string> SlotsFeature::plugins() const {
  return {std::string(Slots::kName)};
}

void SlotsFeature::shape(scheduler::testing::PodBuilder& pod) {
  if (random_.chance(0.3))
    pod.object().metadata.annotations[Slots::kWants] = pick({"1", "1", "2", "3"});
}

void SlotsFeature::shape(scheduler::testing::NodeBuilder& node) {
  if (random_.chance(0.8))
    node.object().metadata.annotations[Slots::kSlots] = pick({"0-1", "0-3", "1,4,7", "0-7"});
}

// A node gets other slots; some of the removed ones may be in use.
void SlotsFeature::act() {
  std::map<std::string, Invariants::NodeObject> sorted;
  for (const auto& node : invariants_.nodes.objects()) sorted[node->metadata.name] = node;
  if (sorted.empty()) return;
  const auto it =
      std::next(sorted.begin(), static_cast<std::ptrdiff_t>(random_.below(sorted.size())));
  const char* slots = pick({"", "0-1", "2-5", "0-7", "3"});
  journal_.note("node {} has slots {}", it->first, slots);
  patch(api::Node::kType, it->second->metadata,
        {{"metadata", {{"annotations", {{Slots::kSlots, slots}}}}}});
}

void SlotsFeature::addRules(scheduler::Handle& handle, const std::string&, Model& model) {
  const auto& ledger = Slots::ledgerOf(handle);
  auto given = std::make_shared<std::map<std::string, CpuSet>>();  // by uid
  for (const auto& record : handle.cluster().pods())
    if (const CpuSet* slots = ledger.in(record.grants)) (*given)[record.info->uid()] = *slots;
  model.rules.push_back([given](const Model& now, const api::Pod& pod, const api::Node& node) {
    CpuSet free = slotsOf(node.metadata);
    for (const auto& [uid, slots] : *given) {
      const auto there = now.pods.find(uid);
      if (there != now.pods.end() && there->second->spec.nodeName == node.metadata.name)
        free = free.difference(slots);
    }
    std::vector<std::string> reasons;
    if (free.size() < slotsWantedBy(pod)) reasons.emplace_back("Insufficient slots");
    return reasons;
  });
}

void SlotsFeature::told(const api::Pod& pod) {
  if (const CpuSet own = slotsOf(pod.metadata); !own.empty())
    journal_.note("pod {} has slots {}", pod.metadata.name, own.toString());
}

void SlotsFeature::bound(const api::Pod& pod, const Choice& choice) {
  const CpuSet own = slotsOf(pod.metadata);
  const std::string& name = pod.metadata.name;
  if (own.size() != slotsWantedBy(pod))
    journal_.violated("slots that are wanted", "{} wants {} and has {}", name, slotsWantedBy(pod),
                      own.toString());
  const CpuSet all = slotsOf(invariants_.versionsSince(choice).front()->metadata);
  if (!own.isSubsetOf(all))
    journal_.violated("slots that are there", "{} has {} of the {} on {}", name, own.toString(),
                      all.toString(), choice.node);
  for (const auto& other : invariants_.others(choice, choice.node))
    if (other->metadata.uid != pod.metadata.uid && slotsOf(other->metadata).intersects(own))
      journal_.violated("one pod per slot", "{} has {} and {} has {} on {}", name, own.toString(),
                        other->metadata.name, slotsOf(other->metadata).toString(), choice.node);
}

}  // namespace koord::simulation
