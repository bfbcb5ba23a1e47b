#include "cluster/controllers/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <tuple>

#include "cluster/controllers/pod_control.h"
#include "kube/client.h"

namespace koord::cluster {

namespace {

// The patch that restores a set's template.
json::value patchTo(const json::value& podTemplate) {
  json::value replaced = podTemplate;
  if (!replaced.is_object()) replaced = json::object{};
  replaced.get_object()["$patch"] = "replace";
  return json::object{{"spec", {{"template", std::move(replaced)}}}};
}

}  // namespace

json::value templateOf(const api::ControllerRevision& revision) {
  const auto* held = at(revision.data, "spec", "template");
  json::value podTemplate = held ? *held : json::value(json::object{});
  if (auto* object = podTemplate.if_object()) object->erase("$patch");
  return podTemplate;
}

std::string History::hashOf(const api::ControllerRevision& revision) const {
  const auto* hash = api::findIn(revision.metadata.labels, hashLabel_);
  return hash ? *hash : "";
}

Task<Result<History::Revisions>> History::lookUp(Of set) {
  auto remembering = all(set);
  auto known = co_await remembering;
  if (!known) co_return fail(std::move(known.error()));
  auto finding = current(set, *known);
  auto found = co_await finding;
  if (!found) co_return fail(std::move(found.error()));
  co_return Revisions{*std::move(known), *std::move(found)};
}

Task<Result<std::vector<RevisionPtr>>> History::all(Of set) {
  const auto selector = ownSelector(set.selector);
  if (!selector) co_return fail(selector.error());
  std::vector<RevisionPtr> candidates;
  for (const auto& revision : revisions_.objects()) {
    const auto* owner = api::controllerOf(revision->metadata);
    if (owner ? owner->uid == set.owner.meta.uid
              : revision->metadata.namespace_ == set.owner.meta.namespace_ &&
                    selector->matches(revision->metadata.labels))
      candidates.push_back(revision);
  }
  std::vector<RevisionPtr> known;
  Claims claims(api_, set.owner, api::ControllerRevision::kType);
  for (auto& revision : candidates) {
    auto claiming = claims.claim({revision, &revision->metadata}, true);
    auto mine = co_await claiming;
    if (!mine) co_return fail(std::move(mine.error()));
    if (*mine) known.push_back(std::move(revision));
  }
  std::ranges::sort(known, {}, [](const auto& revision) {
    const auto& meta = revision->metadata;
    return std::tuple(revision->revision, meta.creationTimestamp, meta.name);
  });
  co_return known;
}

Task<Result<RevisionPtr>> History::current(Of set, std::vector<RevisionPtr> known) {
  const json::value data = patchTo(set.podTemplate);
  const auto same = std::find_if(known.rbegin(), known.rend(),
                                 [&](const auto& revision) { return revision->data == data; });
  const std::int64_t next = known.empty() ? 1 : known.back()->revision + 1;
  if (same == known.rend()) {
    auto creating = create(set, next);
    co_return co_await creating;
  }
  if (same == known.rbegin()) co_return *same;
  auto renumbering =
      kube::mergePatch(api_, api::ControllerRevision::kType, api::keyOf((*same)->metadata),
                       json::object{{"revision", next}});
  auto renumbered = co_await renumbering;
  if (!renumbered) co_return fail(std::move(renumbered.error()));
  auto revision = std::make_shared<api::ControllerRevision>(**same);
  revision->revision = next;
  co_return revision;
}

Task<Result<RevisionPtr>> History::create(Of set, std::int64_t number) {
  const auto* labels = at(set.podTemplate, "metadata", "labels");
  json::object annotations;
  for (const auto& [name, value] : set.owner.meta.annotations) annotations[name] = value;
  json::value document = json::object{{"apiVersion", "apps/v1"},
                                      {"kind", "ControllerRevision"},
                                      {"metadata",
                                       {{"namespace", set.owner.meta.namespace_},
                                        {"labels", labels ? *labels : json::value(json::object{})},
                                        {"annotations", std::move(annotations)},
                                        {"ownerReferences", controlledBy(set.owner)}}},
                                      {"data", patchTo(set.podTemplate)},
                                      {"revision", number}};
  for (int collisions = 0;; ++collisions) {
    const std::string hash = templateHash(set.podTemplate, collisions);
    setLabel(document, hashLabel_, hash);
    const auto name = fmt::format("{}-{}", set.owner.meta.name, hash);
    document.get_object()["metadata"].get_object()["name"] = name;
    auto making = createOrFind(api_, set.owner, api::ControllerRevision::kType, document);
    auto made = co_await making;
    if (!made && made.error().code == ErrorCode::AlreadyExists) continue;
    if (!made) co_return fail(std::move(made.error()));
    auto revision = api::decode<api::ControllerRevision>(made->object);
    if (!revision) co_return fail(std::move(revision.error()));
    co_return std::make_shared<const api::ControllerRevision>(*std::move(revision));
  }
}

Task<Result<>> History::trim(std::vector<RevisionPtr> known, std::set<std::string> inUse,
                             int limit) {
  std::erase_if(known, [&](const auto& revision) {
    return inUse.contains(revision->metadata.name) || inUse.contains(hashOf(*revision));
  });
  for (int i = 0; i < static_cast<int>(known.size()) - limit; ++i) {
    auto deleting = deleteIfExists(api_, api::ControllerRevision::kType,
                                   known[static_cast<std::size_t>(i)]->metadata);
    auto deleted = co_await deleting;
    if (!deleted) co_return deleted;
  }
  co_return Result<>{};
}

}  // namespace koord::cluster
