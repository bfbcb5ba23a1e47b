#include "scheduler/plugins/volumebinding/volume_match.h"

#include <algorithm>

#include "scheduler/framework/storage.h"

namespace koord::scheduler {

std::optional<api::NodeSelectorMatcher> whereUsable(const api::PersistentVolume& volume) {
  if (!volume.spec.nodeAffinity || !volume.spec.nodeAffinity->required) return std::nullopt;
  return api::NodeSelectorMatcher::compileLazily(*volume.spec.nodeAffinity->required);
}

std::vector<VolumeOption> optionsFor(const api::PersistentVolumeClaim& claim,
                                     const AssumedStore<api::PersistentVolume>& volumes) {
  const auto selector = model::selectorOf(claim);
  const std::string className = classNameOf(claim);
  std::vector<VolumeOption> options;
  volumes.forEach([&](const VolumePtr& volume) {
    if (classNameOf(*volume) == className && model::suits(*volume, claim, selector))
      options.push_back({volume, isPromisedTo(*volume, claim), whereUsable(*volume)});
  });
  std::ranges::sort(options, [](const VolumeOption& a, const VolumeOption& b) {
    if (a.promised != b.promised) return a.promised;
    const Quantity ours = model::storageOf(*a.volume), theirs = model::storageOf(*b.volume);
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
