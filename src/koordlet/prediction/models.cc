#include "koordlet/prediction/models.h"

#include <fmt/format.h>

#include "base/time.h"

namespace koord::koordlet::prediction {
namespace {

Result<model::HistogramCheckpoint> readCheckpoint(const json::value& document, const char* name) {
  const auto* section = find(document, name);
  if (!section || !section->is_object())
    return fail(ErrorCode::Invalid, fmt::format("{} is missing", name));
  auto checkpoint = model::readHistogramCheckpoint(*section);
  if (!checkpoint)
    return fail(ErrorCode::Invalid, fmt::format("{}.{}", name, checkpoint.error().message));
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
    : cpu_(model::cpuBuckets(), model::kEmptyWeight, halfLives.cpu),
      memory_(model::memoryBuckets(), model::kEmptyWeight, halfLives.memory) {}

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
                      {"CPU", toDocument(cpu_.save())},
                      {"Memory", toDocument(memory_.save())},
                      {"LastUpdated", formatTime(now)}};
}

Result<Model> Model::load(const json::value& document, HalfLives halfLives) {
  Model model(halfLives);
  const auto updated = parseTime(textAt(document, "LastUpdated"));
  if (!updated) return fail(ErrorCode::Invalid, "LastUpdated is not a time");
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
