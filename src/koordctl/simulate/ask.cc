#include "koordctl/simulate/ask.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

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

namespace koord::koordctl {

namespace {

constexpr const char* kDefaultNamespace = "default";

Task<Result<SimulationAnswer>> askCluster(const SimulationSource& source, const MakeSpec& makeSpec,
                                          Executor& executor) {
  ClusterSimulation cluster(chooseKubeconfig(source.kubeconfig), source.scheduler, "", executor);
  if (auto opened = cluster.open(); !opened) co_return fail(std::move(opened.error()));
  auto spec = makeSpec(source.namespace_.empty() ? cluster.defaultNamespace() : source.namespace_);
  if (!spec) co_return fail(std::move(spec.error()));
  auto asking = cluster.ask(*std::move(spec));
  auto answer = co_await asking;
  co_return answer;
}

Task<void> ask(const SimulationSource* source, const MakeSpec* makeSpec,
               Result<SimulationAnswer>* answer, EventLoop* loop) {
  auto asking = askCluster(*source, *makeSpec, *loop);
  *answer = co_await asking;
  loop->stop();
}

Result<SimulationAnswer> answerOfCluster(const SimulationSource& source, const MakeSpec& makeSpec) {
  EventLoop loop;
  Result<SimulationAnswer> answer;
  TaskGroup tasks;
  tasks.spawn(ask(&source, &makeSpec, &answer, &loop));
  loop.run();
  return answer;
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

Result<SimulationAnswer> askSimulation(const SimulationSource& source, const MakeSpec& makeSpec) {
  const bool alone = source.noCluster || !source.snapshot.empty();
  log::setup({.program = "koordctl", .quiet = alone});
  if (!alone) return answerOfCluster(source, makeSpec);
  auto spec = makeSpec(source.namespace_.empty() ? kDefaultNamespace : source.namespace_);
  if (!spec) return fail(std::move(spec.error()));
  return source.noCluster ? simulateOnNothing(*std::move(spec))
                          : simulateOnSnapshot(source.snapshot, *std::move(spec));
}

Result<json::array> objectsInFiles(const std::vector<std::string>& files,
                                   const std::string& namespace_) {
  json::array objects;
  for (const std::string& file : files) {
    auto text = readManifestFile(file);
    if (!text) return fail(std::move(text.error()));
    auto found = objectsIn(*text, namespace_);
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

void printNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    std::fprintf(stderr, "koordctl: %s\n", printable(note).c_str());
}

void printFailure(const Error& error) {
  std::fprintf(stderr, "koordctl: %s\n", printable(error.message).c_str());
}

}  // namespace koord::koordctl
