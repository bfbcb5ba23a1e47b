#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apiserver/managed/managed_fields.h"
#include "apiserver/objects/edit.h"

// Ownership of fields, write by write. An entry of managedFields is a manager's set of fields. A
// field may have several owners if they agree on its value.
//
// Update: the manager that changes a field becomes its only owner. The difference between the
// object before and after is a set of fields; it is subtracted from all managers and added to the
// writer.
//
// Apply: the configuration is the set of fields that the manager wants to own. (1) Merge it over
// the live object. (2) Prune: remove the fields of the manager's last configuration that it has
// dropped, unless another manager owns them. (3) The difference between live and merged,
// intersected with the fields of other managers, are the conflicts: rejected, or taken over if
// forced. (4) The manager's set becomes the fields of the configuration.
//
// Prune is the hard part. Removing a field removes the fields below it, which others may own, and
// removing the keys of a list element removes the element. So there are three steps: remove all
// fields that the manager owned, compute which of the missing fields have an owner, and remove only
// the rest. Then do the same for removed fields that the manager never owned. Each step is a set
// operation on trees of fields.
//
// Cost: one walk over both objects per write and a merge of sorted trees per entry. An update does
// not add owners to an object whose owners are unknown or were reset. Rules: managedfields of
// k8s.io/apimachinery and merge/update.go of structured-merge-diff.

namespace koord::apiserver {
namespace {

using api::FieldSet;

constexpr std::string_view kAncient = "ancient-changes";
constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kKubectl = "kubectl";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

void dropEmpty(ManagedFields& managed) {
  std::erase_if(managed, [](const ManagedEntry& entry) { return entry.fields.empty(); });
}

ManagedEntry* entryOf(ManagedFields& managed, const ManagedEntry& like) {
  const auto it = std::ranges::find_if(
      managed, [&](const ManagedEntry& entry) { return entry.sameManager(like); });
  return it == managed.end() ? nullptr : &*it;
}

ManagedEntry entryFor(const ManagedWrite& write, bool applied) {
  return {write.manager, applied, write.apiVersion, write.now, write.subresource, {}};
}

// The fields that a write took over from other managers.
struct Taken {
  const ManagedEntry* owner = nullptr;
  FieldSet fields;
};

std::vector<Taken> takenFrom(const ManagedFields& managed, const ManagedEntry* self,
                             const api::FieldChanges& changes) {
  std::vector<Taken> out;
  const auto touched = unite(changes.added, changes.modified);
  for (const auto& entry : managed) {
    if (&entry == self) continue;
    if (auto fields = intersect(entry.fields, touched); !fields.empty())
      out.push_back({&entry, std::move(fields)});
  }
  return out;
}

void giveUp(ManagedFields& managed, const ManagedEntry* self, const api::FieldChanges& changes) {
  if (managed.empty()) return;
  const auto lost = unite(unite(changes.added, changes.modified), changes.removed);
  for (auto& entry : managed)
    if (&entry != self) entry.fields = subtract(std::move(entry.fields), lost);
}

// Merges the oldest updates into one entry per version if there are too many.
void limitUpdates(ManagedFields& managed) {
  auto updates = static_cast<std::size_t>(
      std::ranges::count_if(managed, [](const ManagedEntry& entry) { return !entry.applied; }));
  if (updates <= kMaxUpdateManagers) return;
  std::ranges::stable_sort(managed, {}, &ManagedEntry::time);
  ManagedFields out;
  struct Bucket {
    std::size_t place = 0;  // of the version's oldest update
    std::vector<FieldSet> more;
  };
  std::map<std::string, Bucket> buckets;  // by version
  for (auto& entry : managed) {
    const auto bucket = buckets.find(entry.apiVersion);
    if (entry.applied || updates <= kMaxUpdateManagers || bucket == buckets.end()) {
      if (!entry.applied) buckets.try_emplace(entry.apiVersion, Bucket{out.size(), {}});
      out.push_back(std::move(entry));
      continue;
    }
    auto& oldest = out[bucket->second.place];
    oldest.manager = kAncient;
    oldest.subresource.clear();
    oldest.time = entry.time;
    bucket->second.more.push_back(std::move(entry.fields));
    --updates;
  }
  for (auto& [version, bucket] : buckets) {
    auto& fields = out[bucket.place].fields;
    fields = unite(std::move(fields), uniteAll(std::move(bucket.more)));
  }
  managed = std::move(out);
}

std::string shownManager(const ManagedEntry& entry) {
  std::string out = toJson(json::value(json::string_view(entry.manager)));
  if (!entry.subresource.empty()) out += fmt::format(" with subresource \"{}\"", entry.subresource);
  if (!entry.applied) out += " using " + entry.apiVersion;
  return out;
}

Failure conflictFailure(const std::vector<Taken>& taken) {
  Failure failure(ErrorCode::Conflict, "");
  std::map<std::string, std::vector<std::string>> byManager;
  for (const auto& [owner, fields] : taken) {
    const auto name = shownManager(*owner);
    for (auto& path : pathsOf(fields)) {
      failure.causes.push_back({"FieldManagerConflict", "conflict with " + name, path});
      byManager[name].push_back(std::move(path));
    }
  }
  auto& message = failure.error.message;
  if (failure.causes.size() == 1) {
    const auto& cause = failure.causes.front();
    message = fmt::format("Apply failed with 1 conflict: {}: {}", cause.message, cause.field);
    return failure;
  }
  for (const auto& [manager, paths] : byManager) {
    message += fmt::format("{}conflicts with {}:", message.empty() ? "" : "\n", manager);
    for (const auto& path : paths) message += "\n- " + path;
  }
  message = fmt::format("Apply failed with {} conflicts: {}", failure.causes.size(), message);
  return failure;
}

// Removes fields from the merged object that the manager applied last time but not now, and that
// have no other owner.
json::value prune(json::value merged, const FieldSet& last, const ManagedFields& managed,
                  const api::Schema* schema) {
  if (last.empty()) return merged;
  const auto structs = [&](const FieldSet& set) { return withStructs(set, schema); };
  std::vector<FieldSet> sets;
  for (const auto& entry : managed) sets.push_back(entry.fields);
  const FieldSet owned = uniteAll(std::move(sets));
  const auto before = structs(fieldsOf(merged, schema));
  const auto fieldsLeft = [&](const json::value& object) {
    return structs(fieldsOf(object, schema));
  };

  auto pruned = removeFields(merged, structs(last), schema);
  if (pruned.is_null()) pruned = json::object{};
  // Restores fields with an owner ...
  pruned =
      removeFields(merged, subtract(before, unite(fieldsLeft(pruned), structs(owned))), schema);
  if (pruned.is_null()) pruned = json::object{};
  // ... and fields that were removed with them and that this manager never owned.
  return removeFields(merged, intersect(subtract(before, fieldsLeft(pruned)), structs(last)),
                      schema);
}

// Fields that kubectl's client-side apply wrote and that have not changed since: kubectl may take
// them over.
FieldSet lastAppliedFields(const json::value& live, const api::Schema* schema) {
  const auto text = textAt(live, "metadata", "annotations", kLastApplied);
  if (text.empty()) return {};
  auto config = parseJson(text);
  if (!config || !config->is_object()) return {};
  const auto changes = compareFields(live, *config, schema);
  auto fields = fieldsOf(*config, schema);
  for (const auto* gone : {&changes.modified, &changes.added, &changes.removed})
    fields = subtract(std::move(fields), *gone);
  return fields;
}

// Keeps kubectl's last-applied annotation up to date after its server-side apply.
void followLastApplied(json::value& object, const json::value& config) {
  if (textAt(object, "metadata", "annotations", kLastApplied).empty()) return;
  json::value record = config;
  if (auto* metadata = find(record, "metadata"))
    if (auto* annotations = find(*metadata, "annotations"); annotations && annotations->is_object())
      eraseMember(annotations->get_object(), kLastApplied);
  object.get_object()["metadata"].get_object()["annotations"].get_object()[kLastApplied] =
      toJson(record) + "\n";
}

}  // namespace

const FieldSet& systemFields() {
  static const FieldSet fields = [] {
    FieldSet out;
    for (const auto* name : {"apiVersion", "kind", "metadata"})
      out = unite(std::move(out), api::fieldSetOf({name}));
    for (const auto* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                             "generation", "managedFields", "resourceVersion"})
      out = unite(std::move(out), api::fieldSetOf({"metadata", name}));
    return out;
  }();
  return fields;
}

api::FieldChanges changesOf(const json::value& before, const json::value& after,
                            const ManagedWrite& write) {
  auto changes = compareFields(before, after, write.schema);
  if (write.ignored)
    for (auto* set : {&changes.added, &changes.modified, &changes.removed})
      *set = subtractBelow(std::move(*set), *write.ignored);
  return changes;
}

void noteUpdate(ManagedFields& managed, api::FieldChanges changes, const ManagedWrite& write) {
  const auto entry = entryFor(write, false);
  giveUp(managed, nullptr, changes);
  auto own = subtract(unite(std::move(changes.added), changes.modified), systemFields());
  if (!own.empty()) {
    auto* mine = entryOf(managed, entry);
    if (!mine) mine = &managed.emplace_back(entry);
    mine->time = write.now;
    mine->fields = mine->fields.empty() ? std::move(own) : unite(std::move(mine->fields), own);
  }
  dropEmpty(managed);
  limitUpdates(managed);
}

Outcome<json::value> applyConfig(ManagedFields& managed, const json::value& live,
                                 const json::value& config, const ManagedWrite& write, bool force) {
  if (managed.empty() && !textAt(live, "metadata", "uid").empty()) {
    // No field has a known owner, so one unnamed manager gets all of them.
    auto before = write;
    before.manager = kBeforeFirstApply;
    before.subresource.clear();
    before.ignored = nullptr;
    noteUpdate(managed, changesOf(json::object{}, live, before), before);
  }
  json::value merged = mergeFields(live, config, write.schema);
  const auto entry = entryFor(write, true);
  auto* self = entryOf(managed, entry);
  if (!self) self = &managed.emplace_back(entry);
  const FieldSet last = std::move(self->fields);
  self->apiVersion = write.apiVersion;
  self->time = write.now;
  self->fields = fieldsOf(config, write.schema);
  if (write.ignored) self->fields = subtractBelow(std::move(self->fields), *write.ignored);
  merged = prune(std::move(merged), last, managed, write.schema);

  const auto changes = changesOf(live, merged, write);
  if (!force) {
    auto taken = takenFrom(managed, self, changes);
    if (!taken.empty() && write.manager == kKubectl) {
      const auto allowed = lastAppliedFields(live, write.schema);
      for (auto& one : taken) one.fields = subtract(std::move(one.fields), allowed);
      std::erase_if(taken, [](const Taken& one) { return one.fields.empty(); });
    }
    if (!taken.empty()) return refuse(conflictFailure(taken));
  }
  giveUp(managed, self, changes);
  self->fields = subtract(std::move(self->fields), systemFields());
  dropEmpty(managed);
  if (write.manager == kKubectl) followLastApplied(merged, config);
  return merged;
}

}  // namespace koord::apiserver
