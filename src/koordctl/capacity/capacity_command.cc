#include "koordctl/capacity/capacity_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "api/core.h"
#include "base/utf8.h"
#include "koordctl/capacity/capacity_text.h"
#include "koordctl/completion/object_names.h"

namespace koord::koordctl {

namespace {

constexpr const char* kDetails =
    "Asks koord-scheduler how many more pods of a shape fit: it schedules one after the other in "
    "a\n"
    "copy of itself until it rejects one. Shows them by pool of nodes, what stays free, and why "
    "no\n"
    "further pod fits there. Nothing is written. You need the rights to create the objects.\n\n"
    "  koordctl capacity -f job.yaml\n"
    "  koordctl capacity --requests cpu=4,memory=8Gi --by topology.kubernetes.io/zone\n"
    "  koordctl capacity --requests cpu=4,memory=8Gi --quota team-a --quota team-b\n\n"
    "Of a workload, the pods are counted. Several workloads, or the members of a gang, are\n"
    "counted as one copy of all.\n\n"
    "With --nodes-for it finds the smallest number of empty nodes on which all pods get a place,\n"
    "beside a bound that no scheduler can beat.\n\n"
    "  koordctl capacity --nodes-for -f workloads.yaml --shape cpu=32,memory=128Gi\n"
    "  koordctl capacity --nodes-for -f workloads.yaml --like node-7\n\n"
    "With --snapshot the file of 'koordctl snapshot' takes the place of the cluster. With\n"
    "--no-cluster there is none.\n\n"
    "Exit status: 0 a pod fits, or there is a number of nodes; 1 not; 2 there is no answer.";

std::string textOf(const std::vector<SimulationAnswer>& answers,
                   const std::vector<std::string>& quotas) {
  std::string text;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!quotas.empty()) text += fmt::format("{}Quota {}: ", i == 0 ? "" : "\n\n", quotas[i]);
    text += capacityText(answers[i].result);
  }
  return text;
}

json::value documentOf(std::vector<SimulationAnswer> answers,
                       const std::vector<std::string>& quotas) {
  for (std::size_t i = 0; i < quotas.size(); ++i)
    if (answers[i].result.is_object()) answers[i].result.get_object()["quota"] = quotas[i];
  if (answers.size() == 1) return std::move(answers.front().result);
  json::array items;
  for (SimulationAnswer& answer : answers) items.push_back(std::move(answer.result));
  return json::object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
}

int runCapacity(const CapacityOptions& options) {
  const auto answers = askSimulation(options.source, [&](const std::string& namespace_) {
    return capacitySpecs(options.question, namespace_, options.quotas);
  });
  if (!answers) {
    printFailure(answers.error());
    return 2;
  }
  printNotes(*answers);
  for (std::size_t i = 0; i < options.quotas.size(); ++i)
    if (!hasQuota((*answers)[i].result, options.quotas[i])) {
      printFailure({ErrorCode::NotFound, fmt::format("--quota \"{}\": the scheduler has no such "
                                                     "elastic quota",
                                                     options.quotas[i])});
      return 2;
    }
  const std::string text = formatted(documentOf(*answers, options.quotas), options.output,
                                     [&] { return textOf(*answers, options.quotas); });
  std::fputs(printable(text).c_str(), stdout);
  const bool has = std::ranges::any_of(
      *answers, [](const SimulationAnswer& answer) { return hasCapacity(answer.result); });
  return has ? 0 : 1;
}

std::string problemOfAll(const CapacityOptions& options) {
  if (std::string problem = problemOf(options.source); !problem.empty()) return problem;
  if (options.source.noCluster && !(options.question.nodesFor && options.question.like.empty()))
    return "--no-cluster: only with --nodes-for and --shape, because there are no nodes";
  return problemOf(options.question);
}

}  // namespace

void addCapacityCommand(flags::Commands& commands, CapacityOptions& options) {
  auto& command =
      commands.add("capacity", "Show how many more pods fit, or how many nodes suffice");
  command.details = kDetails;
  auto& set = command.flags;
  CapacityQuestion& question = options.question;
  set.list("filename", question.files, "Manifests, as kubectl takes them; - = standard input")
      .shortName('f');
  set.text("requests", question.requests,
           "What a pod requests, as cpu=4,memory=8Gi, in place of --filename");
  set.text("priority-class", question.priorityClass, "Priority class of that pod");
  set.text("qos", question.qos, "QoS class of that pod")
      .oneOf({"LSE", "LSR", "LS", "BE", "SYSTEM"});
  set.list("quota", options.quotas,
           "Elastic quotas to count the pods in, one answer for each; default: that of the pods");
  set.text("by", question.pools,
           "Label of nodes whose values are the pools; default: that of instance types or zones");
  set.boolean("nodes-for", question.nodesFor, "Show how many nodes all pods of the files need");
  set.text("shape", question.shape,
           "With --nodes-for: shape of nodes, the name of a node or amounts as cpu=8,memory=32Gi");
  const auto nodes = [&options] {
    return objectNames(options.source.kubeconfig, api::Node::kType);
  };
  set.text("like", question.like, "With --nodes-for: node that has the shape").completeBy(nodes);
  set.text("config", question.config, "KubeSchedulerConfiguration to use instead");
  set.boolean("no-cluster", options.source.noCluster,
              "Ask a scheduler with the recommended configuration, without a cluster");
  addOutputFlag(set, options.output);
  addSourceFlags(set, options.source);
  command.run = [&](const std::vector<std::string>& names) {
    if (!names.empty()) return commands.refuse("no arguments", "capacity");
    if (const std::string problem = problemOfAll(options); !problem.empty())
      return commands.refuse(problem, "capacity");
    return runCapacity(options);
  };
}

}  // namespace koord::koordctl
