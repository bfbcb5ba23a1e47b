#include "scheduler/plugins/volumebinding/volume_match.h"

#include <algorithm>

#include "scheduler/framework/storage.h"

namespace koord::scheduler {

namespace {

const std::string kFilesystem = "Filesystem";

const std::string& modeOf(const std::string& mode) {
  return mode.empty() ? kFilesystem : mode;
}

Quantity storageOf(const api::ResourceList& list) {
  const auto it = list.find("storage");
  return it == list.end() ? Quantity() : it->second;
}

}  // namespace

Quantity requestedStorage(const api::PersistentVolumeClaim& claim) {
  return storageOf(claim.spec.resources.requests);
}

bool isPromisedTo(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const auto& promise = volume.spec.claimRef;
  return promise && promise->name == claim.metadata.name &&
         promise->namespace_ == claim.metadata.namespace_ &&
         (promise->uid.empty() || promise->uid == claim.metadata.uid);
}

std::optional<api::NodeSelectorMatcher> whereUsable(const api::PersistentVolume& volume) {
  if (!volume.spec.nodeAffinity || !volume.spec.nodeAffinity->required) return std::nullopt;
  return api::NodeSelectorMatcher::compileLazily(*volume.spec.nodeAffinity->required);
}

std::vector<VolumeOption> optionsFor(const api::PersistentVolumeClaim& claim,
                                     const AssumedStore<api::PersistentVolume>& volumes) {
  const Quantity wanted = requestedStorage(claim);
  const std::string className = classNameOf(claim);
  std::optional<api::Selector> selector;
  if (claim.spec.selector)
    selector = api::Selector::compile(*claim.spec.selector).value_or(api::Selector::nothing());
  std::vector<VolumeOption> options;
  volumes.forEach([&](const VolumePtr& volume) {
    const api::PersistentVolumeSpec& spec = volume->spec;
    const bool promised = isPromisedTo(*volume, claim);
    if (classNameOf(*volume) != className || (spec.claimRef && !promised)) return;
    if (storageOf(spec.capacity) < wanted ||
        modeOf(spec.volumeMode) != modeOf(claim.spec.volumeMode))
      return;
    if (spec.volumeAttributesClassName != claim.spec.volumeAttributesClassName) return;
    if (volume->metadata.deletionTimestamp) return;
    if (!promised) {
      if (volume->status.phase != "Available") return;
      if (selector && !selector->matches(volume->metadata.labels)) return;
      const bool modes = std::ranges::all_of(claim.spec.accessModes, [&](const std::string& mode) {
        return std::ranges::find(spec.accessModes, mode) != spec.accessModes.end();
      });
      if (!modes) return;
    }
    options.push_back({volume, promised, whereUsable(*volume)});
  });
  std::ranges::sort(options, [](const VolumeOption& a, const VolumeOption& b) {
    if (a.promised != b.promised) return a.promised;
    const Quantity ours = storageOf(a.volume->spec.capacity),
                   theirs = storageOf(b.volume->spec.capacity);
    if (ours != theirs) return ours < theirs;
    return a.volume->metadata.name < b.volume->metadata.name;
  });
  return options;
}

bool allowsTopology(const std::vector<api::TopologySelectorTerm>& terms,
                    const api::StringMap& labels) {
  return terms.empty() || std::ranges::any_of(terms, [&](const api::TopologySelectorTerm& term) {
           return !term.matchLabelExpressions.empty() &&
                  std::ranges::all_of(term.matchLabelExpressions, [&](const auto& expression) {
                    const auto* value = api::findIn(labels, expression.key);
                    return value &&
                           std::ranges::find(expression.values, *value) != expression.values.end();
                  });
         });
}

bool hasCapacity(const Store<api::CSIDriver>& drivers,
                 const Store<api::CSIStorageCapacity>& capacities, const api::StorageClass& class_,
                 const api::PersistentVolumeClaim& claim, const api::StringMap& labels) {
  if (!claim.spec.resources.requests.contains("storage")) return true;
  const auto driver = drivers.get({"", class_.provisioner});
  if (!driver || !driver->spec.storageCapacity) return true;
  const std::int64_t wanted = requestedStorage(claim).value();
  return std::ranges::any_of(capacities.all(), [&](const auto& entry) {
    const api::CSIStorageCapacity& capacity = *entry.second;
    if (capacity.storageClassName != class_.metadata.name || !capacity.nodeTopology) return false;
    const auto& limit = capacity.maximumVolumeSize ? capacity.maximumVolumeSize : capacity.capacity;
    if (!limit || limit->value() < wanted) return false;
    const auto where = api::Selector::compile(*capacity.nodeTopology);
    return where && where->matches(labels);
  });
}

}  // namespace koord::scheduler
