#include "koordctl/simulate/ask.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "api/core.h"
#include "base/event_loop.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/common/manifest_file.h"
#include "koordctl/completion/object_names.h"
#include "koordctl/simulate/cluster_simulation.h"
#include "koordctl/simulate/snapshot_simulation.h"
#include "model/manifest.h"

namespace koord::koordctl {

namespace {

constexpr const char* kDefaultNamespace = "default";

using Answers = std::vector<SimulationAnswer>;

Task<Result<Answers>> askCluster(const SimulationSource& source, const MakeSpecs& makeSpecs,
                                 Executor& executor) {
  ClusterSimulation cluster(chooseKubeconfig(source.kubeconfig), source.scheduler, "", executor);
  if (auto opened = cluster.open(); !opened) co_return fail(std::move(opened.error()));
  auto specs =
      makeSpecs(source.namespace_.empty() ? cluster.defaultNamespace() : source.namespace_);
  if (!specs) co_return fail(std::move(specs.error()));
  Answers answers;
  for (json::object& spec : *specs) {
    auto asking = cluster.ask(std::move(spec));
    auto answer = co_await asking;
    if (!answer) co_return fail(std::move(answer.error()));
    answers.push_back(*std::move(answer));
  }
  co_return answers;
}

Task<void> ask(const SimulationSource* source, const MakeSpecs* makeSpecs, Result<Answers>* answers,
               EventLoop* loop) {
  auto asking = askCluster(*source, *makeSpecs, *loop);
  *answers = co_await asking;
  loop->stop();
}

Result<Answers> answersOfCluster(const SimulationSource& source, const MakeSpecs& makeSpecs) {
  EventLoop loop;
  Result<Answers> answers;
  TaskGroup tasks;
  tasks.spawn(ask(&source, &makeSpecs, &answers, &loop));
  loop.run();
  return answers;
}

}  // namespace

void addSourceFlags(flags::FlagSet& set, SimulationSource& source) {
  set.text("snapshot", source.snapshot,
           "File of 'koordctl snapshot' whose objects take the place of the cluster");
  set.text("namespace", source.namespace_,
           "Namespace of objects that name none; default: that of the kubeconfig's context")
      .shortName('n')
      .completeBy([&source] { return objectNames(source.kubeconfig, api::Namespace::kType); });
  set.text(
      "scheduler", source.scheduler,
      "Address of koord-scheduler, as https://127.0.0.1:10259; default: that of 'koordctl up'");
  addKubeconfigFlag(set, source.kubeconfig);
}

std::string problemOf(const SimulationSource& source) {
  const bool named = !(source.kubeconfig + source.scheduler).empty();
  if (!source.snapshot.empty() && named) return "--snapshot: without --kubeconfig and --scheduler";
  if (source.noCluster && (named || !source.snapshot.empty()))
    return "--no-cluster: without --snapshot, --kubeconfig and --scheduler";
  return {};
}

Result<std::vector<SimulationAnswer>> askSimulation(const SimulationSource& source,
                                                    const MakeSpecs& makeSpecs) {
  const bool alone = source.noCluster || !source.snapshot.empty();
  log::setup({.program = "koordctl", .quiet = alone});
  if (!alone) return answersOfCluster(source, makeSpecs);
  auto specs = makeSpecs(source.namespace_.empty() ? kDefaultNamespace : source.namespace_);
  if (!specs) return fail(std::move(specs.error()));
  return source.noCluster ? simulateOnNothing(*std::move(specs))
                          : simulateOnSnapshot(source.snapshot, *std::move(specs));
}

Result<json::array> objectsInFiles(const std::vector<std::string>& files,
                                   const std::string& namespace_) {
  json::array objects;
  for (const std::string& file : files) {
    auto text = readManifestFile(file);
    if (!text) return fail(std::move(text.error()));
    auto found = model::objectsIn(*text, namespace_);
    if (!found) return fail(std::move(found.error()).within(file));
    std::ranges::move(*found, std::back_inserter(objects));
  }
  return objects;
}

Result<json::value> configurationIn(const std::string& file) {
  auto text = readManifestFile(file);
  if (!text) return fail(std::move(text.error()));
  auto configuration = parseYaml(*text);
  if (!configuration) return fail(std::move(configuration.error()).within("--config " + file));
  return configuration;
}

void addOutputFlag(flags::FlagSet& set, std::string& output) {
  set.text("output", output, "Format: json or yaml; default: text")
      .oneOf({"json", "yaml"})
      .shortName('o');
}

std::string formatted(const json::value& answer, const std::string& output,
                      const std::function<std::string()>& text) {
  if (output == "json") return toPrettyJson(answer) + "\n";
  return output == "yaml" ? toYaml(answer) : text();
}

void printNotes(const std::vector<SimulationAnswer>& answers) {
  std::set<std::string_view> printed;
  for (const SimulationAnswer& answer : answers)
    for (const std::string& note : answer.notes)
      if (printed.insert(note).second)
        std::fprintf(stderr, "koordctl: %s\n", printable(note).c_str());
}

void printFailure(const Error& error) {
  std::fprintf(stderr, "koordctl: %s\n", printable(error.message).c_str());
}

}  // namespace koord::koordctl
