#include "koordctl/tune/usage_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "koordctl/colocation/units.h"

namespace koord::koordctl {

namespace {

using colocation::kGib;

constexpr std::int64_t kLatest = 32503680000;  // the year 3000
constexpr std::int64_t kShortestStep = 1, kLongestStep = 3600;
constexpr std::size_t kMaxPoints = 100'000'000;  // 800 MB
constexpr std::size_t kMaxGap = 5;               // steps that are filled
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

struct Sample {
  std::int64_t time = 0, milli = 0, bytes = 0;
};
using Samples = std::map<api::ObjectKey, std::vector<Sample>>;

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
  Reader(const std::string& file, const std::function<bool(const api::ObjectKey&)>& wanted)
      : file_(file), wanted_(wanted) {}

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
  Result<> take(std::string_view line) {
    if (line_ == 1) {
      if (line == kUsageHeader) return {};
      return wrong(fmt::format("the first line must be \"{}\"", kUsageHeader));
    }
    if (line.empty() || line == kUsageHeader) return {};  // files that were joined
    const auto time = whole(field(line), kLatest);
    if (!time) return wrong("time must be a number of seconds since 1970");
    api::ObjectKey pod;
    pod.namespace_ = field(line);
    pod.name = field(line);
    if (pod.namespace_.empty() || pod.name.empty())
      return wrong("namespace and pod must not be empty");
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const auto milli = whole(field(line), kMost);
    if (!milli) return wrong("cpu_milli must be a whole number of at least 0");
    const auto bytes = whole(field(line), kMost);
    if (!bytes || !line.empty()) return wrong("memory_bytes must be a whole number of at least 0");
    if (!wanted(pod)) return {};
    if (++count_ > kMaxPoints)
      return wrong(fmt::format("more than {} samples of pods that matter: use a part of the file",
                               kMaxPoints));
    samples_[pod].push_back({*time, *milli, *bytes});
    return {};
  }

  // Most lines are about pods that were asked for before.
  bool wanted(const api::ObjectKey& pod) {
    if (samples_.contains(pod)) return true;
    if (others_.contains(pod)) return false;
    if (wanted_(pod)) return true;
    others_.insert(pod);
    return false;
  }

  std::unexpected<Error> wrong(const std::string& what) const {
    return fail(ErrorCode::Invalid, fmt::format("{}:{}: {}", file_, line_, what));
  }

  const std::string& file_;
  const std::function<bool(const api::ObjectKey&)>& wanted_;
  std::size_t line_ = 0, count_ = 0;
  Samples samples_;
  std::set<api::ObjectKey> others_;
};

// The median distance of samples of one pod.
std::int64_t stepOf(const Samples& samples) {
  std::vector<std::int64_t> gaps;
  for (const auto& [pod, all] : samples)
    for (std::size_t n = 1; n < all.size(); ++n)
      if (all[n].time != all[n - 1].time) gaps.push_back(all[n].time - all[n - 1].time);
  if (gaps.empty()) return 60;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>((gaps.size() - 1) / 2);
  std::ranges::nth_element(gaps, middle);
  return std::clamp(*middle, kShortestStep, kLongestStep);
}

void fillGaps(std::vector<float>& values) {
  std::size_t last = values.size();
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (std::isnan(values[n])) continue;
    if (last < n && n - last - 1 <= kMaxGap)
      std::fill(values.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                values.begin() + static_cast<std::ptrdiff_t>(n), values[last]);
    last = n;
  }
}

}  // namespace

Result<UsageRecord> readUsage(const std::string& file,
                              const std::function<bool(const api::ObjectKey& pod)>& wanted) {
  auto samples = Reader(file, wanted).read();
  if (!samples) return fail(std::move(samples.error()));
  if (samples->empty())
    return fail(ErrorCode::NotFound,
                file + ": no sample is of a pod that runs on the nodes of the study");
  UsageRecord record;
  std::int64_t last = 0;
  record.start = kLatest;
  for (auto& [pod, all] : *samples) {
    std::ranges::stable_sort(all, {}, &Sample::time);
    record.start = std::min(record.start, all.front().time);
    last = std::max(last, all.back().time);
  }
  record.every = stepOf(*samples);
  record.steps = static_cast<std::size_t>((last - record.start) / record.every) + 1;
  if (record.steps > kMaxPoints / samples->size())
    return fail(ErrorCode::Invalid,
                fmt::format("{}: {} pods from {} to {} in steps of {} s are more than {} samples",
                            file, samples->size(), record.start, last, record.every, kMaxPoints));
  for (const auto& [pod, all] : *samples) {
    UsageSeries& series = record.pods[pod];
    series.cores.assign(record.steps, kAbsent);
    series.gib.assign(record.steps, kAbsent);
    for (const Sample& sample : all) {
      const auto step = static_cast<std::size_t>((sample.time - record.start) / record.every);
      series.cores[step] = static_cast<float>(static_cast<double>(sample.milli) / 1000);
      series.gib[step] = static_cast<float>(static_cast<double>(sample.bytes) / kGib);
    }
    fillGaps(series.cores);
    fillGaps(series.gib);
  }
  return record;
}

std::string usageLine(std::int64_t time, const api::ObjectKey& pod, std::int64_t milli,
                      std::int64_t bytes) {
  return fmt::format("{},{},{},{},{}\n", time, pod.namespace_, pod.name, milli, bytes);
}

}  // namespace koord::koordctl
