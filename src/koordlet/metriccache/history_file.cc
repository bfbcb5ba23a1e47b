#include "koordlet/metriccache/history_file.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "base/file.h"
#include "koordlet/system/small_file.h"

// The file: a magic word, then per series its number and its samples (time in nanoseconds since
// 1970, value), all in the byte order of the host, and a checksum of everything before it.

namespace koord::koordlet {
namespace {

constexpr std::string_view kMagic = "koordlet history 1\n";

// The number of a series in the file must not change with the order of Metric.
constexpr std::pair<std::uint32_t, Metric> kSeries[] = {
    {1, Metric::NodeCpu},   {2, Metric::NodeMemory},   {3, Metric::NodeMemoryWithPageCache},
    {4, Metric::SystemCpu}, {5, Metric::SystemMemory},
};

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool take(std::string_view& text, T& value) {
  if (text.size() < sizeof value) return false;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return true;
}

std::uint64_t checksum(std::string_view text) {  // FNV-1a
  std::uint64_t sum = 14'695'981'039'346'656'037U;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return sum;
}

// The checksum is already checked. A text that is too short now comes from another writer: false.
bool loadSeries(MetricCache& cache, std::string_view& text, WallTime now, Duration horizon) {
  std::uint32_t number = 0, count = 0;
  if (!take(text, number) || !take(text, count)) return false;
  const Metric* metric = nullptr;
  for (const auto& [known, itsMetric] : kSeries)
    if (known == number) metric = &itsMetric;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::int64_t time = 0;
    double value = 0;
    if (!take(text, time) || !take(text, value)) return false;
    const WallTime at{Duration(time)};
    if (metric && at <= now && now - at <= horizon) cache.append(*metric, "", at, value);
  }
  return true;
}

}  // namespace

Result<> saveHistory(const MetricCache& cache, const std::string& path) {
  std::string text(kMagic);
  std::size_t samples = 0;
  for (const auto& [number, metric] : kSeries) samples += cache.sampleCount(metric, "");
  constexpr std::size_t kSample = sizeof(std::int64_t) + sizeof(double);
  text.reserve(text.size() + std::size(kSeries) * kSample + samples * kSample + kSample);
  for (const auto& [number, metric] : kSeries) {
    put(text, number);
    put(text, static_cast<std::uint32_t>(cache.sampleCount(metric, "")));
    cache.forEachSample(metric, "", [&](WallTime time, double value) {
      put(text, static_cast<std::int64_t>(time.time_since_epoch().count()));
      put(text, value);
    });
  }
  put(text, checksum(text));
  return replaceFile(path, text);
}

Result<> loadHistory(MetricCache& cache, const std::string& path, WallTime now) {
  const auto file = readFile(path);
  if (!file) return fail(file.error());
  std::string_view text = *file;
  std::uint64_t sum = 0;
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + sizeof sum)
    return fail(ErrorCode::Invalid, fmt::format("{}: not a history of this version", path));
  std::string_view tail = text.substr(text.size() - sizeof sum);
  text.remove_suffix(sizeof sum);
  take(tail, sum);
  if (sum != checksum(text)) return fail(ErrorCode::Invalid, fmt::format("{}: damaged", path));
  text.remove_prefix(kMagic.size());
  while (!text.empty())
    if (!loadSeries(cache, text, now, cache.nodeHorizon()))
      return fail(ErrorCode::Invalid, fmt::format("{}: breaks off", path));
  return {};
}

}  // namespace koord::koordlet
