#include "model/extended_resource_spec.h"

#include <array>
#include <span>

#include "api/codec.h"
#include "model/well_known.h"

namespace koord::model {

namespace {

constexpr std::array kExtendedNames{kBatchCpu, kBatchMemory, kMidCpu, kMidMemory};

std::span<const std::string_view> namesOf(ExtendedResources extent) {
  return std::span(kExtendedNames)
      .first(extent == ExtendedResources::InFull ? kExtendedNames.size() : 2);
}

api::ResourceList only(std::span<const std::string_view> names, const api::ResourceList& list) {
  api::ResourceList found;
  for (const auto name : names)
    if (const auto it = list.find(name); it != list.end()) found.insert(*it);
  return found;
}

template <class Containers>
api::Map<ExtendedResourceContainer> ofContainers(std::span<const std::string_view> names,
                                                 const Containers& containers) {
  api::Map<ExtendedResourceContainer> result;
  for (const auto& container : containers) {
    ExtendedResourceContainer resources{only(names, container.resources.limits),
                                        only(names, container.resources.requests)};
    if (!resources.limits.empty() || !resources.requests.empty())
      result[container.name] = std::move(resources);
  }
  return result;
}

}  // namespace

ExtendedResourceSpec extendedResourcesOf(const api::PodSpec& spec, ExtendedResources extent) {
  const auto names = namesOf(extent);
  ExtendedResourceSpec result;
  result.containers = ofContainers(names, spec.containers);
  if (extent != ExtendedResources::InFull) return result;
  result.initContainers = ofContainers(names, spec.initContainers);
  result.overhead = only(names, spec.overhead);
  return result;
}

Result<std::optional<ExtendedResourceSpec>> readExtendedResourceSpec(
    const api::StringMap& annotations) {
  const auto* text = api::findIn(annotations, kAnnotationExtendedResourceSpec);
  if (!text) return std::nullopt;
  auto spec = api::decodeText<ExtendedResourceSpec>(*text, api::Reading::Go);
  if (!spec)
    return fail(
        std::move(spec.error())
            .within("metadata.annotations[" + std::string(kAnnotationExtendedResourceSpec) + "]"));
  return *std::move(spec);
}

std::string toAnnotation(const ExtendedResourceSpec& spec) {
  return toJson(api::encode(spec));
}

}  // namespace koord::model
