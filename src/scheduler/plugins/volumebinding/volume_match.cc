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
      options.push_back(
          {volume, model::storageOf(*volume), isReservedFor(*volume, claim), whereUsable(*volume)});
  });
  std::ranges::sort(options, [](const VolumeOption& a, const VolumeOption& b) {
    if (a.reserved != b.reserved) return a.reserved;
    if (a.size != b.size) return a.size < b.size;
    return a.volume->metadata.name < b.volume->metadata.name;
  });
  if (!options.empty() && options.front().reserved)
    options.erase(options.begin() + 1, options.end());
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

}  // namespace koord::scheduler
