#include "manager/noderesource/cpu_ratios.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "api/codec.h"
#include "manager/common/names.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

constexpr double kLeast = 1;
constexpr double kMost = 5;
constexpr double kSame = 0.01;  // smaller differences are not written
constexpr std::string_view kNormalization = "CPUNormalization";

std::optional<double> parsedRatio(const std::string& text) {
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(ratio))
    return std::nullopt;
  return ratio;
}

const std::string* annotationOf(const api::Node& node, std::string_view key) {
  return api::findIn(node.metadata.annotations, key);
}

std::optional<double> ratioOfModel(const CpuNormalization& strategy, const CpuBasicInfo& cpu) {
  const auto model = strategy.models.find(cpu.cpuModel);
  if (model == strategy.models.end()) return std::nullopt;
  const CpuNormalization::Ratios& ratios = model->second;
  if (cpu.hyperThreadEnabled)
    return cpu.turboEnabled ? ratios.hyperThreadTurbo : ratios.hyperThread;
  return cpu.turboEnabled ? ratios.turbo : ratios.base;
}

Result<bool> normalizes(const NodeView& view) {
  const auto* label = api::findIn(view.node.metadata.labels, kLabelCpuNormalizationEnabled);
  if (!label) return view.normalization->enabled;
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (*label == yes) return true;
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"})
    if (*label == no) return false;
  return fail(ErrorCode::Invalid,
              fmt::format("metadata.labels[{}]: \"{}\" is neither true nor false",
                          kLabelCpuNormalizationEnabled, *label));
}

Result<double> normalizationOf(const NodeView& view) {
  const auto enabled = normalizes(view);
  if (!enabled) return fail(enabled.error());
  if (!*enabled) return 1.0;
  if (!view.topology)
    return fail(ErrorCode::NotFound, "no NodeResourceTopology that reports its CPUs");
  const auto* text = api::findIn(view.topology->metadata.annotations, kAnnotationCpuBasicInfo);
  const std::string field =
      fmt::format("NodeResourceTopology: metadata.annotations[{}]", kAnnotationCpuBasicInfo);
  if (!text) return fail(ErrorCode::NotFound, field + ": is missing");
  const auto cpu = api::decodeText<CpuBasicInfo>(*text, api::Reading::Go);
  if (!cpu) return fail(Error(cpu.error()).within(field));
  auto ratio = ratioOfModel(*view.normalization, *cpu);
  if (!ratio) ratio = view.normalization->defaultRatio;
  if (!ratio)
    return fail(
        ErrorCode::NotFound,
        fmt::format("cpu-normalization-config: no ratio for CPU {} and no default", cpu->cpuModel));
  if (*ratio < kLeast || *ratio > kMost)
    return fail(
        ErrorCode::Invalid,
        fmt::format("cpu-normalization-config: the ratio {} of CPU {} is not between {} and {}",
                    *ratio, cpu->cpuModel, kLeast, kMost));
  return *ratio;
}

// {"cpu":1.80,"memory":1.20}
std::string ratioText(const std::map<std::string, double>& ratios) {
  std::string text = "{";
  for (const auto& [name, ratio] : ratios)
    text +=
        fmt::format("{}{}:{:.2f}", text.size() > 1 ? "," : "", toJson(json::string(name)), ratio);
  return text + "}";
}

}  // namespace

std::optional<double> normalizationIn(const ResourceTable& table) {
  const auto item = table.find(kNormalization);
  if (item == table.end()) return std::nullopt;
  const auto* text = api::findIn(item->second.annotations, model::kAnnotationCpuNormalizationRatio);
  return text ? parsedRatio(*text) : std::nullopt;
}

Result<std::vector<ResourceItem>> CpuNormalizationPlugin::calculate(const NodeView& view) const {
  if (!view.normalization || !view.topologiesKnown) return std::vector<ResourceItem>();
  const auto ratio = normalizationOf(view);
  if (!ratio) return fail(ratio.error());
  ResourceItem item{std::string(name()), {}, false, "by model of CPU"};
  item.annotations[std::string(model::kAnnotationCpuNormalizationRatio)] =
      fmt::format("{:.2f}", *ratio);
  return std::vector<ResourceItem>{std::move(item)};
}

Result<> CpuNormalizationPlugin::prepare(const ResourceTable& table, api::Node& copy) const {
  if (const auto item = table.find(name()); item != table.end())
    for (const auto& [key, value] : item->second.annotations)
      copy.metadata.annotations[key] = value;
  return {};
}

bool CpuNormalizationPlugin::needsWrite(const model::ColocationStrategy&, const api::Node& before,
                                        const api::Node& after) const {
  const auto* old = annotationOf(before, model::kAnnotationCpuNormalizationRatio);
  const auto* now = annotationOf(after, model::kAnnotationCpuNormalizationRatio);
  if (!old || !now) return old != now;
  const auto oldRatio = parsedRatio(*old);
  const auto newRatio = parsedRatio(*now);
  if (!oldRatio) return true;
  return newRatio && std::abs(*newRatio - *oldRatio) > kSame;
}

Result<std::vector<ResourceItem>> ResourceAmplification::calculateAfter(
    const ResourceTable& earlier, const NodeView& view) const {
  if (!view.amplification) return std::vector<ResourceItem>();
  std::map<std::string, double> ratios;
  if (view.amplification->enabled) ratios = view.amplification->ratios;
  // The ratio of this round or, if it could not be computed, the node's present ratio.
  std::optional<double> normalization = normalizationIn(earlier);
  if (const auto* text = annotationOf(view.node, model::kAnnotationCpuNormalizationRatio);
      text && !normalization) {
    normalization = parsedRatio(*text);
    if (!normalization)
      return fail(ErrorCode::Invalid,
                  fmt::format("metadata.annotations[{}]: \"{}\" is not a number",
                              model::kAnnotationCpuNormalizationRatio, *text));
  }
  const auto cpu = ratios.find(std::string(model::kCpu));
  double cpuRatio = cpu != ratios.end() && cpu->second > 0 ? cpu->second : 1;
  if (normalization && *normalization > 0) cpuRatio *= *normalization;
  if (cpuRatio > 1) ratios[std::string(model::kCpu)] = cpuRatio;
  for (const auto& [name, ratio] : ratios)
    if (ratio < 1)
      return fail(
          ErrorCode::Invalid,
          fmt::format("resource-amplification-config: resourceAmplificationRatio[{}]: {} is "
                      "less than 1",
                      name, ratio));
  ResourceItem item{std::string(this->name()), {}, false, "configured ratio x normalization"};
  if (!ratios.empty())
    item.annotations[std::string(kAnnotationAmplificationRatio)] = ratioText(ratios);
  return std::vector<ResourceItem>{std::move(item)};
}

Result<> ResourceAmplification::prepare(const ResourceTable& table, api::Node& copy) const {
  const auto item = table.find(name());
  if (item == table.end()) return {};
  api::StringMap& annotations = copy.metadata.annotations;
  if (const auto old = annotations.find(kAnnotationAmplificationRatio); old != annotations.end())
    annotations.erase(old);
  for (const auto& [key, value] : item->second.annotations) annotations[key] = value;
  return {};
}

bool ResourceAmplification::needsWrite(const model::ColocationStrategy&, const api::Node& before,
                                       const api::Node& after) const {
  const auto* old = annotationOf(before, kAnnotationAmplificationRatio);
  const auto* now = annotationOf(after, kAnnotationAmplificationRatio);
  return old && now ? *old != *now : old != now;
}

}  // namespace koord::manager
