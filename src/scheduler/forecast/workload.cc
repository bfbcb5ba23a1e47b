#include "scheduler/forecast/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/well_known.h"

namespace koord::scheduler::forecast {

namespace {

// Of the names that Kubernetes generates; a word has a vowel.
constexpr std::string_view kGenerated = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kGeneratedLength = 5;

bool isNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool isGenerated(std::string_view text) {
  return text.size() == kGeneratedLength && text.find_first_not_of(kGenerated) == text.npos;
}

}  // namespace

std::string Workload::text() const {
  return fmt::format("{} {}/{}", kind, namespace_, name);
}

std::string stableName(std::string_view name) {
  const auto dash = name.rfind('-');
  if (dash == name.npos || dash == 0) return std::string(name);
  const std::string_view last = name.substr(dash + 1);
  return std::string(isNumber(last) || isGenerated(last) ? name.substr(0, dash) : name);
}

std::string gangOf(const api::Pod& pod) {
  const api::ObjectMeta& meta = pod.metadata;
  if (pod.spec.schedulingGroup) return std::string(pod.spec.schedulingGroup->podGroupName);
  for (const std::string_view key : {model::kLabelPodGroup, model::kLabelPodGroupName})
    if (const auto name = api::textIn(meta.labels, key); !name.empty()) return std::string(name);
  return std::string(api::textIn(meta.annotations, model::kAnnotationGangName));
}

std::optional<Workload> workloadOf(const api::Pod& pod) {
  const std::string_view policy = pod.spec.restartPolicy;
  if (policy != "Never" && policy != "OnFailure") return std::nullopt;
  const api::ObjectMeta& meta = pod.metadata;
  if (const auto* owner = api::controllerOf(meta))
    return Workload{meta.namespace_, owner->kind, stableName(owner->name)};
  if (const std::string gang = gangOf(pod); !gang.empty())
    return Workload{meta.namespace_, "PodGroup", stableName(gang)};
  return Workload{meta.namespace_, "Pod", stableName(meta.name)};
}

}  // namespace koord::scheduler::forecast
