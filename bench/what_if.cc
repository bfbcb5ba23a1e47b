// Where pods would land if they were evicted (scheduler/services/what_if.h), with Koordinator's
// shipped configuration: `moves` pods of `classes` shapes leave their nodes, each another one, in
// one question, on `nodes` nodes with `pods` pods. In CPU time, cpu_ms: the question as the service
// gets it, read and answered as JSON, with classes that the scheduler has not seen yet;
// search_cpu_ms: of that, the scheduler. again_: the same question once more. after_: one question
// about one pod in between, which finds all that was touched. All of them find places, or there is
// no figure.

#include "what_if.h"

#include <fmt/format.h>

#include <stdexcept>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/services/what_if.h"
#include "scheduler/testing/builders.h"

namespace koord::bench {

namespace {

using namespace koord::scheduler;  // NOLINT: a file of its own

std::shared_ptr<const api::Pod> runningPod(int n, int nodes, int classes) {
  const int c = n % classes;
  scheduler::testing::PodBuilder pod(fmt::format("pod-{}", n));
  pod.request("cpu", fmt::format("{}m", 500 + 10 * (c % 20)))
      .request("memory", fmt::format("{}Mi", 1024 + c))
      .label("app", fmt::format("app-{}", c));
  return pod.nodeName(fmt::format("node-{}", n % nodes)).build();
}

struct WhatIfBed {
  VirtualLoop loop;
  std::unique_ptr<Scheduler> scheduler;

  WhatIfBed(int nodes, int pods, int classes) {
    SchedulerOptions options;
    options.configuration = *parseConfiguration(shippedConfiguration({"default-scheduler"}));
    scheduler = *Scheduler::create(std::move(options), makeRegistry(), loop, nullptr);
    for (int n = 0; n < nodes; ++n) {
      scheduler::testing::NodeBuilder node(fmt::format("node-{}", n));
      node.allocatable("cpu", "32").allocatable("memory", "128Gi");
      scheduler->nodeAdded(node.build());
    }
    for (int n = 0; n < pods; ++n) scheduler->podAdded(runningPod(n, nodes, classes));
    scheduler->start();
  }
  // CPU seconds of the whole, and of the search.
  std::pair<double, double> ask(const std::string& body) {
    const double start = cpuSeconds();
    const auto moves = readWhatIf(*scheduler, body);
    if (!moves) throw std::runtime_error(moves.error().message);
    const double read = cpuSeconds();
    const WhatIfAnswer answer = whatIf(*scheduler, *moves, std::chrono::hours(1));
    const double searched = cpuSeconds() - read;
    const std::string text = toJson(whatIfJson(*moves, answer));
    const double took = cpuSeconds() - start;
    for (const WhatIfPlace& place : answer.places)
      if (place.state != WhatIfPlace::State::Placed)
        throw std::runtime_error(fmt::format("{}: {}", nameOf(place.state), place.message));
    return {took, searched};
  }
};

std::string questionAbout(int moves, int pods, int nodes, int classes) {
  json::array list;
  for (int i = 0; i < moves; ++i) {
    // By one further each time, so that the pods are of all classes and leave as many nodes as
    // possible.
    const auto pod = runningPod(i * (pods / moves + 1) % pods, nodes, classes);
    list.push_back(json::object{{"pod", api::encode(*pod)},
                                {"from", pod->spec.nodeName},
                                {"avoid", json::array{json::string(pod->spec.nodeName)}}});
  }
  return toJson(json::value(json::object{{"pods", std::move(list)}}));
}

Numbers askAbout(const Numbers& params) {
  const auto number = [&](const char* name) { return static_cast<int>(params.at(name)); };
  const int nodes = number("nodes"), pods = number("pods"), classes = number("classes");
  WhatIfBed bed(nodes, pods, classes);
  const std::string one = questionAbout(1, pods, nodes, classes);
  const std::string many = questionAbout(number("moves"), pods, nodes, classes);
  const double first = bed.ask(one).first;
  const auto [whole, search] = bed.ask(many);
  const double after = bed.ask(one).first;
  const auto [again, searchAgain] = bed.ask(many);
  return {{"one_cpu_ms", 1000 * first},     {"cpu_ms", 1000 * whole},
          {"search_cpu_ms", 1000 * search}, {"after_cpu_ms", 1000 * after},
          {"again_cpu_ms", 1000 * again},   {"again_search_cpu_ms", 1000 * searchAgain},
          {"peak_rss_mib", peakRssMib()}};
}

}  // namespace

void addWhatIf(std::vector<Benchmark>& all) {
  for (const int classes : {1, 20, 200})
    all.push_back({fmt::format("WhatIf/1000Moves_5000Nodes_150000Pods_{}Classes", classes),
                   {{"nodes", 5000}, {"pods", 150'000}, {"classes", classes}, {"moves", 1000}},
                   askAbout});
}

}  // namespace koord::bench
