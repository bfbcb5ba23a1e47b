#include "model/qos.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/well_known.h"

namespace koord::model {

namespace {

constexpr std::array<std::pair<Qos, std::string_view>, 5> kNames{{
    {Qos::LSE, "LSE"},
    {Qos::LSR, "LSR"},
    {Qos::LS, "LS"},
    {Qos::BE, "BE"},
    {Qos::System, "SYSTEM"},
}};

// The positive amounts of cpu and memory, summed up over containers.
struct Amounts {
  std::array<Quantity, 2> sum;
  std::array<bool, 2> present{};

  static constexpr std::array<std::string_view, 2> kNames{kCpu, kMemory};

  // Returns which of the two the list holds.
  std::array<bool, 2> add(const api::ResourceList& list) {
    std::array<bool, 2> found{};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto it = list.find(kNames[i]);
      if (it == list.end() || it->second.sign() <= 0) continue;
      sum[i].add(it->second);
      found[i] = present[i] = true;
    }
    return found;
  }
  bool empty() const { return !present[0] && !present[1]; }
};

}  // namespace

std::string_view textOf(Qos qos) {
  for (const auto& [value, name] : kNames)
    if (value == qos) return name;
  return "";
}

Qos parseQos(std::string_view text) {
  for (const auto& [value, name] : kNames)
    if (name == text) return value;
  return Qos::None;
}

Qos rawQos(const api::StringMap& labels) {
  const auto* text = api::findIn(labels, kLabelQos);
  return text ? parseQos(*text) : Qos::None;
}

std::string_view textOf(KubernetesQos qos) {
  switch (qos) {
    case KubernetesQos::Guaranteed:
      return "Guaranteed";
    case KubernetesQos::Burstable:
      return "Burstable";
    case KubernetesQos::BestEffort:
      return "BestEffort";
  }
  return "";
}

KubernetesQos computeKubernetesQos(const api::PodSpec& spec) {
  Amounts requests;
  Amounts limits;
  bool allLimited = true;
  const auto take = [&](const api::ResourceRequirements& resources) {
    requests.add(resources.requests);
    const auto found = limits.add(resources.limits);
    if (!found[0] || !found[1]) allLimited = false;
  };
  if (spec.resources) {  // amounts of the whole pod replace those of its containers
    requests.add(spec.resources->requests);
    if (!spec.resources->limits.empty()) {
      const auto found = limits.add(spec.resources->limits);
      if (!found[0] || !found[1]) allLimited = false;
    }
  } else {
    for (const auto& container : spec.containers) take(container.resources);
    for (const auto& container : spec.initContainers) take(container.resources);
  }
  if (requests.empty() && limits.empty()) return KubernetesQos::BestEffort;
  const bool guaranteed =
      allLimited && requests.present == limits.present && requests.sum == limits.sum;
  return guaranteed ? KubernetesQos::Guaranteed : KubernetesQos::Burstable;
}

KubernetesQos kubernetesQos(const api::Pod& pod) {
  for (auto qos : {KubernetesQos::Guaranteed, KubernetesQos::Burstable, KubernetesQos::BestEffort})
    if (pod.status.qosClass == textOf(qos)) return qos;
  return computeKubernetesQos(pod.spec);
}

Qos qosWithDefault(const api::Pod& pod) {
  const Qos raw = rawQos(pod);
  if (raw != Qos::None) return raw;
  switch (kubernetesQos(pod)) {
    case KubernetesQos::Guaranteed:
      return Qos::LSR;
    case KubernetesQos::Burstable:
      return Qos::LS;
    case KubernetesQos::BestEffort:
      return Qos::BE;
  }
  return Qos::BE;
}

bool isBestEffortByDefault(const api::Pod& pod) {
  const Qos raw = rawQos(pod);
  if (raw != Qos::None) return raw == Qos::BE;
  if (!pod.status.qosClass.empty()) return kubernetesQos(pod) == KubernetesQos::BestEffort;
  const auto asks = [](const api::ResourceRequirements& resources) {
    for (const auto* list : {&resources.requests, &resources.limits})
      for (const auto& [name, amount] : *list)
        if ((name == kCpu || name == kMemory) && amount.sign() > 0) return true;
    return false;
  };
  if (pod.spec.resources) return !asks(*pod.spec.resources);
  const auto asksToo = [&](const auto& container) { return asks(container.resources); };
  return std::ranges::none_of(pod.spec.containers, asksToo) &&
         std::ranges::none_of(pod.spec.initContainers, asksToo);
}

}  // namespace koord::model
