#include "koordctl/tune/tuned_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
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

float meanOfKnown(const std::vector<float>& values) {
  double sum = 0, count = 0;
  for (const float value : values) {
    if (std::isnan(value)) continue;
    sum += static_cast<double>(value);
    ++count;
  }
  return count > 0 ? static_cast<float>(sum / count) : 0;
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

  // The workload of the chosen pods that a recorded name belongs to. The longest name
  // that is of a workload in the cluster counts.
  UsageFilter filter() {
    std::set<PodWorkload> known, chosen;
    std::set<api::ObjectKey> pods;
    std::map<api::ObjectKey, PodWorkload> present;
    for (const MeasuredPod& pod : state_.services) {
      if (!pod.workload) continue;
      known.insert(*pod.workload);
      present.emplace(pod.key, *pod.workload);
    }
    for (const MeasuredPod* pod : pods_) {
      pods.insert(pod->key);
      if (pod->workload) chosen.insert(*pod->workload);
    }
    const auto workload =
        [known = std::move(known), chosen = std::move(chosen),
         present = std::move(present)](const api::ObjectKey& pod) -> std::optional<PodWorkload> {
      const auto wanted = [&](const PodWorkload& each) {
        return chosen.contains(each) ? std::optional(each) : std::nullopt;
      };
      if (const auto it = present.find(pod); it != present.end()) return wanted(it->second);
      for (const PodWorkload& each : possibleWorkloads(pod))
        if (known.contains(each)) return wanted(each);
      return std::nullopt;
    };
    return {[pods = std::move(pods)](const api::ObjectKey& pod) { return pods.contains(pod); },
            workload};
  }

  Result<UsageRecord> record() {
    UsageRecord record;
    if (options_.usage.empty()) {
      record.every = static_cast<std::int64_t>(kStep);
      record.steps = static_cast<std::size_t>(kDay / kStep);
      note(
          fmt::format("no record of usage: that at the time of the snapshot stands for it, with a "
                      "day that rises and falls by {:.0f} % and is highest at {:.0f}:00 UTC; "
                      "'koordctl tune record' writes one",
                      100 * made_->parameters.dailySwing, kPeakHour));
      return record;
    }
    if (state_.namesHashed)
      return fail(ErrorCode::Invalid, "the names of the snapshot are hashed, so no pod of " +
                                          options_.usage +
                                          " is found in it: take a snapshot without --hash-names");
    auto read = readUsage(options_.usage, filter());
    if (!read) return fail(std::move(read.error()));
    record = *std::move(read);
    note(record.hours() < 1 ? fmt::format("usage of {:.0f} minutes, a sample each {} s",
                                          60 * record.hours(), record.every)
                            : fmt::format("usage of {:.1f} hours, a sample each {} s",
                                          record.hours(), record.every));
    if (record.hours() < 24) note("less than a day of usage: the peak of the day may be missing");
    return record;
  }

  Result<> addUsage() {
    auto read = record();
    if (!read) return fail(std::move(read.error()));
    const UsageRecord& record = *read;
    made_->recording.every = static_cast<double>(record.every);
    const double share = useOfRequests(pods_);
    std::size_t unrecorded = 0, unmeasured = 0;
    for (std::size_t n = 0; n < pods_.size(); ++n) {
      const MeasuredPod& pod = *pods_[n];
      made_->recording.pods.push_back({.service = n,
                                       .cores = pod.cores,
                                       .memoryGib = pod.memoryGib,
                                       .limit = pod.limit,
                                       .node = pod.node,
                                       .qos = pod.qos});
      if (auto series = recorded(record, pod)) {
        made_->recording.series.push_back(*std::move(series));
        continue;
      }
      if (!options_.usage.empty()) ++unrecorded;
      if (!pod.usedCores) ++unmeasured;
      made_->recording.series.push_back(
          assumed(pod.usedCores.value_or(pod.cores * share),
                  pod.usedGib.value_or(pod.memoryGib * kMemoryOfRequest), record.steps));
    }
    noteFilled(static_cast<double>(record.steps) * static_cast<double>(pods_.size()));
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
    noteThrottled();
    if (pods_.empty())
      note("no pod runs on these nodes, so the slowdown of services limits nothing");
    return {};
  }

  void noteThrottled() {
    double all = 0, throttled = 0;
    const Recording& recording = made_->recording;
    for (std::size_t n = 0; n < recording.pods.size(); ++n)
      for (const float cores : recording.series[n].cores) {
        const auto demand = static_cast<double>(cores);
        all += demand;
        if (isThrottledAlone(made_->parameters, recording.pods[n], demand)) throttled += demand;
      }
    if (throttled > 0)
      note(
          fmt::format("{:.0f} % of the CPU usage is of pods near their CPU limits: these throttle "
                      "them with and without batch pods, so their slowdown does not count",
                      std::max(1.0, 100 * throttled / all)));
  }

  void noteFilled(double all) {
    if (byWorkload_ > 0)
      note(
          fmt::format("pods of now were not there for {:.0f} % of the time of the record: the "
                      "mean of the pods that their workloads had stands for them",
                      100 * byWorkload_ / all));
    if (byMean_ > 0)
      note(
          fmt::format("neither pods nor their workloads were there for {:.0f} % of the time of "
                      "the record: their mean stands for it",
                      100 * byMean_ / all));
  }

  // What the pod used; while it was not there, what the pods of its workload used; else the mean.
  // nullopt: neither is in the record.
  std::optional<UsageSeries> recorded(const UsageRecord& record, const MeasuredPod& pod) {
    const auto own = record.pods.find(pod.key);
    const auto workload =
        pod.workload ? record.workloads.find(*pod.workload) : record.workloads.end();
    const bool hasOwn = own != record.pods.end(), hasOthers = workload != record.workloads.end();
    if (!hasOwn && !hasOthers) return std::nullopt;
    UsageSeries series = hasOwn ? own->second : workload->second;
    double absent = 0, filled = 0;
    for (const auto part : {&UsageSeries::cores, &UsageSeries::gib}) {
      std::vector<float>& values = series.*part;
      absent = filled = 0;
      for (std::size_t n = 0; n < values.size(); ++n) {
        if (hasOwn && !std::isnan(values[n])) continue;
        ++absent;
        if (hasOthers) values[n] = (workload->second.*part)[n];
        if (!std::isnan(values[n])) ++filled;
      }
      const float mean = meanOfKnown(values);
      for (float& value : values)
        if (std::isnan(value)) value = mean;
    }
    byWorkload_ += filled;
    byMean_ += absent - filled;
    return series;
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

  // The largest job: a quarter of the median node, as in the study. Jobs that fit nowhere beside
  // services would fill the queue.
  colocation::JobShape largestJob() const {
    const auto median = [&](double NodeSize::* amount) {
      std::vector<double> all;
      for (const NodeSize& node : made_->site.nodes) all.push_back(node.*amount);
      std::ranges::sort(all);
      return all[(all.size() - 1) / 2];
    };
    return {median(&NodeSize::cores) / 4, median(&NodeSize::memoryGib) / 4};
  }

  void addJobs() {
    double most = 0;
    for (const NodeSize& node : made_->site.nodes) most = std::max(most, node.cores);
    const colocation::JobShape largest = largestJob();
    made_->parameters.cores = 4 * largest.cores;
    made_->site.jobs = state_.jobs;
    // Thousands of tiny jobs cost much time and change little.
    const double least = std::min(most / kJobsOnNode, largest.cores);
    bool bundled = false, divided = false;
    for (colocation::JobShape& shape : made_->site.jobs) {
      const double room =
          std::min(largest.cores / shape.cores, largest.memoryGib / shape.memoryGib);
      double count = std::min(std::max(1.0, std::ceil(least / shape.cores)), room);
      if (count >= 1) count = std::floor(count);
      bundled |= count > 1;
      divided |= count < 1;
      shape = {shape.cores * count, shape.memoryGib * count};
    }
    if (bundled)
      note(fmt::format("batch pods of less than {:.1f} CPUs are bundled to jobs of that size",
                       least));
    if (divided)
      note(
          fmt::format("batch pods of more than {:.1f} CPUs or {:.1f} GiB, a quarter of the "
                      "median node, are divided into jobs of that size",
                      largest.cores, largest.memoryGib));
    if (state_.jobs.empty()) {
      made_->site.jobs = colocation::generatedSite(made_->parameters).jobs;
      note("no batch pod shows what jobs request: jobs of 2 to 8 CPUs are assumed");
    }
    // Unless --set says otherwise.
    if (state_.jobCpuUse && made_->parameters.jobCpuUse == colocation::Parameters{}.jobCpuUse)
      made_->parameters.jobCpuUse = *state_.jobCpuUse;
  }

  const StudiedCluster& state_;
  const SiteOptions& options_;
  std::unique_ptr<TunedSite> made_;
  std::vector<const MeasuredPod*> pods_;  // of the sample
  double byWorkload_ = 0, byMean_ = 0;    // steps of pods that the record lacks
};

}  // namespace

Result<std::unique_ptr<TunedSite>> makeSite(const StudiedCluster& state, const SiteOptions& options,
                                            const colocation::Parameters& parameters) {
  return SiteMaker(state, options, parameters).run();
}

}  // namespace koord::koordctl
