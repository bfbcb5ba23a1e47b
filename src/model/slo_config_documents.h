#pragma once

// The documents inside the ConfigMap slo-controller-config, as written; for slo_config.cc.

#include "api/codec.h"
#include "api/slo_strategies.h"
#include "model/colocation_strategy.h"

namespace koord::model {

// The common head of every node entry; the fields of the strategy are beside these.
struct NodeEntry {
  std::string name;
  std::optional<api::LabelSelector> nodeSelector;
};

// colocation-config; the fields of the cluster's ColocationStrategy are beside nodeConfigs.
struct ColocationDocument {
  std::vector<json::value> nodeConfigs;
};

// resource-threshold-config and similar sections.
struct SectionDocument {
  json::value clusterStrategy;
  std::vector<json::value> nodeStrategies;
};

// host-application-config; an application is an api::HostApplicationSpec.
struct HostApplicationEntry {
  std::string name;
  std::optional<api::LabelSelector> nodeSelector;
  std::vector<json::value> applications;
};
struct HostApplicationDocument {
  std::vector<json::value> applications;
  std::vector<HostApplicationEntry> nodeConfigs;
};

}  // namespace koord::model
