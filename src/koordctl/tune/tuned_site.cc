#include "koordctl/tune/tuned_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <unordered_map>

namespace koord::koordctl {

namespace {

using colocation::NodeSize;
using colocation::ServicePod;

constexpr double kDay = 86400, kStep = 300;
constexpr double kPeakHour = 14;
constexpr double kJobsOnNode = 48;
constexpr double kMemoryOfRequest = 0.6;  // of pods that no NodeMetric has

double secondsOf(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double dailyWave(double seconds) {
  return std::cos(2 * std::numbers::pi * (seconds / 3600 - kPeakHour) / 24);
}

std::vector<NodeSize> sampleOf(std::vector<NodeSize> nodes, std::size_t count, Random random) {
  for (std::size_t n = 0; n + 1 < nodes.size(); ++n)
    std::swap(nodes[n], nodes[n + random.below(nodes.size() - n)]);
  nodes.resize(std::min(count, nodes.size()));
  std::ranges::sort(nodes, {}, &NodeSize::name);
  return nodes;
}

// The share of their request that the measured pods use.
double useOfRequests(const std::vector<const MeasuredPod*>& pods) {
  double used = 0, requested = 0;
  for (const MeasuredPod* pod : pods) {
    if (!pod->usedCores) continue;
    used += *pod->usedCores;
    requested += pod->cores;
  }
  return requested > 0 ? std::min(used / requested, 1.0) : 0.25;
}

class SiteMaker {
 public:
  SiteMaker(const StudiedCluster& state, const SiteOptions& options,
            const colocation::Parameters& parameters)
      : state_(state), options_(options), made_(std::make_unique<TunedSite>()) {
    made_->parameters = parameters;
    made_->notes = state.notes;
  }

  Result<std::unique_ptr<TunedSite>> run() {
    made_->site.nodes = sampleOf(state_.nodes, options_.nodes, Random(options_.seed));
    if (made_->site.nodes.size() < state_.nodes.size())
      note(fmt::format("{} of {} nodes, chosen at random", made_->site.nodes.size(),
                       state_.nodes.size()));
    std::unordered_map<std::string, bool> chosen;
    for (const NodeSize& node : made_->site.nodes) chosen[node.name] = true;
    for (const MeasuredPod& pod : state_.services)
      if (chosen.contains(pod.node)) pods_.push_back(&pod);
    if (auto done = addUsage(); !done) return fail(std::move(done.error()));
    addJobs();
    TunedSite* const made = made_.get();
    made->site.load = [made](Random random) {
      return std::make_unique<RecordedLoad>(made->parameters, made->recording, random);
    };
    return std::move(made_);
  }

 private:
  void note(std::string text) { made_->notes.push_back(std::move(text)); }

  Result<> addUsage() {
    UsageRecord record;
    if (!options_.usage.empty()) {
      std::map<api::ObjectKey, bool> wanted;
      for (const MeasuredPod* pod : pods_) wanted[pod->key] = true;
      auto read = readUsage(options_.usage, [&](const auto& key) { return wanted.contains(key); });
      if (!read) return fail(std::move(read.error()));
      record = *std::move(read);
      note(record.hours() < 1 ? fmt::format("usage of {:.0f} minutes, a sample each {} s",
                                            60 * record.hours(), record.every)
                              : fmt::format("usage of {:.1f} hours, a sample each {} s",
                                            record.hours(), record.every));
      if (record.hours() < 24) note("less than a day of usage: the peak of the day may be missing");
    } else {
      record.every = static_cast<std::int64_t>(kStep);
      record.steps = static_cast<std::size_t>(kDay / kStep);
      note(
          fmt::format("no record of usage: that at the time of the snapshot stands for it, with a "
                      "day that rises and falls by {:.0f} %; 'koordctl tune record' writes one",
                      100 * made_->parameters.dailySwing));
    }
    made_->recording.every = static_cast<double>(record.every);
    const double share = useOfRequests(pods_);
    std::size_t unrecorded = 0, unmeasured = 0;
    for (std::size_t n = 0; n < pods_.size(); ++n) {
      const MeasuredPod& pod = *pods_[n];
      made_->recording.pods.push_back({.service = n,
                                       .cores = pod.cores,
                                       .memoryGib = pod.memoryGib,
                                       .limit = pod.limit,
                                       .node = pod.node});
      const auto found = record.pods.find(pod.key);
      if (found != record.pods.end()) {
        made_->recording.series.push_back(found->second);
        continue;
      }
      if (!options_.usage.empty()) ++unrecorded;
      if (!pod.usedCores) ++unmeasured;
      made_->recording.series.push_back(
          assumed(pod.usedCores.value_or(pod.cores * share),
                  pod.usedGib.value_or(pod.memoryGib * kMemoryOfRequest), record.steps));
    }
    if (unrecorded > 0)
      note(
          fmt::format("{} of {} pods are not in the record: their usage at the time of the "
                      "snapshot stands for it",
                      unrecorded, pods_.size()));
    if (unmeasured > 0)
      note(
          fmt::format("{} of {} pods are not measured: they use {:.0f} % of their CPU requests, "
                      "as the others do",
                      unmeasured, pods_.size(), 100 * share));
    return {};
  }

  // A day in which the pod uses that much at the time of the snapshot.
  UsageSeries assumed(double cores, double gib, std::size_t steps) const {
    const double swing = options_.usage.empty() ? made_->parameters.dailySwing : 0;
    const double taken = secondsOf(state_.taken);
    const double mean = cores / (1 + swing * dailyWave(taken));
    UsageSeries series;
    for (std::size_t n = 0; n < steps; ++n) {
      const double wave = dailyWave(taken + static_cast<double>(n) * made_->recording.every);
      series.cores.push_back(static_cast<float>(mean * (1 + swing * wave)));
      series.gib.push_back(static_cast<float>(gib));
    }
    return series;
  }

  void addJobs() {
    double largest = 0;
    for (const NodeSize& node : made_->site.nodes) largest = std::max(largest, node.cores);
    made_->parameters.cores = largest;
    made_->site.jobs = state_.jobs;
    // Thousands of tiny jobs cost much time and change little.
    const double least = largest / kJobsOnNode;
    bool bundled = false;
    for (colocation::JobShape& shape : made_->site.jobs) {
      if (shape.cores >= least) continue;
      const double count = std::ceil(least / shape.cores);
      shape = {shape.cores * count, shape.memoryGib * count};
      bundled = true;
    }
    if (bundled)
      note(fmt::format("batch pods of less than {:.1f} CPUs are bundled to jobs of that size",
                       least));
    if (state_.jobs.empty()) {
      made_->site.jobs = colocation::generatedSite(made_->parameters).jobs;
      note("no batch pod shows what jobs request: jobs of 2 to 8 CPUs are assumed");
    }
    if (state_.jobCpuUse) made_->parameters.jobCpuUse = *state_.jobCpuUse;
  }

  const StudiedCluster& state_;
  const SiteOptions& options_;
  std::unique_ptr<TunedSite> made_;
  std::vector<const MeasuredPod*> pods_;  // of the sample
};

}  // namespace

Result<std::unique_ptr<TunedSite>> makeSite(const StudiedCluster& state, const SiteOptions& options,
                                            const colocation::Parameters& parameters) {
  return SiteMaker(state, options, parameters).run();
}

}  // namespace koord::koordctl
