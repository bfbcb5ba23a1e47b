#pragma once

// The arms of the study: how a cluster is configured. All arms have the same nodes, services and
// jobs.
//
//   services              no jobs at all: what services do alone
//   kubernetes            jobs request cpu and memory, so they get what services do not request
//   upstream              Koordinator as its chart ships it: deploy/manifests
//   recommended           the recommended profile (deploy/recommended), and what its pages tell
//                         operators to add: BECPUEvict with the thresholds of
//                         docs/features/suppress-and-evict.md, and mid resources (by prediction)
//                         for long jobs
//   recommended, no X     the same with one mechanism off
//   recommended at 75 %   the same with higher thresholds: 75 % for batch resources, 80 % for CPU
//                         suppress, and no filter by load

#include <optional>
#include <string>
#include <vector>

#include "koordctl/colocation/node_agent.h"
#include "model/colocation_strategy.h"
#include "scheduler/config/shipped.h"
#include "scheduler/config/types.h"

namespace koord::koordctl::colocation {

enum class JobKind { None, Requests, Batch };

struct Arm {
  std::string name;
  JobKind jobs = JobKind::Batch;
  bool longJobsAreMid = false;  // jobs of longJobMinutes and more request mid resources
  scheduler::Shipped scheduler = scheduler::Shipped::Upstream;
  std::optional<scheduler::SchedulerConfiguration> configuration;  // in place of `scheduler`
  model::ColocationStrategy colocation;
  NodeSettings node;
};

// services, kubernetes, upstream, recommended, in this order.
std::vector<Arm> comparedArms();
// One for each mechanism of "recommended", and the one with higher thresholds.
std::vector<Arm> ablationArms();

}  // namespace koord::koordctl::colocation
