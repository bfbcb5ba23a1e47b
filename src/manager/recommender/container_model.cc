#include "manager/recommender/container_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/time.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr Duration kCpuHalfLife = 12h;
constexpr Duration kMemoryHalfLife = 24h;
constexpr Duration kMemoryWindow = 24h;
constexpr double kMargin = 1.10;
constexpr double kAfterKill = 1.2;
constexpr double kSamplesPerDay = 24 * 60;
constexpr double kMiB = 1 << 20;
constexpr double kMinCores = 0.025;
constexpr double kMinBytes = 250 * kMiB;
constexpr double kMinConfidence = 1e-6;  // so that the first sample has finite bounds
constexpr double kMaxCores = 1e6;        // limit of an upper bound with little data
constexpr double kMaxBytes = 1e18;

Quantity cpuOf(double cores) {
  const double bounded = std::clamp(cores, kMinCores, kMaxCores);
  // The rounding error of 1.1 x 0.25 as a double must not round up.
  return Quantity::ofMilli(static_cast<std::int64_t>(std::ceil(bounded * 1000 - 1e-6)));
}

Quantity memoryOf(double bytes) {
  const double bounded = std::clamp(bytes, kMinBytes, kMaxBytes);
  const auto mebibytes = static_cast<std::int64_t>(std::ceil(bounded / kMiB - 1e-6));
  return Quantity::of(mebibytes << 20, Quantity::Format::BinarySI);
}

RecommendedAmounts amountsOf(double cores, double bytes, double factor) {
  return {cpuOf(cores * kMargin * factor), memoryOf(bytes * kMargin * factor)};
}

}  // namespace

json::value MemoryWindow::save() const {
  return json::object{{"ends", formatTime(ends)}, {"peak", peak}};
}

Result<MemoryWindow> MemoryWindow::load(const json::value& document, WallTime now) {
  const auto ends = parseTime(textAt(document, "ends"));
  if (!ends || *ends > now + kMemoryWindow)
    return fail(ErrorCode::Invalid, "ends: is not a time within a day");
  const auto peak = realNumber(memberOf(document, "peak"));
  if (!peak || !(*peak >= 0) || *peak > kMaxBytes)
    return fail(ErrorCode::Invalid, "peak: is not a number of bytes");
  return MemoryWindow{*ends, *peak};
}

ContainerModel::ContainerModel()
    : cpu_(model::cpuBuckets(), model::kEmptyWeight, kCpuHalfLife),
      memory_(model::memoryBuckets(), model::kEmptyWeight, kMemoryHalfLife) {}

void ContainerModel::addPeak(double bytes, WallTime time, MemoryWindow& window) {
  if (time >= window.ends) {
    window = {time + kMemoryWindow, 0};
  } else if (bytes <= window.peak) {
    return;
  }
  // Removes the day's earlier peak, with the weight that it was added with.
  if (window.peak > 0) memory_.subtract(window.peak, 1, window.ends);
  window.peak = bytes;
  memory_.add(bytes, 1, window.ends);
}

void ContainerModel::add(double cores, double bytes, WallTime time, MemoryWindow& window) {
  cpu_.add(cores, 1, time);
  addPeak(bytes, time, window);
  if (samples_++ == 0) first_ = time;
  last_ = std::max(last_, time);
}

void ContainerModel::addOutOfMemory(double bytes, WallTime time, MemoryWindow& window) {
  addPeak(std::max(bytes, window.peak) * kAfterKill, time, window);
}

double ContainerModel::confidence() const {
  const double days = std::chrono::duration<double>(last_ - first_).count() / 86'400;
  return std::min(days, static_cast<double>(samples_) / kSamplesPerDay);
}

ContainerAdvice ContainerModel::advice() const {
  const double sure = confidence();
  const double known = std::max(sure, kMinConfidence);
  return {amountsOf(cpu_.percentile(0.5), memory_.percentile(0.5), std::pow(1 + 0.001 / known, -2)),
          amountsOf(cpu_.percentile(0.95), memory_.percentile(0.98), 1),
          amountsOf(cpu_.percentile(0.98), memory_.percentile(1), 1 + 1 / known), sure};
}

json::value ContainerModel::save() const {
  return json::object{{"cpu", toDocument(cpu_.save())},
                      {"memory", toDocument(memory_.save())},
                      {"firstSample", formatTime(first_)},
                      {"lastSample", formatTime(last_)},
                      {"samples", samples_}};
}

Result<ContainerModel> ContainerModel::load(const json::value& document) {
  ContainerModel loaded;
  const std::pair<const char*, model::Histogram*> histograms[] = {{"cpu", &loaded.cpu_},
                                                                  {"memory", &loaded.memory_}};
  for (const auto& [name, histogram] : histograms) {
    const auto* section = find(document, name);
    auto checkpoint = model::readHistogramCheckpoint(section ? *section : json::value());
    if (!checkpoint) return fail(std::move(checkpoint.error()).within(name));
    if (auto taken = histogram->load(*checkpoint); !taken)
      return fail(std::move(taken.error()).within(name));
  }
  const std::pair<const char*, WallTime*> times[] = {{"firstSample", &loaded.first_},
                                                     {"lastSample", &loaded.last_}};
  for (const auto& [name, time] : times) {
    const auto read = parseTime(textAt(document, name));
    if (!read) return fail(ErrorCode::Invalid, fmt::format("{}: is not a time", name));
    *time = *read;
  }
  const auto* samples = find(document, "samples");
  if (!samples || !samples->is_int64() || samples->get_int64() < 0)
    return fail(ErrorCode::Invalid, "samples: is not a count");
  loaded.samples_ = samples->get_int64();
  return loaded;
}

}  // namespace koord::manager
