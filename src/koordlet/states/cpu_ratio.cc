#include "koordlet/states/cpu_ratio.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/json.h"
#include "base/log.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr double kNoise = 0.01;

std::optional<double> positive(const std::string& text) {
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error != std::errc() || end != text.data() + text.size() || !(ratio > 0) ||
      !std::isfinite(ratio))
    return std::nullopt;
  return ratio;
}

}  // namespace

void CpuRatio::take(const api::Node& node) {
  const auto* text =
      api::findIn(node.metadata.annotations, model::kAnnotationCpuNormalizationRatio);
  known_ = text != nullptr;
  valid_ = !text || positive(*text).has_value();
  if (!text) {
    ratio_ = 1;
  } else if (const auto ratio = positive(*text)) {
    if (std::abs(*ratio - ratio_) >= kNoise) ratio_ = *ratio;
  } else {
    log::v(4, "annotation {} is '{}', not a positive number; {} stays in force",
           model::kAnnotationCpuNormalizationRatio, *text, ratio_);
  }
}

std::int64_t CpuRatio::quota(std::int64_t nominal) const {
  if (nominal <= 0 || ratio_ <= 1) return nominal;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(nominal) / ratio_));
}

bool isNormalized(const PodView& pod) {
  if (pod.qos != model::Qos::LS && pod.qos != model::Qos::None) return false;
  if (pod.kubeQos == KubeQos::BestEffort) return false;
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationResourceStatus);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  return !document || textAt(*document, "cpuset").empty();
}

}  // namespace koord::koordlet
