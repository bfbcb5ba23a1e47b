#include "scheduler/plugins/podtopologyspread/args.h"

#include <fmt/format.h>

#include <set>

#include "api/names.h"

namespace koord::scheduler {

PodTopologySpreadArgs PodTopologySpreadArgs::read(Fields& fields) {
  PodTopologySpreadArgs args;
  const std::string type = fields.text("defaultingType", "System");
  if (type == "List") {
    args.defaulting = SpreadDefaulting::List;
  } else if (type != "System") {
    fields.error("defaultingType",
                 fmt::format("Unsupported value: \"{}\": supported values: System, List", type));
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (Fields& item : fields.list("defaultConstraints")) {
    api::TopologySpreadConstraint& constraint = args.constraints.emplace_back();
    constraint.maxSkew = static_cast<std::int32_t>(item.integer("maxSkew", 0, 1, INT32_MAX));
    if (!item.has("maxSkew")) item.error("maxSkew", "Required value: must be greater than zero");
    constraint.topologyKey = item.text("topologyKey");
    if (constraint.topologyKey.empty()) {
      item.error("topologyKey", "Required value: can not be empty");
    } else if (const auto wrong = api::checkQualifiedName(constraint.topologyKey); !wrong.empty()) {
      item.error("topologyKey",
                 fmt::format("Invalid value: \"{}\": {}", constraint.topologyKey, wrong));
    }
    constraint.whenUnsatisfiable = item.text("whenUnsatisfiable");
    if (constraint.whenUnsatisfiable != "DoNotSchedule" &&
        constraint.whenUnsatisfiable != "ScheduleAnyway") {
      item.error(
          "whenUnsatisfiable",
          fmt::format("Unsupported value: \"{}\": supported values: DoNotSchedule, ScheduleAnyway",
                      constraint.whenUnsatisfiable));
    }
    if (item.raw("labelSelector"))
      item.error("labelSelector",
                 "Forbidden: constraint must not define a selector, as they deduced for each pod");
    item.refuseUnknown();
    if (!seen.emplace(constraint.topologyKey, constraint.whenUnsatisfiable).second)
      item.error("", fmt::format("Duplicate value: \"{{{}, {}}}\"", constraint.topologyKey,
                                 constraint.whenUnsatisfiable));
  }
  if (args.defaulting == SpreadDefaulting::System && !args.constraints.empty())
    fields.error("defaultingType",
                 "Invalid value: \"System\": when .defaultConstraints are specified");
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
