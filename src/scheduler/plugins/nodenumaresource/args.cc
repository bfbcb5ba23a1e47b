#include "scheduler/plugins/nodenumaresource/args.h"

#include <fmt/format.h>

namespace koord::scheduler {

NodeNUMAResourceArgs NodeNUMAResourceArgs::read(Fields& fields) {
  NodeNUMAResourceArgs args;
  std::string& policy = args.defaultCPUBindPolicy;
  policy = fields.text("defaultCPUBindPolicy", policy);
  if (!policy.empty() && policy != "FullPCPUs" && policy != "SpreadByPCPUs") {
    fields.error("defaultCPUBindPolicy",
                 fmt::format("Unsupported value: \"{}\": supported values: FullPCPUs, "
                             "SpreadByPCPUs",
                             policy));
  }
  args.scoringStrategy = ScoringStrategy::read(fields, "scoringStrategy", args.scoringStrategy);
  args.numaScoringStrategy =
      ScoringStrategy::read(fields, "numaScoringStrategy", args.numaScoringStrategy);
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
