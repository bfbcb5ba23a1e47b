#include "scheduler/plugins/reservation/owners.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"

namespace koord::scheduler {

namespace {

bool agrees(const std::string& wanted, std::string_view is) {
  return wanted.empty() || wanted == is;
}

bool matchesObject(const api::ObjectReference& object, const api::Pod& pod) {
  return agrees(object.uid, pod.metadata.uid) && agrees(object.name, pod.metadata.name) &&
         agrees(object.namespace_, pod.metadata.namespace_) && agrees(object.apiVersion, "v1");
}

bool matchesController(const api::ReservationControllerReference& wanted, const api::Pod& pod) {
  if (!agrees(wanted.namespace_, pod.metadata.namespace_)) return false;
  return std::ranges::any_of(pod.metadata.ownerReferences, [&](const api::OwnerReference& owner) {
    return (!wanted.controller || *wanted.controller == owner.controller) &&
           agrees(wanted.uid, owner.uid) && agrees(wanted.name, owner.name) &&
           agrees(wanted.kind, owner.kind) && agrees(wanted.apiVersion, owner.apiVersion);
  });
}

void drop(std::vector<OwnersId>& ids, OwnersId id) {
  std::erase(ids, id);
}

}  // namespace

Result<OwnerMatcher> OwnerMatcher::compile(const api::List<api::ReservationOwner>& owners) {
  OwnerMatcher matcher;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Entry& entry = matcher.entries_.emplace_back();
    entry.owner = owners[i];
    if (!owners[i].labelSelector) continue;
    auto labels = api::Selector::compile(*owners[i].labelSelector);
    if (!labels) {
      return fail(
          Error(std::move(labels.error())).within(fmt::format("spec.owners[{}].labelSelector", i)));
    }
    entry.labels = *std::move(labels);
  }
  return matcher;
}

bool OwnerMatcher::Entry::matches(const api::Pod& pod) const {
  return (!owner.object || matchesObject(*owner.object, pod)) &&
         (!owner.controller || matchesController(*owner.controller, pod)) &&
         labels.matches(pod.metadata.labels);
}

bool OwnerMatcher::matches(const api::Pod& pod) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.matches(pod); });
}

bool OwnerMatcher::matchesByLabels(const api::Pod& pod) const {
  const auto selects = [&](const Entry& entry) {
    return entry.owner.labelSelector && entry.labels.matches(pod.metadata.labels);
  };
  return std::ranges::any_of(entries_, selects) && matches(pod);
}

bool OwnerIndex::selectsByLabels(OwnersId id, const api::Pod& pod) const {
  const auto list = lists_.find(id);
  return list != lists_.end() && list->second.matcher.matchesByLabels(pod);
}

std::vector<std::vector<OwnersId>*> OwnerIndex::placesOf(const OwnerMatcher::Entry& entry) {
  if (const auto& object = entry.owner.object) {
    if (!object->uid.empty()) return {&podUids_[object->uid]};
    if (!object->name.empty()) return {&podNames_[object->name]};
  }
  if (const auto& controller = entry.owner.controller) {
    if (!controller->uid.empty()) return {&controllers_[controller->uid]};
    if (!controller->name.empty()) return {&controllers_[controller->name]};
  }
  using Op = api::Selector::Op;
  for (const auto& requirement : entry.labels.requirements()) {
    if (requirement.op != Op::In && requirement.op != Op::Equals &&
        requirement.op != Op::DoubleEquals)
      continue;
    std::vector<std::vector<OwnersId>*> places;
    for (const std::string& value : requirement.values)
      places.push_back(&labels_[requirement.key][value]);
    return places;
  }
  return {&anything_};
}

template <class F>
void OwnerIndex::forEachPlace(const OwnerMatcher& matcher, F&& fn) {
  for (const auto& entry : matcher.entries_)
    for (std::vector<OwnersId>* place : placesOf(entry)) fn(*place);
}

OwnersId OwnerIndex::add(const api::List<api::ReservationOwner>& owners, std::string& error) {
  std::string text;
  for (const api::ReservationOwner& owner : owners) text += toJson(api::encode(owner)) + "\n";
  if (const auto known = byText_.find(text); known != byText_.end()) {
    ++lists_.at(known->second).users;
    return known->second;
  }
  auto matcher = OwnerMatcher::compile(owners);
  if (!matcher) {
    error = matcher.error().message;
    return kNoOwners;
  }
  const OwnersId id = ++last_;
  ++version_;
  List& list = lists_[id];
  list = {*std::move(matcher), text, 1};
  byText_.emplace(std::move(text), id);
  forEachPlace(list.matcher, [&](std::vector<OwnersId>& place) { place.push_back(id); });
  return id;
}

void OwnerIndex::release(OwnersId id) {
  const auto list = lists_.find(id);
  if (list == lists_.end() || --list->second.users > 0) return;
  ++version_;
  forEachPlace(list->second.matcher, [&](std::vector<OwnersId>& place) { drop(place, id); });
  const auto dropUnusedEntry = [](OwnersByLabel& filed) {
    std::erase_if(filed, [](const auto& entry) { return entry.second.empty(); });
  };
  for (const auto& entry : list->second.matcher.entries_) {
    for (const auto& requirement : entry.labels.requirements()) {
      const auto values = labels_.find(requirement.key);
      if (values == labels_.end()) continue;
      for (const std::string& value : requirement.values)
        if (const auto place = values->second.find(value);
            place != values->second.end() && place->second.empty())
          values->second.erase(place);
      if (values->second.empty()) labels_.erase(values);
    }
  }
  if (podUids_.size() + podNames_.size() + controllers_.size() > 2 * lists_.size() + 64)
    for (OwnersByLabel* filed : {&podUids_, &podNames_, &controllers_}) dropUnusedEntry(*filed);
  byText_.erase(list->second.text);
  lists_.erase(list);
}

std::vector<OwnersId> OwnerIndex::matching(const api::Pod& pod) const {
  std::vector<OwnersId> ids;
  const auto take = [&](const std::vector<OwnersId>& filed) {
    ids.insert(ids.end(), filed.begin(), filed.end());
  };
  const auto takeFrom = [&](const OwnersByLabel& filed, std::string_view key) {
    if (filed.empty()) return;
    if (const auto place = filed.find(key); place != filed.end()) take(place->second);
  };
  if (!labels_.empty()) {
    for (const auto& [key, value] : pod.metadata.labels)
      if (const auto values = labels_.find(key); values != labels_.end())
        takeFrom(values->second, value);
  }
  takeFrom(podUids_, pod.metadata.uid);
  takeFrom(podNames_, pod.metadata.name);
  for (const api::OwnerReference& owner : pod.metadata.ownerReferences) {
    takeFrom(controllers_, owner.uid);
    takeFrom(controllers_, owner.name);
  }
  take(anything_);
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  std::erase_if(ids, [&](OwnersId id) { return !lists_.at(id).matcher.matches(pod); });
  return ids;
}

}  // namespace koord::scheduler
