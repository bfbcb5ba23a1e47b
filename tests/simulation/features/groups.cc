#include "simulation/features/groups.h"

#include <algorithm>

#include "scheduler/testing/small_plugins.h"

namespace koord::simulation {

using scheduler::testing::Reference;
using scheduler::testing::Together;

namespace {

constexpr std::size_t kMaxGroupPods = 80;

std::string groupOf(const api::Pod& pod) {
  return textOf(pod.metadata.annotations, Together::kGroup);
}
std::size_t neededBy(const std::string& group) {
  return std::stoul(group.substr(group.find('/') + 1));
}

// Places members, which are alike, one after the other, each where it scores best. Returns how many
// fit if ties go to the first or to the last node.
std::size_t roomForGroup(Model model, const std::vector<PodObject>& members, bool first) {
  std::size_t placed = 0;
  for (const PodObject& member : members) {
    const Reference reference(model, *member);
    const auto& totals = reference.outcome().totals;
    if (totals.empty()) return placed;
    auto best = totals.begin();
    for (auto it = totals.begin(); it != totals.end(); ++it)
      if (it->second > best->second || (!first && it->second == best->second)) best = it;
    auto there = std::make_shared<api::Pod>(*member);
    there->spec.nodeName = best->first;
    model.pods[member->metadata.uid] = std::move(there);
    ++placed;
  }
  return placed;
}

}  // namespace

// Not in a constructor: not all features that are created are used, and the invariants outlives
// them.
void GroupsFeature::begin() {
  const auto seen = [this](const PodObject& pod) {
    if (placesTogether(*pod)) members_[groupOf(*pod)].insert(pod->metadata.uid);
  };
  invariants_.pods.addHandler({seen, [seen](const auto&, const auto& after) { seen(after); }, {}});
}

void GroupsFeature::join(scheduler::Registry& registry) {
  registry[std::string(Together::kName)] = [](scheduler::Fields&, scheduler::Handle& handle) {
    return std::make_unique<Together>(handle);
  };
}

std::vector<std::string> GroupsFeature::plugins() const {
  return {std::string(Together::kName)};
}

// A group is created, its members one by one; some groups are never complete, some have too many
// pods.
void GroupsFeature::act() {
  const std::uint64_t needed = 2 + random_.below(4);
  std::uint64_t count = needed;
  if (random_.chance(0.2)) count += 1;
  if (random_.chance(0.1)) count -= 1;
  if (invariants_.pods.size() + count > kMaxGroupPods) return;
  const std::string group = fmt::format("g{}/{}", ++lastGroup_, needed);
  const std::string cpu = pick({"500m", "1", "2"});
  const std::string priority = pick({"", "", "low", "high"});
  journal_.note("group {} of {} pods comes", group, count);
  for (std::uint64_t n = 0; n < count; ++n) {
    const bool gated = random_.chance(0.1);
    const auto wait = Duration(random_.chance(0.5) ? 0 : random_.below(4'000'000'000));
    loop_.runAfter(wait, [this, group, n, cpu, priority, gated] {
      createMember(group, static_cast<int>(n), cpu, priority, gated);
    });
  }
}

void GroupsFeature::createMember(const std::string& group, int n, const std::string& cpu,
                                 const std::string& priority, bool gated) {
  auto pod = scheduler::testing::aPod(fmt::format("{}-{}", group.substr(0, group.find('/')), n));
  pod.request("cpu", cpu).image("img:2");
  api::Pod& object = pod.object();
  object.metadata.uid.clear();
  object.metadata.resourceVersion.clear();
  object.metadata.annotations[Together::kGroup] = group;
  object.spec.priorityClassName = priority;
  if (gated) pod.gate("example.com/wait");
  create(api::Pod::kType, object.metadata.namespace_, api::encodeObject(object));
}

void GroupsFeature::addRules(scheduler::Handle&, const std::string&, Model& model) {
  model.sameGroup = [](const api::Pod& a, const api::Pod& b) {
    return !groupOf(a).empty() && groupOf(a) == groupOf(b);
  };
}

bool GroupsFeature::placesTogether(const api::Pod& pod) const {
  return !groupOf(pod).empty();
}

void GroupsFeature::chosen(scheduler::Handle&, const api::Pod& pod, const Model&, Choice& choice) {
  if (!placesTogether(pod)) return;
  chosen_[{choice.process, choice.time, groupOf(pod)}].insert(pod.metadata.uid);
}

void GroupsFeature::bound(const api::Pod& pod, const Choice& choice) {
  if (!placesTogether(pod)) return;
  const std::string group = groupOf(pod);
  std::set<std::string> have = chosen_[{choice.process, choice.time, group}];
  for (const std::string& uid : members_[group])
    if (choice.known.contains(uid)) have.insert(uid);
  if (have.size() < neededBy(group))
    journal_.violated("groups as a whole", "{} is bound with {} of group {}", pod.metadata.name,
                      have.size(), group);
}

std::string GroupsFeature::waitsInVain(const Model& model) {
  std::map<std::string, std::vector<PodObject>> waiting;
  for (const auto& pod : invariants_.sortedPods())
    if (placesTogether(*pod) && pod->spec.nodeName.empty() && pod->spec.schedulingGates.empty() &&
        !pod->metadata.deletionTimestamp)
      waiting[groupOf(*pod)].push_back(pod);
  for (const auto& [group, pods] : waiting) {
    std::size_t have = 0;
    for (const std::string& uid : members_[group]) have += model.pods.contains(uid);
    const std::size_t needed = std::max<std::size_t>(neededBy(group), have + 1);
    if (have + roomForGroup(model, pods, true) >= needed &&
        have + roomForGroup(model, pods, false) >= needed)
      return fmt::format("{} of group {} wait, though there is room", pods.size(), group);
  }
  return "";
}

}  // namespace koord::simulation
