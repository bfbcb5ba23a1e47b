#include "koordctl/simulate/simulate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "api/core.h"
#include "base/utf8.h"
#include "koordctl/completion/object_names.h"
#include "koordctl/simulate/ask.h"
#include "koordctl/simulate/simulation_text.h"

namespace koord::koordctl {

namespace {

// Reads the files and flags. Objects that name no namespace get this one.
Result<json::object> readSpec(const SimulateOptions& options, const std::string& space) {
  json::object spec;
  auto objects = objectsInFiles(options.files, space);
  if (!objects) return fail(std::move(objects.error()));
  spec["objects"] = *std::move(objects);
  if (options.addNodes > 0) {
    auto nodes = newNodes(options.addNodes, options.shape);
    if (!nodes) return fail(std::move(nodes.error()));
    spec["addNodes"] = json::array{*std::move(nodes)};
  }
  for (const auto& [field, names] :
       {std::pair{"drainNodes", &options.drain}, std::pair{"loseNodes", &options.lose}}) {
    json::array list;
    for (const std::string& name : *names) list.push_back(json::string(name));
    spec[field] = std::move(list);
  }
  if (!options.when.empty()) {
    auto when = startsIn(options.when, space);
    if (!when) return fail(std::move(when.error()));
    spec["when"] = *std::move(when);
  }
  if (options.replay.configs.empty()) return spec;
  auto configuration = configurationIn(options.replay.configs.front());
  if (!configuration) return fail(std::move(configuration.error()));
  spec["configuration"] = *std::move(configuration);
  return spec;
}

int runSimulate(const SimulateOptions& options) {
  const auto answers =
      askSimulation(options.source, [&](const std::string& namespace_) -> Result<Specs> {
        auto spec = readSpec(options, namespace_);
        if (!spec) return fail(std::move(spec.error()));
        return Specs{*std::move(spec)};
      });
  if (!answers) {
    printFailure(answers.error());
    return 2;
  }
  printNotes(*answers);
  const json::value& result = answers->front().result;
  const std::string text =
      formatted(result, options.output, [&] { return simulationText(result, options.explain); });
  std::fputs(printable(text).c_str(), stdout);
  if (!options.when.empty()) return allEstimated(result) ? 0 : 1;
  return allPlaced(result) ? 0 : 1;
}

std::string problemOf(const SimulateOptions& options) {
  if (options.addNodes > 0 && options.shape.empty()) return "--add-nodes: needs --shape";
  if (options.addNodes == 0 && !options.shape.empty()) return "--shape: needs --add-nodes";
  const bool asks = !options.files.empty() || options.addNodes > 0 || !options.drain.empty() ||
                    !options.lose.empty() || !options.when.empty();
  if (std::string problem = problemOf(options.source); !problem.empty()) return problem;
  if (!options.study.folder.empty())
    return asks || !options.replay.trace.empty() || !options.source.snapshot.empty()
               ? "--colocation: without --trace, --snapshot and what asks about a cluster"
               : "";
  if (!options.replay.trace.empty() && !options.source.snapshot.empty())
    return "one of --snapshot and --trace";
  if (!options.replay.trace.empty())
    return asks ? "--trace: without --filename, --add-nodes, --drain, --lose and --when" : "";
  if (options.replay.configs.size() > 1) return "one --config, except with --trace";
  if (!asks && options.replay.configs.empty())
    return "one of --filename, --add-nodes, --drain, --lose, --when, --config, --trace and "
           "--colocation";
  return {};
}

}  // namespace

void addSimulateCommand(flags::Commands& commands, SimulateOptions& options) {
  auto& command =
      commands.add("simulate", "Show what koord-scheduler would do, without doing anything");
  command.details =
      "Asks the running koord-scheduler where the pods of manifests would go, which pods would be\n"
      "preempted, what would stay pending and why, and how quotas would change. Nothing is "
      "written.\n"
      "You need the rights to do what you ask about: to create the objects, to evict pods.\n\n"
      "  koordctl simulate -f job.yaml\n"
      "  koordctl simulate -f job.yaml --add-nodes 4 --shape cpu=64,memory=256Gi\n"
      "  koordctl simulate --drain node-7 --explain\n\n"
      "With --when it estimates when pods, gangs or the pods of a quota start.\n\n"
      "  koordctl simulate --when pod/team-a/train-0 --add-nodes 2 --shape node-7\n\n"
      "With --snapshot the file of 'koordctl snapshot' takes the place of the cluster.\n\n"
      "  koordctl simulate --snapshot case.snap -f job.yaml\n\n"
      "With --trace it replays a trace of tasks instead and prints a report as JSON, without a\n"
      "cluster.\n\n"
      "  koordctl simulate --trace FOLDER --config mine.yaml --config other.yaml\n\n"
      "With --colocation it runs services and batch jobs on simulated nodes, with Kubernetes "
      "alone\n"
      "and with co-location, prints how much CPU is used and how services suffer, and writes a\n"
      "report into the folder.\n\n"
      "  koordctl simulate --colocation FOLDER --colocation-days 1 --colocation-seeds 5\n\n"
      "Exit status: 0 all pods get nodes, 1 some do not, 2 there is no answer.";
  auto& set = command.flags;
  set.list("filename", options.files, "Manifests, as kubectl takes them; - = standard input")
      .shortName('f');
  set.integer("add-nodes", options.addNodes, "Number of nodes to add").within(0, 5000);
  set.text("shape", options.shape,
           "Shape of added nodes: the name of a node, or amounts as cpu=8,memory=32Gi");
  const auto nodes = [&options] {
    return objectNames(options.source.kubeconfig, api::Node::kType);
  };
  set.list("drain", options.drain, "Nodes whose pods are evicted and created again")
      .completeBy(nodes);
  set.list("lose", options.lose, "The same, and the nodes are gone").completeBy(nodes);
  set.list("when", options.when,
           "What starts: pod/NAME, gang/NAME or quota/NAME; NAME as NAMESPACE/NAME, or in the "
           "namespace of --namespace");
  set.list("config", options.replay.configs,
           "KubeSchedulerConfiguration to use instead; with --trace several to compare, each as "
           "FILE or NAME=FILE, by default DeviceShare with and without FragmentationAware");
  addTraceFlags(set, options.replay);
  addColocationFlags(set, options.study);
  set.boolean("explain", options.explain, "Show each pod on its own line");
  addOutputFlag(set, options.output);
  addSourceFlags(set, options.source);
  command.run = [&](const std::vector<std::string>& names) {
    if (!names.empty()) return commands.refuse("no arguments", "simulate");
    if (const std::string problem = problemOf(options); !problem.empty())
      return commands.refuse(problem, "simulate");
    if (!options.study.folder.empty()) return printColocation(options.study);
    if (!options.replay.trace.empty()) return printTrace(options.replay);
    return runSimulate(options);
  };
}

}  // namespace koord::koordctl
