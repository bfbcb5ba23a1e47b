#include "simulation/departures.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "api/codec.h"
#include "base/json.h"
#include "simulation/feature.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

using namespace std::chrono_literals;
using scheduler::testing::Reference;

namespace {

constexpr const char* kServed = "it has a place";
// The time in which a pod whose victims are gone must have its place: a back-off, and the attempts
// of others.
constexpr Duration kPlaceSoon = 45s;

std::int32_t priorityOfPod(const api::Pod& pod) {
  return pod.spec.priority.value_or(0);
}

bool leaves(const api::Pod& pod) {
  return pod.metadata.deletionTimestamp.has_value();
}

std::string nameOf(const api::Pod& pod) {
  return fmt::format("{} ({})", pod.metadata.name, priorityOfPod(pod));
}

// The fields that the scheduler decides by.
std::string essence(const api::Pod& pod) {
  const json::value document = api::encodeObject(pod);
  const auto* spec = at(document, "spec");
  const auto* labels = at(document, "metadata", "labels");
  return toJson(json::array{spec ? *spec : json::value(), labels ? *labels : json::value()});
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "nobody" : fmt::format("{}", fmt::join(names, ", "));
}

// Returns true if removing pods can change the reasons.
bool isAboutCapacity(const std::vector<std::string>& reasons) {
  return std::ranges::all_of(reasons, [](const std::string& reason) {
    return reason.starts_with("Insufficient ") || reason == "Too many pods";
  });
}

}  // namespace

std::string Departures::Departure::names() const {
  std::vector<std::string> all;
  for (const PodObject& victim : victims) all.push_back(nameOf(*victim));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string Departures::groupOf(const api::Pod& pod) const {
  for (const auto& feature : invariants_->features())
    if (std::string group = feature->groupState(pod); !group.empty()) return group;
  return "";
}

void Departures::told(const std::string& process, scheduler::Handle& handle,
                      const scheduler::PodInfo& preemptor,
                      std::span<const scheduler::PodPtr> victims) {
  // The process stores only a part of the pods' fields.
  const PodObject stored = invariants_->stored(*preemptor.pod);
  Departure departure{process, loop_.steadyNow(), stored ? stored : preemptor.pod,
                      groupOf(*preemptor.pod)};
  for (const auto& victim : victims) {
    const auto* record = handle.cluster().findPod(victim->uid());
    if (record) departure.awaited.push_back(victim->pod);
    if (!record || leaves(*record->info->pod)) continue;
    departure.node = handle.cluster().node(record->node).name;
    if (const auto& object = handle.cluster().node(record->node).object)
      departure.nodeVersion = object->metadata.resourceVersion;
    departure.victims.push_back(victim->pod);
    for (const auto& there : handle.cluster().node(record->node).pods)
      departure.known.insert(there->uid());
  }
  if (departure.victims.empty()) return;
  if (!departure.group.empty())
    for (const auto& pod : invariants_->sortedPods())
      if (const auto choices = decisions_.choices.find(pod->metadata.uid);
          choices != decisions_.choices.end() && groupOf(*pod) == departure.group)
        for (const Choice& choice : choices->second)
          if (choice.time == departure.since) departure.planned.insert(choice.node);
  journal_.note("{} has {} leave {} for {}", process, departure.names(), departure.node,
                nameOf(*preemptor.pod));
  for (const PodObject& victim : departure.victims)
    if (priorityOfPod(*victim) >= preemptor.priority)
      journal_.violated("who leaves matters less", "{} leaves {} for {}", nameOf(*victim),
                        departure.node, nameOf(*preemptor.pod));
  if (preemptor.pod->spec.preemptionPolicy == "Never")
    journal_.violated("who may preempt", "{} leaves for {}, whose preemptionPolicy is Never",
                      departure.names(), nameOf(*preemptor.pod));
  if (PlainReservations::isReservePod(*preemptor.pod))
    journal_.violated("who may preempt", "{} leaves for the Reservation {}", departure.names(),
                      nameOf(*preemptor.pod));
  for (const auto& feature : invariants_->features())
    feature->departing(*preemptor.pod, departure.victims);
  checkPlaces(departure, handle);
  if (stored) open_.push_back(std::move(departure));
}

void Departures::checkPlaces(const Departure& fresh, scheduler::Handle& handle) {
  const auto& uid = fresh.preemptor->metadata.uid;
  const std::string promised = handle.nominator().nodeOf(uid);
  for (const Departure& earlier : open_) {
    if (earlier.process != fresh.process || earlier.preemptor->metadata.uid != uid ||
        earlier.node == fresh.node || earlier.node != promised)
      continue;
    const auto node = handle.cluster().findNode(earlier.node);
    if (!node || !handle.cluster().live().contains(*node) ||
        handle.cluster().node(*node).object->metadata.resourceVersion != earlier.nodeVersion)
      continue;
    for (const PodObject& victim : earlier.victims) {
      const auto* record = handle.cluster().findPod(victim->metadata.uid);
      if (record && leaves(*record->info->pod))
        return journal_.violated(
            "one place at a time", "{} has {} leave {} while {} is about to leave {} for it",
            nameOf(*fresh.preemptor), fresh.names(), fresh.node, nameOf(*victim), earlier.node);
    }
  }
}

bool Departures::stillThere(const Departure& departure) const {
  return std::ranges::any_of(departure.awaited, [&](const PodObject& victim) {
    const auto now = invariants_->stored(*victim);
    return now && !api::isTerminal(*now) && !now->spec.nodeName.empty();
  });
}

bool Departures::underWay() const {
  return std::ranges::any_of(open_, [&](const Departure& departure) {
    return std::ranges::any_of(departure.awaited, [&](const PodObject& victim) {
      const auto now = invariants_->stored(*victim);
      return now && leaves(*now);
    });
  });
}

void Departures::tick(const std::string& leader) {
  const SteadyTime now = loop_.steadyNow();
  if (leader.empty() || leader != leader_) calmSince_ = now;
  leader_ = leader;
  for (Departure& departure : open_)
    if (!departure.gone && !stillThere(departure)) departure.gone = now;
  std::erase_if(open_, [&](const Departure& departure) {
    const std::string why = departure.gone ? excuse(departure) : "";
    if (why.empty()) return false;
    journal_.note("{} left {} for {}: {}", departure.names(), departure.node,
                  nameOf(*departure.preemptor), why);
    if (why == kServed)
      for (const PodObject& victim : departure.victims) served_.insert(victim->metadata.uid);
    return true;
  });
}

bool Departures::due() const {
  const SteadyTime now = loop_.steadyNow();
  return std::ranges::any_of(open_, [&](const Departure& departure) {
    return departure.gone && now - std::max(*departure.gone, calmSince_) > kPlaceSoon;
  });
}

std::string Departures::excuse(const Departure& departure) const {
  const auto now = invariants_->stored(*departure.preemptor);
  if (!now || api::isTerminal(*now) || leaves(*now)) return "it is gone";
  if (!now->spec.nodeName.empty()) return kServed;
  if (std::ranges::all_of(departure.victims, [&](const PodObject& victim) {
        return served_.contains(victim->metadata.uid);
      }))
    return "they left for others, too";
  if (essence(*now) != essence(*departure.preemptor)) return "it has changed";
  if (std::ranges::any_of(invariants_->features(), [&](const auto& feature) {
        return feature->rulesChanged(departure.node) >= departure.since;
      }))
    return "other rules hold now";
  if (groupOf(*now) != departure.group) return "its group has changed";
  // Another invariant ("what is chosen is had") finds places that are dropped without an error.
  const auto choices = decisions_.choices.find(now->metadata.uid);
  if (departure.group.empty() && choices != decisions_.choices.end() &&
      std::ranges::any_of(choices->second, [&](const Choice& choice) {
        return choice.node == departure.node && choice.time >= departure.since;
      }))
    return "it had its place, and the binding failed";
  const auto node = invariants_->nodes.get({"", departure.node});
  if (!node || node->metadata.resourceVersion != departure.nodeVersion)
    return "the node has changed";
  // Its node was nominated for a unit of higher priority, or such a unit has been there.
  for (const Departure& other : open_)
    if (&other != &departure && other.node == departure.node && other.since >= departure.since &&
        priorityOfPod(*other.preemptor) > priorityOfPod(*departure.preemptor))
      return "somebody matters more";
  // A plan for a group relies on the nodes of all members.
  std::set<std::string> nodes = departure.planned;
  nodes.insert(departure.node);
  for (const std::string& name : nodes)
    for (const auto& came : invariants_->arrivalsOn(name, departure.since))
      if (came.process != departure.process || priorityOfPod(*came.pod) > priorityOfPod(*now))
        return "somebody matters more, or was placed by who did not know";
  // Units that other processes had bound there, or that the simulation put there, and that were not
  // seen yet.
  const auto former =
      invariants_->arrivalsOn(departure.node, decisions_.starts.at(departure.process));
  for (const auto& pod : invariants_->pods.objects()) {
    if (pod->spec.nodeName != departure.node || departure.known.contains(pod->metadata.uid))
      continue;
    if (pod->metadata.labels.contains(kForeign) ||
        std::ranges::any_of(former, [&](const auto& came) {
          return came.pod->metadata.uid == pod->metadata.uid && came.process != departure.process;
        }))
      return "somebody was there whom it did not know";
  }
  return "";
}

void Departures::judge(const Model& model, bool final) {
  const SteadyTime now = loop_.steadyNow();
  for (const Departure& departure : open_)
    if (departure.gone && (final || now - std::max(*departure.gone, calmSince_) > kPlaceSoon) &&
        excuse(departure).empty())
      check(departure, model);
  if (!final)
    std::erase_if(open_, [&](const Departure& departure) {
      return departure.gone && now - std::max(*departure.gone, calmSince_) > kPlaceSoon;
    });
}

void Departures::check(const Departure& departure, const Model& model) {
  const api::Pod& pod = *departure.preemptor;
  const bool together = std::ranges::any_of(
      invariants_->features(), [&](const auto& feature) { return feature->placesTogether(pod); });
  if (together && departure.group.empty()) return;
  if (std::ranges::any_of(model.nodes,
                          [&](const auto& node) { return model.isUndecided(pod, *node.second); }))
    return;
  // Plain evaluation cannot follow what happens to volumes meanwhile.
  if (!pod.spec.volumes.empty()) return;
  const Reference reference(model, pod);
  if (!departure.group.empty())
    return journal_.violated("nobody leaves in vain", "{} left {} for {} of {}, which still waits",
                             departure.names(), departure.node, nameOf(pod), departure.group);
  const auto& outcome = reference.outcome();
  if (!outcome.feasible.empty())
    return journal_.violated(
        "nobody leaves in vain", "{} left {} for {}, which fits on {} and still waits",
        departure.names(), departure.node, nameOf(pod), *outcome.feasible.begin());
  const auto& reasons = outcome.reasons.at(departure.node);
  if (!isAboutCapacity(reasons)) return;
  std::vector<std::string> there, promised;
  for (const auto& [uid, other] : model.pods)
    if (other->spec.nodeName == departure.node)
      there.push_back(nameOf(*other) + (departure.known.contains(uid) ? "" : " (new)"));
  if (const auto it = model.nominated.find(departure.node); it != model.nominated.end())
    for (const auto& other : it->second) promised.push_back(nameOf(*other));
  journal_.violated("nobody leaves in vain",
                    "{} left {} for {}, which does not fit: {}; there are {}, promised to {}",
                    departure.names(), departure.node, nameOf(pod), fmt::join(reasons, ", "),
                    listed(there), listed(promised));
}

}  // namespace koord::simulation
