#include "koordctl/colocation/arm.h"

#include "model/slo_section.h"

namespace koord::koordctl::colocation {

namespace {

NodeSettings shippedNode() {
  NodeSettings node;
  node.threshold = model::defaultStrategy<api::ResourceThresholdStrategy>();
  node.burst = model::defaultStrategy<api::CPUBurstStrategy>();
  node.evictMemory = node.evictCpu = true;  // gates BEMemoryEvict and BECPUEvict of the DaemonSet
  return node;
}

Arm arm(std::string name, JobKind jobs) {
  Arm made{.name = std::move(name), .jobs = jobs};
  made.colocation = model::defaultColocationStrategy();
  made.colocation.enable = jobs == JobKind::Batch;
  // Without Koordinator there is no koordlet.
  if (jobs == JobKind::Batch)
    made.node = shippedNode();
  else
    made.node.suppress = false;
  return made;
}

Arm recommended() {
  Arm made = arm("recommended", JobKind::Batch);
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
          arm("upstream", JobKind::Batch), recommended()};
}

std::vector<Arm> ablationArms() {
  std::vector<Arm> arms;
  const auto add = [&](const char* name, auto change) {
    Arm made = recommended();
    made.name = name;
    change(made);
    arms.push_back(std::move(made));
  };
  add("recommended, no CPU suppress", [](Arm& a) { a.node.suppress = false; });
  add("recommended, no CPU eviction", [](Arm& a) { a.node.evictCpu = false; });
  add("recommended, no memory eviction", [](Arm& a) { a.node.evictMemory = false; });
  add("recommended, no CPU burst", [](Arm& a) { a.node.burst.policy = "none"; });
  add("recommended, no prediction", [](Arm& a) { a.longJobsAreMid = false; });
  add("recommended at 75 %", [](Arm& a) {
    a.colocation.cpuReclaimThresholdPercent = 75;
    a.node.threshold.cpuSuppressThresholdPercent = 80;
    a.scheduler = scheduler::Shipped::Upstream;  // the recommended filter ends at 65 %
  });
  add("recommended, no load filter", [](Arm& a) { a.scheduler = scheduler::Shipped::Upstream; });
  return arms;
}

}  // namespace koord::koordctl::colocation
