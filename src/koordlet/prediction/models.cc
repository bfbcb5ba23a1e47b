#include "koordlet/prediction/models.h"

#include <fmt/format.h>

#include <charconv>

#include "base/time.h"

namespace koord::koordlet::prediction {
namespace {

constexpr double kGrowth = 1.05;
constexpr double kEpsilon = 1e-4;

const Buckets& cpuBuckets() {
  static const Buckets buckets = Buckets::exponential(1024, 0.025, kGrowth);
  return buckets;
}
const Buckets& memoryBuckets() {
  static const Buckets buckets =
      Buckets::exponential(static_cast<double>(std::int64_t{1} << 41), 5 << 20, kGrowth);
  return buckets;
}

json::value written(const HistogramCheckpoint& checkpoint) {
  json::object weights;
  for (const auto& [bucket, weight] : checkpoint.weights) weights[std::to_string(bucket)] = weight;
  return json::object{
      {"referenceTimestamp",
       checkpoint.reference ? formatTime(*checkpoint.reference) : "0001-01-01T00:00:00Z"},
      {"bucketWeights", std::move(weights)},
      {"totalWeight", checkpoint.total}};
}

Result<HistogramCheckpoint> readCheckpoint(const json::value& document, const char* name) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::Invalid, fmt::format("{}.{}", name, what));
  };
  const auto* section = find(document, name);
  if (!section || !section->is_object()) return bad(" is missing");
  HistogramCheckpoint checkpoint;
  const auto reference = parseTime(textAt(*section, "referenceTimestamp"));
  if (!reference) return bad("referenceTimestamp is no time");
  if (*reference > WallTime{}) checkpoint.reference = *reference;
  const auto* total = find(*section, "totalWeight");
  if (!total || !total->is_number()) return bad("totalWeight is no number");
  checkpoint.total = total->to_number<double>();
  const auto* weights = find(*section, "bucketWeights");
  if (!weights || !weights->is_object()) return bad("bucketWeights is missing");
  for (const auto& [key, value] : weights->get_object()) {
    int bucket = -1;
    std::from_chars(key.data(), key.data() + key.size(), bucket);
    if (!value.is_number() || !(value.to_number<double>() >= 0) ||
        value.to_number<double>() > UINT32_MAX)
      return bad("bucketWeights: not a weight");
    checkpoint.weights[bucket] = static_cast<std::uint32_t>(value.to_number<double>());
  }
  return checkpoint;
}

}  // namespace

std::string keyOf(model::PriorityClass priorityClass) {
  return fmt::format("__node-{}__", model::textOf(priorityClass));
}

Amount operator+(Amount a, Amount b) {
  return {a.milli + b.milli, a.bytes + b.bytes};
}
Amount operator-(Amount a, Amount b) {
  return {a.milli - b.milli, a.bytes - b.bytes};
}
Amount smaller(Amount a, Amount b) {
  return {std::min(a.milli, b.milli), std::min(a.bytes, b.bytes)};
}
Amount larger(Amount a, Amount b) {
  return {std::max(a.milli, b.milli), std::max(a.bytes, b.bytes)};
}

Model::Model(HalfLives halfLives)
    : cpu_(cpuBuckets(), kEpsilon, halfLives.cpu),
      memory_(memoryBuckets(), kEpsilon, halfLives.memory) {}

void Model::add(double cores, double bytes, WallTime time) {
  cpu_.add(cores, 1, time);
  memory_.add(bytes, 1, time);
  updated = time;
}

Amount Model::percentile(double share) const {
  return {static_cast<std::int64_t>(cpu_.percentile(share) * 1000),
          static_cast<std::int64_t>(memory_.percentile(share))};
}

Amount Model::peak() const {
  return {percentile(0.95).milli, percentile(0.98).bytes};
}

json::value Model::save(std::string_view key, WallTime now) const {
  return json::object{{"UID", key},
                      {"CPU", written(cpu_.save())},
                      {"Memory", written(memory_.save())},
                      {"LastUpdated", formatTime(now)}};
}

Result<Model> Model::load(const json::value& document, HalfLives halfLives) {
  Model model(halfLives);
  const auto updated = parseTime(textAt(document, "LastUpdated"));
  if (!updated) return fail(ErrorCode::Invalid, "LastUpdated is no time");
  model.updated = *updated;
  const auto cpu = readCheckpoint(document, "CPU");
  if (!cpu) return fail(cpu.error());
  const auto memory = readCheckpoint(document, "Memory");
  if (!memory) return fail(memory.error());
  if (auto loaded = model.cpu_.load(*cpu); !loaded)
    return fail(std::move(loaded.error()).within("CPU"));
  if (auto loaded = model.memory_.load(*memory); !loaded)
    return fail(std::move(loaded.error()).within("Memory"));
  return model;
}

}  // namespace koord::koordlet::prediction
