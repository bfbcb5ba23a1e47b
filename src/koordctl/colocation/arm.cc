#include "koordctl/colocation/arm.h"

#include "model/slo_section.h"

namespace koord::koordctl::colocation {

namespace {

NodeSettings shippedNode() {
  NodeSettings node;
  node.threshold = model::defaultStrategy<api::ResourceThresholdStrategy>();
  node.threshold.enable = true;
  node.burst = model::defaultStrategy<api::CPUBurstStrategy>();
  node.evictMemory = node.evictCpu = true;  // gates BEMemoryEvict and BECPUEvict of the DaemonSet
  return node;
}

Arm arm(std::string name, JobKind jobs) {
  Arm made{.name = std::move(name), .jobs = jobs};
  made.colocation = model::defaultColocationStrategy();
  made.colocation.enable = jobs == JobKind::Batch;
  made.node = shippedNode();
  return made;
}

Arm ours() {
  Arm made = arm("ours", JobKind::Batch);
  made.longJobsAreMid = true;
  made.scheduler = scheduler::Shipped::Recommended;
  made.node.burst.policy = "auto";
  auto& threshold = made.node.threshold;
  threshold.cpuEvictBEUsageThresholdPercent = 90;
  threshold.cpuEvictBESatisfactionLowerPercent = 60;
  threshold.cpuEvictBESatisfactionUpperPercent = 80;
  threshold.cpuEvictTimeWindowSeconds = 60;
  return made;
}

}  // namespace

std::vector<Arm> comparedArms() {
  return {arm("services", JobKind::None), arm("kubernetes", JobKind::Requests),
          arm("upstream", JobKind::Batch), ours()};
}

std::vector<Arm> ablationArms() {
  std::vector<Arm> arms;
  const auto add = [&](const char* name, auto change) {
    Arm made = ours();
    made.name = name;
    change(made);
    arms.push_back(std::move(made));
  };
  add("ours, no CPU suppress", [](Arm& a) { a.node.suppress = false; });
  add("ours, no CPU eviction", [](Arm& a) { a.node.evictCpu = false; });
  add("ours, no memory eviction", [](Arm& a) { a.node.evictMemory = false; });
  add("ours, no CPU burst", [](Arm& a) { a.node.burst.policy = "none"; });
  add("ours, no prediction", [](Arm& a) { a.longJobsAreMid = false; });
  add("ours, no load filter", [](Arm& a) { a.scheduler = scheduler::Shipped::Upstream; });
  return arms;
}

}  // namespace koord::koordctl::colocation
