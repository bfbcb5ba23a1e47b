#pragma once

// What the screen shows, as objects of one moment. Copies share the objects, so that they are cheap
// and may go to another thread.

#include <memory>
#include <vector>

#include "api/core.h"
#include "api/elasticquota.h"
#include "api/migration.h"
#include "api/slo.h"
#include "base/executor.h"

namespace koord::cluster {

struct Objects {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::vector<std::shared_ptr<const api::NodeMetric>> metrics;
  std::vector<std::shared_ptr<const api::PodMigrationJob>> migrations;
  std::shared_ptr<const api::ConfigMap> sloConfig;  // slo-controller-config; may be null
  WallTime now{};
  std::vector<std::shared_ptr<const api::ElasticQuota>> quotas;
  std::vector<std::shared_ptr<const api::Event>> events;
};

}  // namespace koord::cluster
