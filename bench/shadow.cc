// What a shadow costs (scheduler/shadow): pods of `classes` shapes appear and are bound by an
// incumbent on `nodes` nodes with `running` pods; each binding is a decision of the shadow.
// agreeing_us: CPU time of a pod's two events if the incumbent chooses as the shadow does;
// differing_us: if it chooses any node, so that each decision is a difference with scores of all
// nodes. alone_us: the baseline, the same events in a scheduler that is not a shadow.

#include <fmt/format.h>

#include <stdexcept>

#include "base/random.h"
#include "base/virtual_loop.h"
#include "bench.h"
#include "kube/fake_api.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/shadow/shadow.h"
#include "scheduler/testing/builders.h"

namespace koord::bench {

namespace {

using namespace koord::scheduler;  // NOLINT: a file of its own

struct ShadowBed {
  VirtualLoop loop;
  kube::FakeApi api{loop};
  ReadOnlyApi readOnly{api};
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Shadow> shadow;
  Random random{1};
  int nodes, classes;
  int made = 0;

  ShadowBed(int nodeCount, int running, int classCount, bool asShadow)
      : nodes(nodeCount), classes(classCount) {
    SchedulerOptions options;
    options.configuration = shadowConfiguration(
        *parseConfiguration(shippedConfiguration({"default-scheduler"})), "default-scheduler");
    scheduler = *Scheduler::create(std::move(options), makeRegistry(), loop, &readOnly);
    if (asShadow)
      shadow = std::make_unique<Shadow>(ShadowOptions{.incumbent = "default-scheduler"}, *scheduler,
                                        loop, readOnly);
    for (int n = 0; n < nodes; ++n) {
      scheduler::testing::NodeBuilder node(fmt::format("node-{}", n));
      node.allocatable("cpu", "32").allocatable("memory", "128Gi");
      scheduler->nodeAdded(node.build());
    }
    for (int n = 0; n < running; ++n)
      scheduler->podAdded(nextPod().nodeName(fmt::format("node-{}", n % nodes)).build());
    if (shadow) shadow->start();
  }
  scheduler::testing::PodBuilder nextPod() {
    const int n = made++;
    scheduler::testing::PodBuilder pod(fmt::format("pod-{}", n));
    pod.request("cpu", fmt::format("{}m", 100 + 10 * (n % classes)))
        .request("memory", fmt::format("{}Mi", 256 + n % classes));
    return pod;
  }
  // The node that this scheduler would choose.
  std::string bestNode(const api::Pod& pod) {
    Decider decider(*scheduler, "default-scheduler");
    return decider.decide(scheduler->describe(std::make_shared<api::Pod>(pod))).node;
  }
  // CPU seconds of the events of `pods` pods.
  double follow(int pods, bool best) {
    double took = 0;
    for (int i = 0; i < pods; ++i) {
      const auto waiting = nextPod().version("1").build();
      const std::string node =
          best ? bestNode(*waiting)
               : fmt::format("node-{}", random.below(static_cast<std::uint64_t>(nodes)));
      auto bound = std::make_shared<api::Pod>(*waiting);
      bound->metadata.resourceVersion = "2";
      bound->spec.nodeName = node;
      const double start = cpuSeconds();
      scheduler->podAdded(waiting);
      scheduler->podUpdated(waiting, bound);
      took += cpuSeconds() - start;
      loop.advance(std::chrono::milliseconds(1));
    }
    return took;
  }
};

Numbers followIncumbent(const Numbers& params) {
  const auto number = [&](const char* name) { return static_cast<int>(params.at(name)); };
  const int nodes = number("nodes"), running = number("running"), classes = number("classes");
  const int pods = number("pods");
  const auto microseconds = [&](bool asShadow, bool best) {
    ShadowBed bed(nodes, running, classes, asShadow);
    bed.follow(2 * classes, best);  // first pods of each class
    const double took = bed.follow(pods, best);
    if (asShadow && best && bed.shadow->metrics().count(Match::WorseScore) > 0)
      throw std::runtime_error("the shadow differs from itself");
    return 1e6 * took / pods;
  };
  return {{"alone_us", microseconds(false, true)},
          {"agreeing_us", microseconds(true, true)},
          {"differing_us", microseconds(true, false)},
          {"peak_rss_mib", peakRssMib()}};
}

}  // namespace

}  // namespace koord::bench

int main(int argc, char** argv) {
  using namespace koord::bench;
  std::vector<Benchmark> all;
  for (const int nodes : {100, 1000, 5000})
    all.push_back({fmt::format("Shadow/{}Nodes", nodes),
                   {{"nodes", nodes}, {"running", 20 * nodes}, {"classes", 20}, {"pods", 2000}},
                   followIncumbent});
  return runAll(argc, argv, all);
}
