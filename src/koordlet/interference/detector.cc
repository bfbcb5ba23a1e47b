#include "koordlet/interference/detector.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"

// A value is suspicious if it is more than three deviations above the application's mean, at least
// a fifth above it, and large enough to matter. Three suspicious rounds of the last five begin a
// verdict; five rounds without suspicion end it. Single bad minutes, which every application has,
// do not count. Values that are not suspicious are learnt.
//
// BE pods are not judged, because they are meant to wait. Cycles per instruction show contention
// for caches and memory bandwidth, whatever the load; waiting times show contention for the
// resource itself. Cost: a few sums per container and minute. The baselines of applications that
// have not run for a day are dropped. The rule for cycles is that of CPI2 (Zhang et al., EuroSys
// 2013), with decaying means instead of days of history.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr double kDeviations = 3;
constexpr double kMinRise = 1.2;
constexpr std::size_t kRounds = 5;
constexpr std::ptrdiff_t kSuspicious = 3;
constexpr double kMinCpi = 0.3;
constexpr double kMinWait = 5;            // percent
constexpr double kMinInstructions = 1e8;  // in a window; fewer are not judged
constexpr Duration kWindow = 55s;         // of one round
constexpr Duration kForget = 24h;

}  // namespace

std::string applicationOf(const api::Pod& pod) {
  for (const auto& owner : pod.metadata.ownerReferences) {
    if (!owner.controller) continue;
    std::string name = owner.name;
    // Each revision of a Deployment has its own ReplicaSet, "name-<hash>".
    if (owner.kind == "ReplicaSet")
      if (const auto dash = name.rfind('-'); dash != std::string::npos) name.resize(dash);
    return fmt::format("{}/{}", pod.metadata.namespace_, name);
  }
  return fmt::format("{}/{}", pod.metadata.namespace_, pod.metadata.name);
}

std::string Interference::reason() const {
  return cause == "cpi"
             ? fmt::format("{:.2f} cycles per instruction, mean {:.2f} (deviation {:.2f})", value,
                           normal, deviation)
             : fmt::format("waits for {} {:.1f}% of the time, mean {:.1f}% (deviation {:.1f})",
                           cause, value, normal, deviation);
}

InterferenceDetector::InterferenceDetector(const Clock& clock, const States& states,
                                           const MetricCache& cache, Metrics& metrics,
                                           AuditRing& audit)
    : clock_(clock), states_(states), cache_(cache), metrics_(metrics), audit_(audit) {}

std::vector<InterferenceDetector::Figure> InterferenceDetector::figuresOf(
    const std::string& containerId) const {
  const WallTime now = clock_.wallNow();
  const auto mean = [&](Metric metric) {
    return cache_.average(metric, containerId, now - kWindow, now);
  };
  std::vector<Figure> figures;
  const auto cycles = mean(Metric::ContainerCycles);
  const auto instructions = mean(Metric::ContainerInstructions);
  if (cycles && instructions && *instructions >= kMinInstructions)
    figures.push_back({"cpi", *cycles / *instructions, kMinCpi});
  for (const auto& [cause, metric] : {std::pair("cpu", Metric::ContainerCpuSome),
                                      {"memory", Metric::ContainerMemorySome},
                                      {"io", Metric::ContainerIoSome}})
    if (const auto wait = mean(metric)) figures.push_back({cause, *wait, kMinWait});
  return figures;
}

void InterferenceDetector::tell(const Interference& one, bool begins) {
  const std::string pod = fmt::format("{}/{}", one.podNamespace, one.pod);
  log::info("{} of pod {} {} interference: {}", one.container, pod,
            begins ? "suffers from" : "recovered from", one.reason());
  audit_.add({clock_.wallNow(), pod, "interference", begins ? "" : one.cause,
              begins ? one.cause : "",
              fmt::format("container {}: {}", one.container, one.reason())});
}

void InterferenceDetector::judge(const PodView& pod, const ContainerView& container,
                                 const Figure& figure) {
  const SteadyTime now = clock_.steadyNow();
  const std::string application = applicationOf(*pod.pod);
  Known& known = baselines_[fmt::format("{}/{}/{}", application, container.name, figure.cause)];
  known.at = now;
  const auto score = known.baseline.score(figure.value);
  const bool suspicious = score && *score > kDeviations && figure.value >= figure.least &&
                          figure.value >= known.baseline.mean() * kMinRise;
  if (!suspicious) known.baseline.learn(figure.value);

  Suspicion& suspicion = suspicions_[fmt::format("{}/{}", container.id, figure.cause)];
  suspicion.at = now;
  suspicion.rounds.push_back(suspicious);
  if (suspicion.rounds.size() > kRounds) suspicion.rounds.pop_front();
  const auto count = std::ranges::count(suspicion.rounds, true);
  if (suspicious && count >= kSuspicious) {
    const bool begins = !suspicion.verdict;
    const WallTime since = begins ? clock_.wallNow() : suspicion.verdict->since;
    suspicion.verdict = Interference{pod.uid(),
                                     pod.pod->metadata.name,
                                     pod.pod->metadata.namespace_,
                                     container.name,
                                     application,
                                     std::string(figure.cause),
                                     figure.value,
                                     known.baseline.mean(),
                                     known.baseline.deviation(),
                                     since};
    if (begins) tell(*suspicion.verdict, true);
  } else if (suspicion.verdict && count == 0) {
    tell(*suspicion.verdict, false);
    suspicion.verdict.reset();
  }
}

void InterferenceDetector::forgetOld() {
  const SteadyTime now = clock_.steadyNow();
  std::erase_if(suspicions_, [&](const auto& entry) { return now - entry.second.at > 5min; });
  std::erase_if(baselines_, [&](const auto& entry) { return now - entry.second.at > kForget; });
}

void InterferenceDetector::run() {
  for (const auto& pod : states_.pods()) {
    if (!pod.active() || pod.bestEffort() || pod.kubeQos == KubeQos::BestEffort) continue;
    for (const auto& container : pod.containers) {
      if (!container.running || container.id.empty()) continue;
      for (const auto& figure : figuresOf(container.id)) judge(pod, container, figure);
    }
  }
  forgetOld();
  metrics_.resetInterference();
  for (const auto& one : current())
    metrics_.interference({one.podUid, one.pod, one.podNamespace, "", one.container}, one.cause,
                          one.value, one.normal);
}

std::vector<Interference> InterferenceDetector::current() const {
  std::vector<Interference> all;
  for (const auto& [key, suspicion] : suspicions_)
    if (suspicion.verdict) all.push_back(*suspicion.verdict);
  return all;
}

json::value InterferenceDetector::extensionOf(const std::string& podUid) const {
  json::array entries;
  for (const auto& one : current())
    if (one.podUid == podUid)
      entries.push_back(json::object{
          {"container", one.container}, {"cause", one.cause}, {"reason", one.reason()}});
  return entries.empty() ? json::value() : json::value(std::move(entries));
}

json::value InterferenceDetector::view() const {
  json::array pods;
  for (const auto& one : current())
    pods.push_back(json::object{{"pod", fmt::format("{}/{}", one.podNamespace, one.pod)},
                                {"container", one.container},
                                {"cause", one.cause},
                                {"reason", one.reason()}});
  return json::object{{"baselines", baselines_.size()}, {"suffering", std::move(pods)}};
}

}  // namespace koord::koordlet
