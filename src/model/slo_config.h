#pragma once

// The ConfigMap slo-controller-config as the manager's controllers use it: parsed, merged over
// defaults, checked, resolved per node. A section that cannot be used keeps its last good value,
// and the problem is reported for an event on the ConfigMap. Pure state: the caller watches the
// ConfigMap and calls update().
//
// Life cycle: nothing is available before the first update(). A ConfigMap that does not exist then
// means defaults; deleting it later changes nothing.

#include <string>
#include <vector>

#include "api/core.h"
#include "api/selector.h"
#include "api/slo.h"
#include "api/slo_strategies.h"
#include "model/colocation_strategy.h"

namespace koord::model {

struct ConfigProblem {
  std::string reason;   // of the event: ColocationCfgUnmarshalFailed, SLOCfgUnmarshalFailed
  std::string message;  // "colocation-config: nodeConfigs[0].enable: expected true or false, got 1"
};

struct ConfigUpdate {
  bool changed = false;  // some node may now get different values
  std::vector<ConfigProblem> problems;
};

// A strategy for the cluster and, already merged over it, for selected nodes; the first match
// counts.
template <class Strategy>
struct NodeStrategies {
  struct Entry {
    std::string name;
    api::Selector selector;
    Strategy strategy;
  };
  Strategy cluster;
  std::vector<Entry> nodes;

  const Strategy& of(const api::StringMap& nodeLabels) const {
    for (const auto& entry : nodes)
      if (entry.selector.matches(nodeLabels)) return entry.strategy;
    return cluster;
  }
};

// The section colocation-config.
class ColocationConfig {
 public:
  // nullptr if the ConfigMap does not exist.
  ConfigUpdate update(const api::ConfigMap* configMap);

  // False until a usable configuration was seen.
  bool available() const { return available_; }
  // The ConfigMap is missing or its section is unusable: what is in force is older, or the
  // defaults.
  bool broken() const { return broken_; }
  const ColocationStrategy& cluster() const { return strategies_.cluster; }
  // With the node's own annotation and labels on top. Fields of the annotation that cannot be used
  // are named in `problems`; the others count.
  ColocationStrategy strategyOf(const api::ObjectMeta& node,
                                std::vector<std::string>* problems = nullptr) const;

 private:
  NodeStrategies<ColocationStrategy> strategies_;
  std::string text_;  // the section in force
  bool available_ = false;
  bool broken_ = false;
};

// The sections of NodeSLO.
class NodeSloConfig {
 public:
  NodeSloConfig();

  ConfigUpdate update(const api::ConfigMap* configMap);
  bool available() const { return available_; }

  // What a NodeSLO's spec should be. `old` gives what the configuration does not speak of
  // (extensions), and sections that could not be read since the start: they were made from better
  // ones. An unusable bandwidth annotation is reported in `problem` and the configured value stays.
  api::NodeSLOSpec specOf(const api::ObjectMeta& node, const api::NodeSLOSpec& old,
                          std::string* problem = nullptr) const;

 private:
  using Applications = std::vector<api::HostApplicationSpec>;

  // One section's strategies with the text they were made from, to see changes.
  template <class Strategy>
  struct Section {
    NodeStrategies<Strategy> strategies;
    std::optional<std::string> text;  // absent: the key is missing
    bool unknown =
        false;  // cannot be read, and what was there before this process began is not known
  };
  template <class Strategy>
  void load(Section<Strategy>& section, std::string_view key, const api::StringMap& data,
            ConfigUpdate& update);

  json::value systemOf(const api::ObjectMeta& node, std::string* problem) const;

  Section<api::ResourceThresholdStrategy> threshold_;
  Section<api::ResourceQOSStrategy> qos_;
  Section<api::CPUBurstStrategy> burst_;
  Section<api::SystemStrategy> system_;
  Section<Applications> applications_;
  bool available_ = false;
  bool first_ = false;  // in the first update
};

}  // namespace koord::model
