#include "scheduler/plugins/elasticquota/args.h"

#include <fmt/format.h>

#include <limits>

#include "api/quantity_json.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

// Almost unlimited.
api::ResourceList noLimit() {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 5;
  api::ResourceList list;
  list["cpu"] = Quantity::of(kMost);
  list["memory"] = Quantity::of(kMost);
  return list;
}

api::ResourceList readAmounts(Fields& fields, std::string_view name) {
  const json::value* given = fields.raw(name);
  if (!given) return noLimit();
  const auto* object = given->if_object();
  if (!object) {
    fields.error(name, "expected an object of quantities");
    return {};
  }
  if (object->empty()) return noLimit();
  api::ResourceList list;
  for (const auto& member : *object) {
    const std::string resource(member.key());
    const auto amount = api::readQuantity(member.value());
    if (!amount) {
      fields.error(name, fmt::format("[{}]: {}", resource, amount.error().message));
    } else if (amount->sign() < 0) {
      fields.error(name, fmt::format("[{}]: Invalid value: \"{}\": must not be negative", resource,
                                     amount->toString()));
    } else {
      list[resource] = *amount;
    }
  }
  return list;
}

Duration readInterval(Fields& fields, std::string_view name, Duration absent) {
  const Duration duration = fields.duration(name, absent);
  if (duration < Duration::zero())
    fields.error(name, "Invalid value: must be greater than or equal to 0");
  return duration;
}

}  // namespace

ElasticQuotaArgs ElasticQuotaArgs::read(Fields& fields) {
  ElasticQuotaArgs args;
  args.delayEvictTime = readInterval(fields, "delayEvictTime", args.delayEvictTime);
  args.revokePodInterval = readInterval(fields, "revokePodInterval", args.revokePodInterval);
  args.defaultQuotaGroupMax = readAmounts(fields, "defaultQuotaGroupMax");
  args.systemQuotaGroupMax = readAmounts(fields, "systemQuotaGroupMax");
  args.quotaGroupNamespace = fields.text("quotaGroupNamespace", args.quotaGroupNamespace);
  if (args.quotaGroupNamespace.empty()) args.quotaGroupNamespace = model::kSystemNamespace;
  args.monitorAllQuotas = fields.boolean("monitorAllQuotas", args.monitorAllQuotas);
  args.enableCheckParentQuota =
      fields.boolean("enableCheckParentQuota", args.enableCheckParentQuota);
  args.enableRuntimeQuota = fields.boolean("enableRuntimeQuota", args.enableRuntimeQuota);
  args.enableMinQuotaScale = fields.boolean("enableMinQuotaScale", args.enableMinQuotaScale);
  args.disableDefaultQuotaPreemption =
      fields.boolean("disableDefaultQuotaPreemption", args.disableDefaultQuotaPreemption);
  args.enableQueueHint = fields.boolean("enableQueueHint", args.enableQueueHint);
  args.quotaSnapshotUpdateInterval =
      readInterval(fields, "quotaSnapshotUpdateInterval", args.quotaSnapshotUpdateInterval);
  if (const json::value* hooks = fields.raw("hookPlugins")) {
    const auto* list = hooks->if_array();
    if (!list) {
      fields.error("hookPlugins", "expected a list");
    } else if (!list->empty()) {
      fields.error("hookPlugins", "unknown factory: no factory is built in");
    }
  }
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
