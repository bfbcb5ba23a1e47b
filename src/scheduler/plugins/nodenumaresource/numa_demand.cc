#include "scheduler/plugins/nodenumaresource/numa_demand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "api/codec.h"
#include "base/json.h"
#include "model/priority.h"
#include "model/qos.h"
#include "model/well_known.h"
#include "scheduler/plugins/nodenumaresource/documents.h"

namespace koord::scheduler {

namespace {

template <class Document>
Result<Document> documentIn(const api::StringMap& annotations, std::string_view key) {
  const auto* text = api::findIn(annotations, key);
  if (!text) return Document{};
  auto read = api::decodeText<Document>(*text, api::Reading::Go);
  if (!read)
    return fail(std::move(read.error()).within(fmt::format("metadata.annotations[{}]", key)));
  return read;
}

Status readDocuments(const api::StringMap& annotations, std::optional<ResourceSpecDocument>& spec,
                     std::optional<NumaSpecDocument>& numa) {
  const auto read = [&]<class Document>(std::string_view key, std::optional<Document>& document) {
    if (!api::findIn(annotations, key)) return Status();
    auto parsed = documentIn<Document>(annotations, key);
    if (!parsed) return Status::of(parsed.error());
    document = *std::move(parsed);
    return Status();
  };
  if (Status status = read(model::kAnnotationResourceSpec, spec); !status.ok()) return status;
  return read(kAnnotationNumaSpec, numa);
}

// Only latency-sensitive pods of the highest classes get exclusive CPUs by request.
bool mayBind(const api::Pod& pod) {
  const model::Qos qos = model::rawQos(pod);
  return (qos == model::Qos::LSE || qos == model::Qos::LSR) &&
         model::priorityClassWithDefault(pod) == model::PriorityClass::Prod;
}

// An unknown policy counts as missing.
void checkKnown(std::string_view annotation, std::string_view field, std::string_view value,
                std::initializer_list<std::string_view> known, std::vector<std::string>& ignored) {
  if (value.empty() || std::ranges::find(known, value) != known.end()) return;
  ignored.push_back(fmt::format("metadata.annotations[{}].{}: \"{}\" is none of {}", annotation,
                                field, value, fmt::join(known, ", ")));
}

std::vector<std::string> unknownIn(const std::optional<ResourceSpecDocument>& spec,
                                   const std::optional<NumaSpecDocument>& numa) {
  std::vector<std::string> ignored;
  if (spec) {
    for (const auto& [field, value] :
         {std::pair("requiredCPUBindPolicy", std::string_view(spec->requiredCPUBindPolicy)),
          std::pair("preferredCPUBindPolicy", std::string_view(spec->preferredCPUBindPolicy))})
      checkKnown(model::kAnnotationResourceSpec, field, value,
                 {"Default", "FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst"}, ignored);
    checkKnown(model::kAnnotationResourceSpec, "preferredCPUExclusivePolicy",
               spec->preferredCPUExclusivePolicy, {"None", "PCPULevel", "NUMANodeLevel"}, ignored);
  }
  if (numa) {
    checkKnown(kAnnotationNumaSpec, "numaTopologyPolicy", numa->numaTopologyPolicy,
               {"None", "BestEffort", "Restricted", "SingleNUMANode"}, ignored);
    checkKnown(kAnnotationNumaSpec, "singleNUMANodeExclusive", numa->singleNUMANodeExclusive,
               {"Preferred", "Required"}, ignored);
  }
  return ignored;
}

bool asksForTheSame(const api::StringMap& annotations) {
  for (const std::string_view key :
       {model::kAnnotationSchedulingHint, model::kAnnotationSchedulingHintDeprecated}) {
    const auto* text = api::findIn(annotations, key);
    if (!text || text->empty()) continue;
    const auto hint = parseJson(*text);
    return hint && at(*hint, "extensions", "NodeNUMAResource");
  }
  return false;
}

CpuBindPolicy filledIn(CpuBindPolicy policy, CpuBindPolicy byDefault) {
  return policy == CpuBindPolicy::Default ? byDefault : policy;
}

void readBinding(const ResourceSpecDocument& spec, CpuBindPolicy defaultBind, NumaDemand& demand) {
  CpuBindPolicy bind = cpuBindPolicyOf(spec.preferredCPUBindPolicy);
  if (spec.preferredCPUBindPolicy.empty()) bind = CpuBindPolicy::Default;
  bind = filledIn(bind, defaultBind);
  demand.required = filledIn(cpuBindPolicyOf(spec.requiredCPUBindPolicy), defaultBind);
  // A required policy that is unknown means no binding.
  if (!spec.requiredCPUBindPolicy.empty()) bind = demand.required;
  if (!binds(bind)) {
    demand.required = CpuBindPolicy::None;
    return;
  }
  if (demand.milliCpu % 1000 != 0) {
    demand.status = Status::unresolvable(kCpusMustBeIntegers);
    return;
  }
  if (demand.milliCpu == 0) return;
  demand.binds = true;
  demand.bind = bind;
  demand.exclusive = cpuExclusivePolicyOf(spec.preferredCPUExclusivePolicy);
}

}  // namespace

NumaDemand readNumaDemand(ResourceNames& names, const PodInfo& pod, CpuBindPolicy defaultBind) {
  NumaDemand demand;
  const api::Pod& object = *pod.pod;
  const api::StringMap& annotations = object.metadata.annotations;
  // The parsed annotations. Most pods have none.
  std::optional<ResourceSpecDocument> spec;
  std::optional<NumaSpecDocument> numa;
  if (Status status = readDocuments(annotations, spec, numa); !status.ok()) {
    demand.status = std::move(status);
    return demand;
  }
  pod.request.forEach([&](ResourceId id, std::int64_t amount) {
    if (amount > 0) demand.wants.push_back({id, amount});
  });
  if (demand.nothing()) return demand;
  demand.ignored = unknownIn(spec, numa);
  demand.milliCpu = pod.request.base[kCpu];
  demand.cpus = static_cast<int>(std::min<std::int64_t>(demand.milliCpu / 1000, CpuSet::kMaxCpus));
  if (numa) {
    demand.policy = numaPolicyOf(numa->numaTopologyPolicy);
    demand.apart = numa->singleNUMANodeExclusive == "Required" ||
                   (numa->singleNUMANodeExclusive.empty() && demand.policy != NumaPolicy::None);
  }
  const auto* ignored = api::findIn(object.metadata.labels, model::kLabelReservationIgnored);
  demand.ignoresReservations = ignored && *ignored == "true";
  demand.needsReservation = api::findIn(annotations, model::kAnnotationReservationAffinity);
  if (mayBind(object)) readBinding(spec.value_or(ResourceSpecDocument{}), defaultBind, demand);
  if (asksForTheSame(annotations)) {
    auto held = readNumaGrant(names, annotations);
    if (held && *held) demand.designated = std::make_shared<const NumaGrant>(**std::move(held));
  }
  return demand;
}

void NumaDemand::sign(Signature& signature) const {
  signature.add(static_cast<std::int64_t>(status.code));
  if (!status.ok()) return signature.add(status.message());
  signature.add(static_cast<std::int64_t>(wants.size()));
  for (const Wanted& wanted : wants) {
    signature.add(std::int64_t{wanted.id});
    signature.add(wanted.amount);
  }
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  signature.add(number(binds) | number(required) << 1 | number(bind) << 5 | number(exclusive) << 9 |
                number(policy) << 12 | number(apart) << 16 | number(ignoresReservations) << 17 |
                number(needsReservation) << 18 | number(designated != nullptr) << 19);
  if (!designated) return;
  signature.add(designated->cpus.toString());
  for (const NumaAmounts& part : designated->numa) {
    signature.add(std::int64_t{part.numa});
    part.amounts.forEach([&](ResourceId id, std::int64_t amount) {
      if (amount == 0) return;
      signature.add(std::int64_t{id});
      signature.add(amount);
    });
  }
}

NodeBind bindOn(const NumaDemand& demand, const NumaNode& node) {
  const bool byNode = demand.milliCpu > 0 && node.bind != CpuBindPolicy::None;
  if (!demand.binds && !byNode) return {};
  if (demand.required != CpuBindPolicy::None) return {demand.required, true};
  if (byNode) return {node.bind, true};
  return {demand.bind, false};
}

std::optional<std::string> completedSpec(const api::StringMap& annotations, const NodeBind& bind) {
  const auto read = documentIn<ResourceSpecDocument>(annotations, model::kAnnotationResourceSpec);
  if (!read) return std::nullopt;
  ResourceSpecDocument spec = *read;
  const std::string policy(nameOf(bind.policy));
  bool changed = false;
  const auto set = [&](std::string& field) {
    field = policy;
    changed = true;
  };
  if (bind.required &&
      (spec.requiredCPUBindPolicy.empty() || spec.requiredCPUBindPolicy == "Default"))
    set(spec.requiredCPUBindPolicy);
  if (spec.preferredCPUBindPolicy == "Default") set(spec.preferredCPUBindPolicy);
  if (spec.requiredCPUBindPolicy.empty() && spec.preferredCPUBindPolicy.empty())
    set(spec.preferredCPUBindPolicy);
  if (!changed) return std::nullopt;
  return toJson(api::encode(spec));
}

}  // namespace koord::scheduler
