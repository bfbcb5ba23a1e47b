#include "koordlet/metriccache/metric_cache.h"

#include <algorithm>
#include <limits>

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// 32 bits of ticks last for a year and a third; then the cache is cleared.
constexpr Duration kTick = 10ms;

}  // namespace

MetricCache::MetricCache(Duration interval, Horizons horizons)
    : interval_(std::max<Duration>(interval, 100ms)), horizons_(horizons) {}

std::uint32_t MetricCache::tickOf(WallTime time) const {
  const auto ticks = (time - epoch_) / kTick;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(ticks, 0, std::numeric_limits<std::uint32_t>::max()));
}

WallTime MetricCache::timeOf(const Sample& sample) const {
  return epoch_ + kTick * sample.at;
}

Duration MetricCache::horizonOf(Metric metric) const {
  switch (metric) {
    case Metric::NodeCpu:
    case Metric::NodeMemory:
    case Metric::NodeMemoryWithPageCache:
    case Metric::NodeMemoryWithHotPages:
    case Metric::SystemCpu:
    case Metric::SystemMemory:
    case Metric::BeCpuUsage:
    case Metric::BeCpuRealLimit:
    case Metric::BeCpuRequest:
      return horizons_.node;
    // Only the newest samples of these series are used.
    case Metric::ContainerCpu:
    case Metric::ContainerMemory:
    case Metric::ContainerMemoryWithPageCache:
    case Metric::PodThrottled:
    case Metric::ContainerThrottled:
      return std::max(horizons_.brief, interval_ * 3);
    default:
      return horizons_.subject;
  }
}

void MetricCache::resize(Series& series, std::size_t capacity) {
  std::vector<Sample> ring;
  ring.reserve(capacity);
  const std::size_t kept = std::min(series.size, capacity);
  for (std::size_t i = series.size - kept; i < series.size; ++i) ring.push_back(series.sample(i));
  ring.resize(capacity);
  series.ring = std::move(ring);
  series.head = 0;
  series.size = kept;
}

void MetricCache::push(Series& series, Sample sample, std::size_t capacity) {
  if (series.ring.size() > capacity) resize(series, capacity);
  if (series.size == series.ring.size() && series.size < capacity)
    resize(series, std::min(capacity, std::max<std::size_t>(8, series.size + series.size / 2)));
  if (series.size < series.ring.size()) {
    series.ring[(series.head + series.size) % series.ring.size()] = sample;
    ++series.size;
    return;
  }
  series.ring[series.head] = sample;
  series.head = (series.head + 1) % series.ring.size();
}

void MetricCache::append(Metric metric, std::string_view subject, WallTime time, double value) {
  // The epoch is a day earlier, in case the clock is set back a little.
  const bool overflows = (time - epoch_) / kTick > std::numeric_limits<std::uint32_t>::max();
  if (epoch_ == WallTime{} || time < epoch_ || overflows) {
    series_.clear();
    epoch_ = time - 24h;
  }
  auto it = series_.find(KeyView{metric, subject});
  if (it == series_.end()) it = series_.emplace(Key{metric, std::string(subject)}, Series{}).first;
  Series& series = it->second;
  const std::uint32_t at = tickOf(time);
  while (series.size > 0 && series.sample(series.size - 1).at > at) --series.size;
  const auto capacity = static_cast<std::size_t>(horizonOf(metric) / interval_) + 1;
  push(series, {at, value}, capacity);
}

const MetricCache::Series* MetricCache::find(Metric metric, std::string_view subject) const {
  const auto it = series_.find(KeyView{metric, subject});
  return it == series_.end() ? nullptr : &it->second;
}

std::pair<std::size_t, std::size_t> MetricCache::range(const Series& series, WallTime from,
                                                       WallTime to) const {
  if (to < epoch_) return {0, 0};
  // Sample times are rounded down to ticks. `from` is too, or a sample at `from` would be lost.
  const std::uint32_t first = tickOf(from);
  const std::uint32_t last = tickOf(to);
  std::size_t end = series.size;
  while (end > 0 && series.sample(end - 1).at > last) --end;
  std::size_t low = 0, high = end;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (series.sample(middle).at < first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, end};
}

std::optional<double> MetricCache::last(Metric metric, std::string_view subject, WallTime from,
                                        WallTime to) const {
  const Series* series = find(metric, subject);
  if (!series) return std::nullopt;
  const auto [begin, end] = range(*series, from, to);
  if (begin == end) return std::nullopt;
  return series->sample(end - 1).value;
}

std::optional<double> MetricCache::average(Metric metric, std::string_view subject, WallTime from,
                                           WallTime to) const {
  const Series* series = find(metric, subject);
  if (!series) return std::nullopt;
  const auto [begin, end] = range(*series, from, to);
  if (begin == end) return std::nullopt;
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += series->sample(i).value;
  return sum / static_cast<double>(end - begin);
}

std::optional<MetricCache::Window> MetricCache::aggregates(Metric metric, std::string_view subject,
                                                           WallTime from, WallTime to) const {
  const Series* series = find(metric, subject);
  if (!series) return std::nullopt;
  const auto [begin, end] = range(*series, from, to);
  if (begin == end) return std::nullopt;
  values_.clear();
  for (std::size_t i = begin; i < end; ++i) values_.push_back(series->sample(i).value);
  const Duration span = kTick * (series->sample(end - 1).at - series->sample(begin).at);
  return Window{aggregateInPlace(values_), span};
}

void MetricCache::collectGarbage(WallTime now) {
  std::erase_if(series_, [&](const auto& entry) {
    const Series& series = entry.second;
    if (series.size == 0) return true;
    const WallTime newest = timeOf(series.sample(series.size - 1));
    return now - newest > horizonOf(entry.first.metric);
  });
}

std::size_t MetricCache::memoryBytes() const {
  std::size_t bytes = series_.bucket_count() * sizeof(void*);
  for (const auto& [key, series] : series_)
    bytes += sizeof(Key) + sizeof(Series) + key.subject.capacity() +
             series.ring.capacity() * sizeof(Sample);
  return bytes;
}

}  // namespace koord::koordlet
