#include "model/extended_resource_spec.h"

#include "api/codec.h"
#include "model/well_known.h"

namespace koord::model {

namespace {

api::ResourceList batchOnly(const api::ResourceList& list) {
  api::ResourceList batch;
  for (const auto name : {kBatchCpu, kBatchMemory})
    if (const auto it = list.find(name); it != list.end()) batch.insert(*it);
  return batch;
}

}  // namespace

ExtendedResourceSpec extendedResourcesOf(const api::PodSpec& spec) {
  ExtendedResourceSpec result;
  for (const auto& container : spec.containers) {
    ExtendedResourceContainer resources{batchOnly(container.resources.limits),
                                        batchOnly(container.resources.requests)};
    if (!resources.limits.empty() || !resources.requests.empty())
      result.containers[container.name] = std::move(resources);
  }
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
