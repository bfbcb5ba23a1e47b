#include "scheduler/plugins/deviceshare/args.h"

namespace koord::scheduler {

DeviceShareArgs DeviceShareArgs::read(Fields& fields) {
  DeviceShareArgs args;
  fields.text("allocator");  // deprecated, without effect
  args.scoringStrategy = ScoringStrategy::read(fields, "scoringStrategy", args.scoringStrategy);
  args.disableDeviceNUMATopologyAlignment =
      fields.boolean("disableDeviceNUMATopologyAlignment", false);
  const bool given = fields.has("gpuSharedResourceTemplatesConfig");
  Fields config = fields.object("gpuSharedResourceTemplatesConfig");
  if (given) {
    // As upstream, missing fields of it get no defaults.
    args.templates.configMapNamespace = config.text("configMapNamespace");
    args.templates.configMapName = config.text("configMapName");
    args.templates.matchedResources = config.texts("matchedResources");
    config.refuseUnknown();
  }
  for (Fields& item : fields.list("gpuShareUnsupportedModels")) {
    args.gpuShareUnsupportedModels.push_back({item.text("vendor"), item.text("model")});
    item.refuseUnknown();
  }
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
