#include "scheduler/plugins/loadawarescheduling/estimator.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/pod_requests.h"
#include "model/priority.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

constexpr std::int64_t kGuessedCpu = 250;
constexpr std::int64_t kGuessedMemory = 200LL << 20;
// The longest time for which an estimate is forced: ten years.
constexpr std::int64_t kMostSeconds = 10LL * 365 * 86400;

// Requests and limits of the pod as a whole; a single container's are used directly.
struct Asked {
  const api::ResourceList* requests = nullptr;
  const api::ResourceList* limits = nullptr;
  std::optional<std::pair<api::ResourceList, api::ResourceList>> sums;

  explicit Asked(const api::Pod& pod) {
    if (pod.spec.containers.size() == 1 && pod.spec.initContainers.empty() &&
        pod.spec.overhead.empty() && !pod.spec.resources) {
      requests = &pod.spec.containers.front().resources.requests;
      limits = &pod.spec.containers.front().resources.limits;
      return;
    }
    sums.emplace(model::podRequests(pod), model::podLimits(pod));
    requests = &sums->first;
    limits = &sums->second;
  }
};

// These lists have two or three entries.
std::int64_t amountIn(const api::ResourceList& list, std::string_view name) {
  for (const auto& [key, amount] : list)
    if (key == name) return loadAmount(name, amount);
  return 0;
}

// From the request and the limit under this name.
std::int64_t estimated(const Asked& asked, std::string_view name, std::int64_t factor,
                       std::int64_t guess) {
  const std::int64_t most = amountIn(*asked.limits, name);
  const std::int64_t amount = std::max(most, amountIn(*asked.requests, name));
  if (amount == 0) return guess;
  const double share = std::round(static_cast<double>(amount) * static_cast<double>(factor) / 100);
  const auto estimate =
      static_cast<std::int64_t>(std::clamp(share, 0.0, static_cast<double>(kMaxLoad)));
  return most > 0 ? std::min(estimate, most) : estimate;
}

std::int64_t guessOf(std::string_view name) {
  if (name == model::kCpu || name == model::kBatchCpu) return kGuessedCpu;
  if (name == model::kMemory || name == model::kBatchMemory) return kGuessedMemory;
  return 0;
}

const api::PodCondition* trueCondition(const api::Pod& pod, std::string_view type) {
  for (const auto& condition : pod.status.conditions) {
    if (condition.type == type)
      return condition.status == "True" && condition.lastTransitionTime ? &condition : nullptr;
  }
  return nullptr;
}

WallTime later(WallTime time, std::int64_t seconds) {
  return time + std::chrono::seconds(std::min(seconds, kMostSeconds));
}

}  // namespace

std::optional<WallTime> scheduledAt(const api::Pod& pod) {
  const auto* scheduled = trueCondition(pod, "PodScheduled");
  return scheduled ? scheduled->lastTransitionTime : std::nullopt;
}

Estimator::Settings Estimator::settingsOf(const LoadAwareSchedulingArgs& args) {
  return {args.estimatedScalingFactors, args.estimatedSecondsAfterPodScheduled,
          args.estimatedSecondsAfterInitialized, args.allowCustomizeEstimation};
}

Estimator::Estimator(const LoadResources& resources, Settings settings)
    : resources_(resources),
      settings_(std::move(settings)),
      factors_(resources.of(settings_.factors)) {
  using model::PriorityClass;
  for (const std::string& resource : resources.names()) {
    known_.push_back(settings_.factors.contains(resource));
    auto& names = names_.emplace_back();
    for (const auto priority : {PriorityClass::None, PriorityClass::Prod, PriorityClass::Mid,
                                PriorityClass::Batch, PriorityClass::Free}) {
      const std::string_view name = model::resourceNameOf(priority, resource);
      names.at(static_cast<std::size_t>(priority)) = {name, guessOf(name)};
    }
  }
}

std::int64_t Estimator::factorOf(std::size_t resource, const json::object* custom) const {
  const json::value* own = custom ? custom->if_contains(resources_.name(resource)) : nullptr;
  return own ? own->get_int64() : factors_[resource];
}

// An object of numbers, or null.
json::value Estimator::customFactors(const api::Pod& pod) const {
  const auto* text = api::findIn(pod.metadata.annotations, kAnnotationLoadFactors);
  if (!text) return nullptr;
  auto document = parseJson(*text);
  const json::object* factors = document ? document->if_object() : nullptr;
  if (!factors) return nullptr;
  const bool numbers =
      std::ranges::all_of(*factors, [](const auto& factor) { return factor.value().is_int64(); });
  return numbers ? *std::move(document) : nullptr;
}

Estimator::Estimate Estimator::estimate(const api::Pod& pod) const {
  json::value parsed;
  if (settings_.customizable) parsed = customFactors(pod);
  const json::object* const custom = parsed.if_object();
  const model::PriorityClass priority = model::priorityClassWithDefault(pod);
  const Asked asked(pod);
  Estimate estimate{resources_.none(), priority == model::PriorityClass::Prod};
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    const auto& [name, guess] = names_[i][static_cast<std::size_t>(priority)];
    if (name.empty() || !(known_[i] || (custom && custom->contains(resources_.name(i))))) continue;
    estimate.amounts[i] = estimated(asked, name, factorOf(i, custom), guess);
  }
  return estimate;
}

const Estimator::Known& Estimator::known(const PodInfo& pod) const {
  return estimates_.of(pod, [&] {
    Estimate made = estimate(*pod.pod);
    auto shared = std::make_shared<const LoadAmounts>(made.amounts);
    return Known{std::move(made), std::move(shared)};
  });
}

// -1: the estimate is not forced.
std::int64_t Estimator::secondsFor(const api::Pod& pod, std::string_view annotation,
                                   const std::optional<std::int64_t>& usual) const {
  std::int64_t seconds = -1;
  if (settings_.customizable) {
    if (const auto* text = api::findIn(pod.metadata.annotations, annotation)) {
      const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
      if (error != std::errc{} || end != text->data() + text->size()) seconds = -1;
    }
  }
  return seconds < 0 && usual ? *usual : seconds;
}

// The rest follows from the shape.
bool Estimator::stays(const PodInfo& pod, const AssignedLoad& before) const {
  return !forces() && scheduledAt(*pod.pod).value_or(before.since) == before.since;
}

AssignedLoad Estimator::assigned(const PodInfo& info, WallTime placed) const {
  const api::Pod& pod = *info.pod;
  const Known& estimate = known(info);
  AssignedLoad load{estimate.shared, scheduledAt(pod).value_or(placed), std::nullopt,
                    estimate.estimate.prod};
  if (forces()) load.forced = forcedUntil(pod, load.since);
  return load;
}

std::optional<WallTime> Estimator::forcedUntil(const api::Pod& pod, WallTime since) const {
  const std::int64_t afterInitialized =
      secondsFor(pod, kAnnotationSecondsAfterInitialized, settings_.secondsAfterInitialized);
  const std::int64_t afterScheduled =
      secondsFor(pod, kAnnotationSecondsAfterScheduled, settings_.secondsAfterScheduled);
  const auto* initialized = afterInitialized > 0 ? trueCondition(pod, "Initialized") : nullptr;
  if (initialized) return later(*initialized->lastTransitionTime, afterInitialized);
  if (afterScheduled > 0) return later(since, afterScheduled);
  return std::nullopt;
}

}  // namespace koord::scheduler
