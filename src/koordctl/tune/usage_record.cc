#include "koordctl/tune/usage_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "koordctl/colocation/units.h"

namespace koord::koordctl {

namespace {

using colocation::kGib, colocation::kMostCores, colocation::kMostGib;

constexpr std::int64_t kLatest = 32503680000;  // the year 3000
constexpr std::int64_t kShortestStep = 1, kLongestStep = 3600;
constexpr std::size_t kMaxPoints = 50'000'000;  // 800 MB
constexpr std::int64_t kMaxGap = 5;             // steps that are filled
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

struct Sample {
  std::int64_t time = 0;
  float cores = 0, gib = 0;
};
// Of all pods of a workload in a minute.
struct Sum {
  std::int64_t time = 0;  // the first second
  double cores = 0, gib = 0;
  double count = 0;
};
constexpr std::int64_t kMinute = 60;

struct Samples {
  std::map<api::ObjectKey, std::vector<Sample>> pods;
  std::map<PodWorkload, std::vector<Sum>> workloads;
  std::map<std::int64_t, std::size_t> gaps;  // between samples of one pod, s: how often
};

std::optional<std::int64_t> whole(std::string_view text, std::int64_t highest) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc{} && end == text.data() + text.size();
  return all && value >= 0 && value <= highest ? std::optional(value) : std::nullopt;
}

// The next field; `line` keeps the rest.
std::string_view field(std::string_view& line) {
  const std::size_t comma = std::min(line.find(','), line.size());
  const std::string_view text = line.substr(0, comma);
  line.remove_prefix(std::min(comma + 1, line.size()));
  return text;
}

class Reader {
 public:
  Reader(const std::string& file, const UsageFilter& filter) : file_(file), filter_(filter) {}

  Result<Samples> read() {
    std::ifstream in(file_, std::ios::binary);
    if (!in) return fail(ErrorCode::NotFound, file_ + ": cannot be read");
    std::string line;
    while (std::getline(in, line)) {
      ++line_;
      if (in.eof()) break;  // no end of line
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (auto taken = take(line); !taken) return fail(std::move(taken.error()));
    }
    if (in.bad()) return fail(ErrorCode::Internal, file_ + ": reading failed");
    if (line_ == 0) return fail(ErrorCode::Invalid, file_ + ": the file is empty");
    return std::move(samples_);
  }

 private:
  // Where the samples of a name belong; both nullptr: nowhere.
  struct Place {
    std::vector<Sample>* pod = nullptr;
    std::vector<Sum>* workload = nullptr;
    std::int64_t last = -1;  // time of the last sample
  };

  Result<> take(std::string_view line) {
    if (line_ == 1) {
      if (line == kUsageHeader) return {};
      return wrong(fmt::format("the first line must be \"{}\"", kUsageHeader));
    }
    if (line.empty() || line == kUsageHeader) return {};  // files that were joined
    const auto time = whole(field(line), kLatest);
    if (!time) return wrong("time must be a number of seconds since 1970");
    name_.namespace_ = field(line);
    name_.name = field(line);
    if (name_.namespace_.empty() || name_.name.empty())
      return wrong("namespace and pod must not be empty");
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const auto milli = whole(field(line), kMost);
    if (!milli) return wrong("cpu_milli must be a whole number of at least 0");
    const auto bytes = whole(field(line), kMost);
    if (!bytes || !line.empty()) return wrong("memory_bytes must be a whole number of at least 0");
    Place& place = placeOf(name_);
    if (!place.pod && !place.workload) return {};
    const double cores = std::min(static_cast<double>(*milli) / 1000, kMostCores);
    const double gib = std::min(static_cast<double>(*bytes) / kGib, kMostGib);
    if (place.last >= 0 && *time != place.last) ++samples_.gaps[std::abs(*time - place.last)];
    place.last = *time;
    if (place.workload) add(*place.workload, *time, cores, gib);
    if (place.pod) {
      ++count_;
      place.pod->push_back({*time, static_cast<float>(cores), static_cast<float>(gib)});
    }
    if (count_ > kMaxPoints)
      return wrong(fmt::format("more than {} samples of pods that matter: use a part of the file",
                               kMaxPoints));
    return {};
  }

  void add(std::vector<Sum>& sums, std::int64_t time, double cores, double gib) {
    const std::int64_t start = time - time % kMinute;
    if (sums.empty() || sums.back().time != start) {
      sums.push_back({.time = start});
      ++count_;
    }
    sums.back().cores += cores;
    sums.back().gib += gib;
    ++sums.back().count;
  }

  Place& placeOf(const api::ObjectKey& name) {
    const auto [it, added] = places_.try_emplace(name);
    if (!added) return it->second;
    if (filter_.pod(name)) it->second.pod = &samples_.pods[name];
    if (filter_.workload)
      if (const auto workload = filter_.workload(name))
        it->second.workload = &samples_.workloads[*workload];
    return it->second;
  }

  std::unexpected<Error> wrong(const std::string& what) const {
    return fail(ErrorCode::Invalid, fmt::format("{}:{}: {}", file_, line_, what));
  }

  const std::string& file_;
  const UsageFilter& filter_;
  std::size_t line_ = 0, count_ = 0;
  api::ObjectKey name_;  // of the line
  Samples samples_;      // nodes of its maps keep their addresses
  std::unordered_map<api::ObjectKey, Place> places_;
};

// The median distance of samples of one pod.
std::int64_t stepOf(const Samples& samples) {
  std::size_t all = 0, below = 0;
  for (const auto& [gap, count] : samples.gaps) all += count;
  for (const auto& [gap, count] : samples.gaps)
    if ((below += count) * 2 >= all) return std::clamp(gap, kShortestStep, kLongestStep);
  return kMinute;
}

// The steps that the record has: those with samples, and short gaps between them.
class Grid {
 public:
  Grid(const Samples& samples, std::int64_t every) : every_(every) {
    for (const auto& [pod, all] : samples.pods)
      for (const Sample& sample : all) steps_.push_back(sample.time / every);
    for (const auto& [workload, all] : samples.workloads)
      for (const Sum& sum : all) steps_.push_back(sum.time / every);
    std::ranges::sort(steps_);
    steps_.erase(std::ranges::unique(steps_).begin(), steps_.end());
    std::vector<std::int64_t> whole;
    for (const std::int64_t step : steps_) {
      if (!whole.empty() && step - whole.back() <= kMaxGap + 1)
        while (whole.back() + 1 < step) whole.push_back(whole.back() + 1);
      whole.push_back(step);
    }
    steps_ = std::move(whole);
  }

  std::size_t size() const { return steps_.size(); }
  std::size_t indexOf(std::int64_t time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(steps_, time / every_) -
                                    steps_.begin());
  }
  std::int64_t at(std::size_t index) const { return steps_[index]; }

 private:
  std::int64_t every_;
  std::vector<std::int64_t> steps_;
};

void fillGaps(std::vector<float>& values, const Grid& grid) {
  std::size_t last = values.size();
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (std::isnan(values[n])) continue;
    if (last < n && grid.at(n) - grid.at(last) - 1 <= kMaxGap)
      std::fill(values.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                values.begin() + static_cast<std::ptrdiff_t>(n), values[last]);
    last = n;
  }
}

UsageSeries absent(const Grid& grid) {
  return {std::vector<float>(grid.size(), kAbsent), std::vector<float>(grid.size(), kAbsent)};
}

UsageSeries seriesOf(std::vector<Sample> samples, const Grid& grid) {
  std::ranges::stable_sort(samples, {}, &Sample::time);
  UsageSeries series = absent(grid);
  for (const Sample& sample : samples) {
    const std::size_t step = grid.indexOf(sample.time);
    series.cores[step] = sample.cores;
    series.gib[step] = sample.gib;
  }
  fillGaps(series.cores, grid);
  fillGaps(series.gib, grid);
  return series;
}

UsageSeries meanOf(const std::vector<Sum>& sums, const Grid& grid) {
  std::vector<Sum> all(grid.size());
  for (const Sum& sum : sums) {
    Sum& step = all[grid.indexOf(sum.time)];
    step.cores += sum.cores;
    step.gib += sum.gib;
    step.count += sum.count;
  }
  UsageSeries series = absent(grid);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].count == 0) continue;
    series.cores[n] = static_cast<float>(all[n].cores / all[n].count);
    series.gib[n] = static_cast<float>(all[n].gib / all[n].count);
  }
  fillGaps(series.cores, grid);
  fillGaps(series.gib, grid);
  return series;
}

}  // namespace

Result<UsageRecord> readUsage(const std::string& file, const UsageFilter& filter) {
  auto samples = Reader(file, filter).read();
  if (!samples) return fail(std::move(samples.error()));
  const std::size_t count = samples->pods.size() + samples->workloads.size();
  if (count == 0)
    return fail(ErrorCode::NotFound,
                file + ": no sample is of a pod that runs on the nodes of the study");
  UsageRecord record;
  record.every = stepOf(*samples);
  const Grid grid(*samples, record.every);
  record.steps = grid.size();
  if (record.steps > kMaxPoints / count)
    return fail(ErrorCode::Invalid,
                fmt::format("{}: {} pods and workloads with {} steps of {} s are more than {} "
                            "samples: use a part of the file",
                            file, count, record.steps, record.every, kMaxPoints));
  for (auto& [pod, all] : samples->pods) record.pods[pod] = seriesOf(std::move(all), grid);
  for (const auto& [workload, all] : samples->workloads)
    record.workloads[workload] = meanOf(all, grid);
  return record;
}

std::string usageLine(std::int64_t time, const api::ObjectKey& pod, std::int64_t milli,
                      std::int64_t bytes) {
  return fmt::format("{},{},{},{},{}\n", time, pod.namespace_, pod.name, milli, bytes);
}

}  // namespace koord::koordctl
