// Packing: how much of a cluster's GPUs pods get, on the published traces of a production cluster
// with 1,213 nodes and 6,212 GPUs ("Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
// Fragmentation Gradient Descent", USENIX ATC 2023), with the real scheduler.
//
// The protocol is the publication's. The tasks of a workload arrive one by one in random order.
// Beyond the end of the list they are drawn from it again, until the GPUs that they request add up
// to 130 % of the cluster. A list with more is cut, at random, to 130 %. A task that fits nowhere
// is dropped. No task ends. The figure is the share of all GPUs that is allocated when 100, 110 and
// 130 % have arrived, the mean over seeds. The figures of the publication's policies, from
// published_allocation.csv, are in the same line.
//
// With --defragment N, pods then move so that dropped tasks fit, at most N moves in an experiment
// (defragmentation.h); the figure is the allocation after so many moves.
//
//   bench_packing --traces FOLDER [--workloads default,cpu250] [--seeds 10] [--defragment N]
//       [--filter REGEX]
//
// FOLDER has nodes_gpu.csv, pods_WORKLOAD.csv and published_allocation.csv. Without --traces
// everything is skipped.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/split.h"
#include "bench.h"
#include "defragmentation.h"
#include "koordctl/trace/csv_table.h"
#include "koordctl/trace/trace_cluster.h"
#include "scheduler/config/types.h"

namespace {

using namespace koord;            // NOLINT: a program of its own
using namespace koord::koordctl;  // NOLINT
using bench::Numbers;

struct Options {
  std::string folder;
  std::vector<std::string> workloads;
  int seeds = 10;
  std::size_t moves = 0;  // of the defragmentation
};

struct Policy {
  std::string name;
  std::string score;         // plugins at the point score
  std::string deviceChoice;  // strategy of DeviceShare
};

const std::vector<Policy>& policies() {
  static const std::vector<Policy> kPolicies{
      {"LeastAllocated", "{name: NodeResourcesFit, weight: 1}, {name: DeviceShare, weight: 1}",
       "LeastAllocated"},
      {"MostAllocated", "{name: NodeResourcesFit, weight: 1}, {name: DeviceShare, weight: 1}",
       "MostAllocated"},
      {"FragmentationAware", "{name: FragmentationAware, weight: 1}", "LeastAllocated"},
  };
  return kPolicies;
}

scheduler::SchedulerConfiguration configurationOf(const Policy& policy) {
  constexpr const char* kText = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {{enabled: [{{name: DeviceShare}}], disabled: [{{name: DefaultPreemption}}]}}
    score: {{disabled: [{{name: "*"}}], enabled: [{}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {{scoringStrategy: {{type: {}, resources: [{{name: cpu, weight: 1}}, {{name: memory, weight: 1}}]}}}}
  - name: DeviceShare
    args: {{scoringStrategy: {{type: {}, resources: [{{name: koordinator.sh/gpu-memory-ratio, weight: 1}}]}}}}
)";
  const std::string text =
      fmt::format(kText, policy.score, policy.deviceChoice, policy.deviceChoice);
  return scheduler::parseConfiguration(text).value();
}

// In random order, as many as the protocol says.
std::vector<const TraceTask*> arrivals(const std::vector<TraceTask>& tasks, std::int64_t target,
                                       Random& random) {
  std::vector<const TraceTask*> all;
  std::int64_t sum = 0;
  for (const TraceTask& task : tasks) {
    all.push_back(&task);
    sum += task.gpuMilli();
  }
  for (std::size_t left = all.size(); left > 1; --left)
    std::swap(all[left - 1], all[random.below(left)]);
  while (sum > target) {
    const std::size_t at = random.below(all.size());
    sum -= all[at]->gpuMilli();
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  while (true) {
    const TraceTask& more = tasks[random.below(tasks.size())];
    if (sum + more.share > target) return all;
    sum += more.gpuMilli();
    all.push_back(&more);
  }
}

struct Outcome {
  double at100 = 0, at110 = 0, at130 = 0;  // percent
  double seconds = 0;                      // of CPU, for the whole experiment
  double setup = 0;                        // of these, until the scheduler knows the nodes
  std::vector<double> decisions;           // microseconds
  bench::Defragmentation::Outcome defragmented;
};

// In thousandths of GPUs.
std::int64_t capacityOf(const std::vector<TraceNode>& nodes) {
  std::int64_t sum = 0;
  for (const TraceNode& node : nodes) sum += node.gpus * 1000;
  return sum;
}

Outcome experiment(const std::vector<TraceNode>& nodes, const std::vector<TraceTask>& tasks,
                   const Policy& policy, std::uint64_t seed, const Options& options) {
  const std::int64_t capacity = capacityOf(nodes);
  Random random(seed);
  const auto order = arrivals(tasks, capacity * 13 / 10, random);
  Outcome outcome;
  const double begin = bench::cpuSeconds();
  const auto cluster = traceCluster(configurationOf(policy), nodes, seed).value();
  outcome.setup = bench::cpuSeconds() - begin;
  std::int64_t arrived = 0, allocated = 0;
  std::map<std::string, const TraceTask*> placedTasks;
  std::vector<const TraceTask*> dropped;
  const auto percent = [&] {
    return 100 * static_cast<double>(allocated) / static_cast<double>(capacity);
  };
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::string name = fmt::format("task-{}", n);
    const bench::Stopwatch one;
    addTask(*cluster, *order[n], name);
    cluster->advance({});
    outcome.decisions.push_back(1e6 * one.seconds());
    const bool placed = !cluster->nodeOf(name).empty();
    if (placed) {
      placedTasks.emplace(name, order[n]);
      allocated += order[n]->gpuMilli();
    } else {
      dropped.push_back(order[n]);
      cluster->remove(name);
    }
    arrived += order[n]->gpuMilli();
    if (outcome.at100 == 0 && arrived >= capacity) outcome.at100 = percent();
    if (outcome.at110 == 0 && arrived >= capacity * 11 / 10) outcome.at110 = percent();
  }
  outcome.at130 = percent();
  outcome.seconds = bench::cpuSeconds() - begin;
  if (options.moves > 0)
    outcome.defragmented =
        bench::Defragmentation(*cluster, nodes, std::move(placedTasks), dropped).run(options.moves);
  return outcome;
}

// The mean allocation after so many moves, in percent, and what happened to relocations.
void addDefragmented(const bench::Defragmentation::Outcome& outcome, std::int64_t capacity,
                     const Options& options, Numbers& metrics) {
  for (const std::size_t budget : {0U, 25U, 50U, 100U, 200U, 400U, 800U, 1600U}) {
    if (budget > options.moves) break;
    std::int64_t allocated = 0;
    for (const auto& step : outcome.steps)
      if (step.moves <= budget) allocated = step.allocated;
    metrics[fmt::format("allocated_percent_after_{}_moves", budget)] +=
        100 * static_cast<double>(allocated) / static_cast<double>(capacity) / options.seeds;
  }
  metrics["moves"] += static_cast<double>(outcome.steps.back().moves) / options.seeds;
  metrics["relocations_refused"] += static_cast<double>(outcome.refused) / options.seeds;
  metrics["relocations_not_as_foretold"] += static_cast<double>(outcome.differed) / options.seeds;
}

// The publication's figures for the workload, as metrics.
void addPublished(const Options& options, const std::string& workload, Numbers& metrics) {
  const std::string path = options.folder + "/published_allocation.csv";
  const auto text = readFile(path);
  if (!text) return;
  const auto table = CsvTable::parse(*text, path).value();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "workload") != workload) continue;
    const std::string policy(table.text(row, "policy"));
    const auto add = [&](std::string_view column, std::string_view name) {
      metrics[fmt::format("published_{}_{}", policy, name)] =
          std::stod(std::string(table.text(row, column)));
    };
    add("allocated_percent_at_100_arrivals", "at_100");
    add("at_110", "at_110");
    add("at_130", "at_130");
  }
}

Numbers run(const Options& options, const std::string& workload, const Policy& policy) {
  const auto nodes = readTraceNodes(options.folder + "/nodes_gpu.csv");
  const auto tasks = readTraceTasks(fmt::format("{}/pods_{}.csv", options.folder, workload));
  if (!nodes || !tasks) return {};
  Numbers metrics;
  std::vector<double> decisions;
  double slowest = 0, lowest = 100;
  for (int seed = 0; seed < options.seeds; ++seed) {
    const Outcome one =
        experiment(*nodes, *tasks, policy, 42 + static_cast<std::uint64_t>(seed), options);
    if (options.moves > 0) addDefragmented(one.defragmented, capacityOf(*nodes), options, metrics);
    metrics["allocated_percent_at_100"] += one.at100 / options.seeds;
    metrics["allocated_percent_at_110"] += one.at110 / options.seeds;
    metrics["allocated_percent_at_130"] += one.at130 / options.seeds;
    metrics["tasks"] += static_cast<double>(one.decisions.size()) / options.seeds;
    metrics["cpu_seconds"] += one.seconds / options.seeds;
    metrics["cpu_seconds_of_setup"] += one.setup / options.seeds;
    slowest = std::max(slowest, one.seconds);
    lowest = std::min(lowest, one.at130);
    decisions.insert(decisions.end(), one.decisions.begin(), one.decisions.end());
  }
  metrics["decision_cpu_us_mean"] =
      1e6 * (metrics["cpu_seconds"] - metrics["cpu_seconds_of_setup"]) / metrics["tasks"];
  metrics["cpu_seconds_slowest"] = slowest;
  metrics["lowest_percent_at_130"] = lowest;
  metrics["decision_us_p50"] = bench::percentile(decisions, 0.5);
  metrics["decision_us_p99"] = bench::percentile(decisions, 0.99);
  metrics["peak_rss_mib"] = bench::peakRssMib();
  addPublished(options, workload, metrics);
  return metrics;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string workloads = "default,cpu250,gpushare100,gpuspec33,multigpu50";
  std::vector<char*> rest{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--traces" && i + 1 < argc) {
      options.folder = argv[++i];
    } else if (name == "--workloads" && i + 1 < argc) {
      workloads = argv[++i];
    } else if (name == "--defragment" && i + 1 < argc) {
      options.moves = static_cast<std::size_t>(std::max(0, std::atoi(argv[++i])));
    } else if (name == "--seeds" && i + 1 < argc) {
      options.seeds = std::max(1, std::atoi(argv[++i]));
    } else {
      rest.push_back(argv[i]);
    }
  }
  std::vector<bench::Benchmark> all;
  for (const std::string& workload : splitWords(workloads, ',')) {
    for (const Policy& policy : policies()) {
      all.push_back({fmt::format("Packing/{}_{}", workload, policy.name),
                     {{"seeds", options.seeds}},
                     [&options, &policy, workload](const Numbers&) {
                       return options.folder.empty() ? Numbers() : run(options, workload, policy);
                     }});
    }
  }
  return bench::runAll(static_cast<int>(rest.size()), rest.data(), all);
}
