#pragma once

// Two sections of the ConfigMap slo-controller-config that scale CPUs: cpu-normalization-config, how
// much more a core of a model does than the slowest, and resource-amplification-config, how much more
// of a node is offered than it has. A section that cannot be read keeps its last good value.

#include <map>
#include <optional>
#include <string>

#include "model/slo_config.h"

namespace koord::manager {

struct CpuNormalization {
  struct Ratios {  // of a model, by what is switched on
    std::optional<double> base;
    std::optional<double> hyperThread;
    std::optional<double> turbo;
    std::optional<double> hyperThreadTurbo;
  };
  bool enabled = false;
  std::optional<double> defaultRatio;
  std::map<std::string, Ratios> models;
};

struct Amplification {
  bool enabled = false;
  std::map<std::string, double> ratios;  // by resource
};

class RatioConfig {
 public:
  // nullptr when there is no such ConfigMap.
  model::ConfigUpdate update(const api::ConfigMap* configMap);

  // For a node with these labels; null before anything usable was seen.
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
