#include "scheduler/oracle/filling.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "model/well_known.h"

namespace koord::scheduler::oracle {

namespace {

constexpr std::size_t kFirstPods = 16;  // of the first batch
constexpr std::size_t kMostPods = 2'048;

bool isPodGroup(const json::value& object) {
  return textAt(object, "kind") == "PodGroup";
}

bool isMember(const api::Pod& pod) {
  return pod.metadata.labels.contains(model::kLabelPodGroup) ||
         pod.metadata.labels.contains(model::kLabelPodGroupName) ||
         pod.metadata.annotations.contains(model::kAnnotationGangName) || pod.spec.schedulingGroup;
}

// Gives names of one copy to gangs.
class Renamer {
 public:
  Renamer(const Copy& copy, std::uint64_t number) : suffix_(fmt::format("-more-{}", number)) {
    for (const AskedPod& asked : copy.pods) {
      const api::ObjectMeta& meta = asked.pod->metadata;
      for (const std::string_view key : {model::kLabelPodGroup, model::kLabelPodGroupName})
        note(meta.namespace_, api::textIn(meta.labels, key));
      note(meta.namespace_, api::textIn(meta.annotations, model::kAnnotationGangName));
    }
  }

  std::string named(std::string_view name) const { return std::string(name) + suffix_; }

  void rename(api::Pod& pod) const {
    api::ObjectMeta& meta = pod.metadata;
    meta.uid = named(meta.uid);
    meta.name = named(meta.name);
    for (const std::string_view key : {model::kLabelPodGroup, model::kLabelPodGroupName})
      renameIn(meta.labels, key);
    renameIn(meta.annotations, model::kAnnotationGangName);
    const auto groups = meta.annotations.find(model::kAnnotationGangGroups);
    if (groups != meta.annotations.end()) groups->second = groupsText(groups->second);
    if (pod.spec.schedulingGroup)
      pod.spec.schedulingGroup->podGroupName = named(pod.spec.schedulingGroup->podGroupName);
  }

  json::value renamed(const json::value& group) const {
    json::value copy = group;
    json::value& metadata = copy.get_object()["metadata"];
    metadata.get_object()["name"] = named(textAt(group, "metadata", "name"));
    metadata.get_object()["uid"] = named(textAt(group, "metadata", "uid"));
    json::value* annotations = find(metadata, "annotations");
    json::value* groups = annotations ? find(*annotations, model::kAnnotationGangGroups) : nullptr;
    if (groups && groups->is_string())
      *groups = json::string(groupsText(std::string_view(groups->get_string())));
    return copy;
  }

 private:
  void note(std::string_view space, std::string_view gang) {
    if (!gang.empty()) gangs_.insert(fmt::format("{}/{}", space, gang));
  }

  void renameIn(api::StringMap& map, std::string_view key) const {
    const auto found = map.find(key);
    if (found != map.end()) found->second = named(found->second);
  }

  // A list of gangs that run together, as JSON: ["default/a", "default/b"].
  std::string groupsText(std::string_view text) const {
    auto list = parseJson(text);
    if (!list || !list->is_array()) return std::string(text);
    for (json::value& gang : list->get_array())
      if (gang.is_string() && gangs_.contains(std::string_view(gang.get_string())))
        gang = json::string(named(gang.get_string()));
    return toJson(*list);
  }

  const std::string suffix_;
  std::set<std::string, std::less<>> gangs_;  // of the copy
};

std::vector<Resources> requestsOf(const Copy& copy, Scheduler& scheduler) {
  std::vector<Resources> requests;
  for (const AskedPod& asked : copy.pods)
    requests.push_back(scheduler.describe(asked.pod)->request);
  return requests;
}

}  // namespace

Result<Copy> takeCopy(Expansion& expansion) {
  Copy copy;
  std::swap(copy.pods, expansion.pods);
  const std::uint64_t leftOut = std::exchange(expansion.leftOut, 0);
  if (copy.pods.empty())
    return fail(ErrorCode::Invalid,
                "spec.fill: the objects have no pods; add a pod or a workload with replicas");
  const std::string& of = copy.pods.front().of;
  copy.whole = of.empty() ? copy.pods.size() > 1 : isMember(*copy.pods.front().pod);
  for (const AskedPod& asked : copy.pods)
    copy.whole = copy.whole || asked.of != of || isMember(*asked.pod);
  if (!copy.whole) copy.pods.resize(1);
  if (copy.whole && leftOut > 0)
    return fail(ErrorCode::Invalid,
                fmt::format("spec.fill: a copy has {} pods, and a simulation takes {}; ask about "
                            "fewer",
                            copy.pods.size() + leftOut, copy.pods.size()));
  for (AskedPod& asked : copy.pods) asked.pod->spec.preemptionPolicy = "Never";
  const auto groups = std::ranges::stable_partition(
      expansion.objects, [](const json::value& object) { return !isPodGroup(object); });
  std::ranges::move(groups, std::back_inserter(copy.groups));
  expansion.objects.erase(groups.begin(), groups.end());
  return copy;
}

Filling::Filling(Course& course, Copy copy, const std::string& pools)
    : course_(course),
      copy_(std::move(copy)),
      pools_(course.scheduler(), pools, requestsOf(copy_, course.scheduler())) {}

void Filling::run() {
  const std::size_t size = copy_.pods.size();
  std::size_t pods = kFirstPods;
  while (!full_) {
    const std::size_t left = (kMaxFilledPods - placed_.size()) / size;
    if (left == 0) return;
    const std::size_t copies = std::clamp<std::size_t>(pods / size, 1, left);
    if (add(copies)) {
      pods = std::min(2 * pods, kMostPods);
    } else {
      // Equal pods that were rejected find no node in a smaller batch, either.
      full_ = size == 1 || copies == 1;
      pods = copies * size / 4;
    }
  }
}

void Filling::create(std::uint64_t number) {
  const Renamer renamer(copy_, number);
  for (const json::value& group : copy_.groups)
    (void)course_.server().create(renamer.renamed(group));  // it could be created before
  for (const AskedPod& asked : copy_.pods) {
    auto pod = std::make_shared<api::Pod>(*asked.pod);
    renamer.rename(*pod);
    course_.add({std::move(pod), asked.of});
  }
}

bool Filling::add(std::size_t copies) {
  const std::size_t size = copy_.pods.size();
  const std::size_t first = course_.pods().size();
  for (std::size_t i = 0; i < copies; ++i) create(++made_);
  course_.run();
  const std::span<const FollowedPod> pods(course_.pods());
  const auto isPlaced = [](const FollowedPod& pod) {
    return pod.state == FollowedPod::State::Placed;
  };
  const FollowedPod* refused = nullptr;
  std::vector<std::string> incomplete;  // uids
  for (std::size_t at = first; at < first + copies * size; at += size) {
    const auto copy = pods.subspan(at, size);
    if (std::ranges::all_of(copy, isPlaced)) {
      for (std::size_t i = 0; i < size; ++i) placed_.push_back(at + i);
      continue;
    }
    for (const FollowedPod& pod : copy) {
      if (!refused && !isPlaced(pod)) refused = &pod;
      if (refused != &pod) incomplete.push_back(pod.uid);
    }
  }
  if (!refused) return true;
  // The scheduler adds that its pods may not preempt, which is so because of takeCopy().
  message_ = refused->message.substr(0, refused->message.find(" preemption: "));
  explain(*refused, incomplete);
  return false;
}

void Filling::explain(const FollowedPod& refused, std::span<const std::string> others) {
  const auto& pendingPods = course_.scheduler().pendingPods();
  const auto pending = pendingPods.find(refused.uid);
  const PodPtr pod = pending == pendingPods.end() ? nullptr : pending->second;
  course_.remove(others);
  // Without the others, it may have a node now, which is as free as it was.
  const bool isPlaced = refused.state == FollowedPod::State::Placed;
  if (isPlaced) course_.remove({&refused.uid, 1});
  if (pod) pools_.explain(pod);
  if (!isPlaced) course_.remove({&refused.uid, 1});
}

json::object Filling::describe() const {
  std::vector<std::string_view> nodes;
  nodes.reserve(placed_.size());
  for (const std::size_t pod : placed_) nodes.push_back(course_.pods()[pod].node);
  json::object out{{"copies", placed_.size() / copy_.pods.size()},
                   {"podsPerCopy", copy_.pods.size()},
                   {"pods", placed_.size()},
                   {"of", copy_.whole ? std::string() : copy_.pods.front().of},
                   {"full", full_}};
  if (!message_.empty()) out.emplace("message", message_);
  out.emplace("pools", pools_.describe(nodes));
  return out;
}

}  // namespace koord::scheduler::oracle
