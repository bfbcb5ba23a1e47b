#include "manager/webhook/pod_mutation.h"

#include "api/codec.h"
#include "manager/webhook/pod_edit.h"
#include "manager/webhook/resource_translation.h"
#include "model/extended_resource_spec.h"
#include "model/priority.h"
#include "model/well_known.h"

namespace koord::manager {

Result<> mutateByProfiles(const std::vector<ProfilePtr>& matching, const ProfileContext& context,
                          const PodMutationOptions& options, json::value& pod) {
  if (matching.empty()) return {};
  const auto outcome = applyProfiles(matching, context, pod);
  if (!outcome) return fail(outcome.error());
  if (outcome->skipResources || options.skipMutatingResources) return {};
  const auto mutated = api::decode<api::Pod>(pod);
  if (!mutated) return fail(mutated.error());
  translateResources(model::priorityClassWithDefault(*mutated), pod);
  return {};
}

Result<> mutateExtendedResourceSpec(json::value& pod, model::ExtendedResources extent) {
  const auto decoded = api::decode<api::Pod>(pod);
  if (!decoded) return fail(decoded.error());
  const auto truth = model::extendedResourcesOf(decoded->spec, extent);
  const auto said = model::readExtendedResourceSpec(decoded->metadata.annotations);
  if (!said)
    return fail(Error(said.error()).within("failed to get current extended resource spec, err"));
  if (said->value_or(model::ExtendedResourceSpec()) == truth) return {};
  annotationsOf(pod)[model::kAnnotationExtendedResourceSpec] =
      textValue(model::toAnnotation(truth));
  return {};
}

}  // namespace koord::manager
