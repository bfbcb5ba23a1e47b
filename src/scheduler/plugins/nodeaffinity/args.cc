#include "scheduler/plugins/nodeaffinity/args.h"

#include "api/codec.h"
#include "api/selector.h"

namespace koord::scheduler {

NodeAffinityArgs NodeAffinityArgs::read(Fields& fields) {
  NodeAffinityArgs args;
  if (const json::value* document = fields.raw("addedAffinity")) {
    // Wrapped in an Affinity, which is the type that the codec knows.
    json::object wrapped;
    wrapped.emplace("nodeAffinity", *document);
    auto affinity =
        api::decode<api::Affinity>(json::value(std::move(wrapped)), api::Reading::Strict);
    if (!affinity) {
      fields.error("addedAffinity", affinity.error().message);
      return args;
    }
    args.addedAffinity = std::move(affinity->nodeAffinity);
    const auto& added = *args.addedAffinity;
    if (added.requiredDuringSchedulingIgnoredDuringExecution) {
      const auto required =
          api::NodeSelectorMatcher::compile(*added.requiredDuringSchedulingIgnoredDuringExecution);
      if (!required) {
        fields.error("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                     required.error().message);
      }
    }
    const auto preferred =
        api::PreferredNodeTerms::compile(added.preferredDuringSchedulingIgnoredDuringExecution);
    if (!preferred) {
      fields.error("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution",
                   preferred.error().message);
    }
  }
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
