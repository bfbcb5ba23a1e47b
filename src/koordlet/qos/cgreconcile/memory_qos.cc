#include "koordlet/qos/cgreconcile/memory_qos.h"

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "model/pod_requests.h"
#include "model/qos.h"
#include "model/resources.h"
#include "model/slo_section.h"
#include "model/well_known.h"

namespace koord::koordlet::memoryqos {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kMax = INT64_MAX;  // the kernel reads it as "max"

const std::optional<api::ResourceQOS>& classOf(model::Qos qos,
                                               const api::ResourceQOSStrategy& strategy) {
  static const std::optional<api::ResourceQOS> kNone;
  switch (qos) {
    case model::Qos::LSE:
    case model::Qos::LSR:
      return strategy.lsrClass;
    case model::Qos::LS:
      return strategy.lsClass;
    case model::Qos::BE:
      return strategy.beClass;
    case model::Qos::System:
      return strategy.systemClass;
    default:
      return kNone;
  }
}

std::optional<api::MemoryQOS> memoryOf(model::Qos qos, const api::ResourceQOSStrategy& strategy) {
  const auto& found = classOf(qos, strategy);
  return found ? found->memoryQOS : std::nullopt;
}

api::MemoryQOS none() {
  api::MemoryQOS qos;
  qos.enable = false;
  qos.minLimitPercent = qos.lowLimitPercent = qos.throttlingPercent = 0;
  qos.wmarkRatio = qos.wmarkMinAdj = qos.priorityEnable = qos.priority = qos.oomKillGroup = 0;
  qos.wmarkScalePermill = 50;
  return qos;
}

struct Annotation {
  std::string policy;
  json::object fields;
};
Result<std::optional<Annotation>> annotationOf(const PodView& pod) {
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationMemoryQos);
  if (!text) return std::nullopt;
  auto document = parseJson(*text);
  if (!document) return fail(document.error());
  if (!document->is_object()) return fail(ErrorCode::Invalid, "must be an object");
  Annotation annotation{std::string(textAt(*document, "policy")),
                        std::move(document->get_object())};
  annotation.fields.erase("policy");
  // The same bounds as in NodeSLO.
  auto section = api::decode<api::ResourceQOSStrategy>(
      json::object{{"lsClass", json::object{{"memoryQOS", annotation.fields}}}});
  if (!section) return fail(std::move(section.error()));
  if (auto valid = model::validate(*section); !valid) return fail(std::move(valid.error()));
  return annotation;
}

// Absurdly large factors must not overflow.
std::int64_t share(std::int64_t amount, std::int64_t percent) {
  const __int128 value = static_cast<__int128>(amount) * percent / 100;
  return static_cast<std::int64_t>(std::min<__int128>(value, kMax));
}

std::optional<std::int64_t> amountIn(const api::ResourceList& list, std::string_view name) {
  if (!model::has(list, name)) return std::nullopt;
  return model::amountOf(list, name).value();
}

Values fixed(const api::MemoryQOS& qos) {
  Values values;
  values.wmarkRatio = qos.wmarkRatio;
  values.wmarkScaleFactor = qos.wmarkScalePermill;
  values.wmarkMinAdj = qos.wmarkMinAdj;
  values.priority = qos.priority;
  values.usePriorityOom = qos.priorityEnable;
  values.oomGroup = qos.oomKillGroup;
  return values;
}

// Sets min (always protected) and low (protected while other cgroups have reclaimable memory).
void protect(const api::MemoryQOS& qos, std::int64_t request, Values& values) {
  if (qos.minLimitPercent) values.min = share(request, *qos.minLimitPercent);
  if (qos.lowLimitPercent) values.low = share(request, *qos.lowLimitPercent);
  if (values.min && values.low && *values.low > 0) values.low = std::max(*values.low, *values.min);
}

}  // namespace

std::optional<api::MemoryQOS> configOf(const PodView& pod,
                                       const api::ResourceQOSStrategy& strategy) {
  const model::Qos qos = model::qosWithDefault(*pod.pod);
  auto config = memoryOf(qos, strategy);
  const auto annotation = annotationOf(pod);
  if (!annotation)
    log::v(4, "annotation {} of pod {} is ignored: {}", model::kAnnotationMemoryQos,
           pod.pod->metadata.name, annotation.error().message);
  if (!annotation || !*annotation) return config;
  if ((*annotation)->policy == "none") return none();
  if ((*annotation)->policy == "auto") {
    config = memoryOf(qos, defaultSlo().qos);
    if (config) config->enable.reset();
  }
  if ((*annotation)->fields.empty()) return config;
  json::value merged = config ? api::encode(*config) : json::value(json::object{});
  for (const auto& [key, value] : (*annotation)->fields)
    if (!value.is_null()) merged.get_object()[key] = value;
  auto decoded = api::decode<api::MemoryQOS>(merged);
  return decoded ? std::optional(*std::move(decoded)) : config;
}

const api::MemoryQOS* configOf(KubeQos directory, const api::ResourceQOSStrategy& strategy) {
  const auto& found = directory == KubeQos::Guaranteed  ? strategy.lsrClass
                      : directory == KubeQos::Burstable ? strategy.lsClass
                                                        : strategy.beClass;
  return found && found->memoryQOS ? &*found->memoryQOS : nullptr;
}

Demand demandOfContainer(const PodView& pod, const api::Container& container) {
  const std::string_view name = pod.bestEffort() ? model::kBatchMemory : model::kMemory;
  const auto limit = amountIn(container.resources.limits, name).value_or(-1);
  return {std::max<std::int64_t>(amountIn(container.resources.requests, name).value_or(0), 0),
          limit > 0 ? limit : -1};
}

Demand demandOfPod(const PodView& pod) {
  Demand sum{0, 0};
  if (!pod.bestEffort()) {
    sum.request = model::amountOf(model::podRequests(*pod.pod), model::kMemory).value();
    const auto limits = model::podLimits(*pod.pod);
    sum.limit = amountIn(limits, model::kMemory).value_or(-1);
    return sum;
  }
  sum.request = model::runningRequest(pod.pod->spec, model::kBatchMemory).value();
  const auto limit = model::podLimit(pod.pod->spec, model::kBatchMemory);
  sum.limit = limit ? limit->value() : -1;
  return sum;
}

Values podValues(const api::MemoryQOS& qos, const Demand& demand) {
  Values values = fixed(qos);
  protect(qos, demand.request, values);
  std::optional<std::int64_t> size;
  if (qos.pageCacheLimitSize) {
    size = demand.limit > 0 ? std::min(*qos.pageCacheLimitSize, demand.limit)
                            : *qos.pageCacheLimitSize;
  } else if (qos.pageCacheLimitPercent && demand.limit > 0) {
    size = share(demand.limit, *qos.pageCacheLimitPercent);
  }
  if (size) {
    values.pageCacheEnable = *size > 0 ? 1 : 0;
    values.pageCacheSize = std::max<std::int64_t>(*size, 0);
    if (*size > 0) values.pageCacheSync = qos.pageCacheReclaimSync.value_or(false) ? 1 : 0;
  }
  if (qos.pageCacheEnable) values.pageCacheEnable = *qos.pageCacheEnable ? 1 : 0;
  return values;
}

Values containerValues(const api::MemoryQOS& qos, const Demand& demand, std::int64_t allocatable) {
  Values values = fixed(qos);
  protect(qos, demand.request, values);
  if (!qos.throttlingPercent) return values;
  if (*qos.throttlingPercent == 0) {
    values.high = kMax;
    return values;
  }
  // Between the request and the limit, in whole pages.
  const std::int64_t limit = demand.limit > 0 ? demand.limit : allocatable;
  const std::int64_t high = demand.request + share(limit - demand.request, *qos.throttlingPercent);
  values.high = high / kPage * kPage;
  if (values.min && *values.high > 0) values.high = std::max(*values.high, *values.min);
  return values;
}

Values directoryValues(const api::MemoryQOS& qos) {
  Values values;
  values.priority = qos.priority;
  values.usePriorityOom = qos.priorityEnable;
  values.oomGroup = qos.oomKillGroup;
  return values;
}

}  // namespace koord::koordlet::memoryqos
