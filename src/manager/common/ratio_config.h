#pragma once

// Two sections of the ConfigMap slo-controller-config that scale CPUs: cpu-normalization-config,
// the speed of a model's core relative to the slowest model, and resource-amplification-config, the
// ratio of a node's offered amounts to its real ones. An invalid section keeps its last valid
// value.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/slo_config.h"

namespace koord::manager {

struct CpuNormalization {
  struct Ratios {  // of a model, by the enabled CPU features
    std::optional<double> base;
    std::optional<double> hyperThread;
    std::optional<double> turbo;
    std::optional<double> hyperThreadTurbo;
  };
  bool enabled = false;
  std::optional<double> defaultRatio;
  std::map<std::string, Ratios> models;
};

// The ratios of a model, by their names in the section.
inline constexpr std::pair<std::string_view, std::optional<double> CpuNormalization::Ratios::*>
    kRatioFields[] = {
        {"baseRatio", &CpuNormalization::Ratios::base},
        {"hyperThreadEnabledRatio", &CpuNormalization::Ratios::hyperThread},
        {"turboEnabledRatio", &CpuNormalization::Ratios::turbo},
        {"hyperThreadTurboEnabledRatio", &CpuNormalization::Ratios::hyperThreadTurbo}};

struct Amplification {
  bool enabled = false;
  std::map<std::string, double> ratios;  // by resource
};

class RatioConfig {
 public:
  // nullptr if the ConfigMap does not exist.
  model::ConfigUpdate update(const api::ConfigMap* configMap);

  // For a node with these labels; nullptr before the first valid configuration.
  const CpuNormalization* normalizationOf(const api::StringMap& nodeLabels) const;
  const Amplification* amplificationOf(const api::StringMap& nodeLabels) const;

 private:
  template <class Strategy>
  struct Section {
    std::optional<model::NodeStrategies<Strategy>> strategies;
    std::optional<std::string> text;
  };
  template <class Strategy>
  static void load(Section<Strategy>& section, std::string_view key, std::string_view reason,
                   const api::ConfigMap* configMap, model::ConfigUpdate& update);

  Section<CpuNormalization> normalization_;
  Section<Amplification> amplification_;
};

}  // namespace koord::manager
