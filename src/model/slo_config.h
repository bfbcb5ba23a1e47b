#pragma once

// The ConfigMap slo-controller-config as the manager's controllers use it: parsed, merged over
// defaults, checked, resolved per node. An unusable section keeps its last good value, and the
// problem is reported for an event on the ConfigMap. Pure state: the caller watches the ConfigMap
// and calls update().
//
// Nothing is available before the first update(). Then a missing ConfigMap means defaults; a later
// deletion changes nothing.

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
  bool changed = false;  // the values of some nodes may differ
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

  // False until the first usable configuration.
  bool available() const { return available_; }
  // True if the ConfigMap is missing or its section is unusable: an older configuration or the
  // defaults are in force.
  bool broken() const { return broken_; }
  const ColocationStrategy& cluster() const { return strategies_.cluster; }
  // The strategy with the node's own annotation and labels applied. Adds unusable fields of the
  // annotation to `problems`; the other fields count.
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

  // The desired spec of a NodeSLO. `old` provides what the configuration does not contain
  // (extensions), and sections that were unreadable since the start, because an earlier process
  // made them from a readable configuration. An unusable bandwidth annotation is reported in
  // `problem`, and the configured value stays.
  api::NodeSLOSpec specOf(const api::ObjectMeta& node, const api::NodeSLOSpec& old,
                          std::string* problem = nullptr) const;

 private:
  using Applications = std::vector<api::HostApplicationSpec>;

  // The strategies of one section, and their source text, to detect changes.
  template <class Strategy>
  struct Section {
    NodeStrategies<Strategy> strategies;
    std::optional<std::string> text;  // absent: the ConfigMap lacks the key
    bool unknown = false;  // unreadable since this process started, so the earlier value is unknown
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
