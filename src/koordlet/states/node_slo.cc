#include "koordlet/states/node_slo.h"

#include <fmt/core.h>

#include "api/codec.h"
#include "model/slo_section.h"

namespace koord::koordlet {
namespace {

// The object's fields win; lists are replaced as a whole.
json::value overlay(const json::value& base, const json::value& over) {
  if (!base.is_object() || !over.is_object()) return over;
  json::value merged = base;
  for (const auto& [key, value] : over.get_object()) {
    if (value.is_null()) continue;
    auto& slot = merged.get_object()[key];
    slot = slot.is_null() ? value : overlay(slot, value);
  }
  return merged;
}

template <class Strategy>
Result<Strategy> layered(const Strategy& base, const json::value& section) {
  if (section.is_null()) return base;
  if (!section.is_object()) return fail(ErrorCode::Invalid, "must be an object");
  return api::decode<Strategy>(overlay(api::encode(base), section));
}

// Switching a feature off must revert the kernel's values, so neutral values are set.
void neutralize(std::optional<api::ResourceQOS>& qos) {
  if (!qos) return;
  const api::ResourceQOS neutral = *model::qosDefaultsOfNodes().systemClass;
  if (qos->cpuQOS && !qos->cpuQOS->enable.value_or(false)) qos->cpuQOS = neutral.cpuQOS;
  if (qos->resctrlQOS && !qos->resctrlQOS->enable.value_or(false))
    qos->resctrlQOS = neutral.resctrlQOS;
  if (qos->memoryQOS && !qos->memoryQOS->enable.value_or(false)) qos->memoryQOS = neutral.memoryQOS;
}

}  // namespace

EffectiveSlo defaultSlo() {
  EffectiveSlo slo;
  slo.threshold = model::defaultStrategy<api::ResourceThresholdStrategy>();
  slo.qos = model::qosDefaultsOfNodes();
  slo.cpuBurst = model::defaultStrategy<api::CPUBurstStrategy>();
  slo.system = model::defaultStrategy<api::SystemStrategy>();
  return slo;
}

EffectiveSlo effectiveSlo(const api::NodeSLOSpec& spec, const EffectiveSlo& last,
                          std::vector<std::string>& problems) {
  const EffectiveSlo defaults = defaultSlo();
  EffectiveSlo slo = last;
  const auto take = [&](auto section, auto& target, std::string_view name) {
    if (section) {
      target = *std::move(section);
    } else {
      problems.push_back(fmt::format("spec.{}: {}; the last good one stays in force", name,
                                     section.error().message));
    }
  };
  const auto checked = [](auto section) {
    if (section)
      if (auto valid = model::validate(*section); !valid) section = fail(std::move(valid.error()));
    return section;
  };
  const json::value threshold = spec.resourceUsedThresholdWithBE
                                    ? api::encode(*spec.resourceUsedThresholdWithBE)
                                    : json::value();
  take(checked(layered(defaults.threshold, threshold)), slo.threshold,
       "resourceUsedThresholdWithBE");
  take(checked(layered(defaults.qos, spec.resourceQOSStrategy)), slo.qos, "resourceQOSStrategy");
  take(checked(layered(defaults.cpuBurst, spec.cpuBurstStrategy)), slo.cpuBurst,
       "cpuBurstStrategy");
  take(checked(layered(defaults.system, spec.systemStrategy)), slo.system, "systemStrategy");
  for (auto* qos : {&slo.qos.lsrClass, &slo.qos.lsClass, &slo.qos.beClass}) neutralize(*qos);

  std::vector<api::HostApplicationSpec> applications;
  if (spec.hostApplications.is_array()) {
    for (const auto& item : spec.hostApplications.get_array()) {
      auto application = api::decode<api::HostApplicationSpec>(item);
      if (application) {
        applications.push_back(*std::move(application));
      } else {
        problems.push_back(fmt::format("spec.hostApplications[{}]: {}; skipped",
                                       applications.size(), application.error().message));
      }
    }
  }
  slo.hostApplications = std::move(applications);
  return slo;
}

}  // namespace koord::koordlet
