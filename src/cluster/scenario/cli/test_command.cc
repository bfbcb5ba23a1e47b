#include "cluster/scenario/cli/test_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>

#include "base/log.h"
#include "base/time.h"
#include "cluster/scenario/cli/up_process.h"
#include "cluster/scenario/http_environment.h"
#include "cluster/scenario/virtual/virtual_cluster.h"
#include "cluster/up/kubeconfig_choice.h"
#include "cluster/up/manifests.h"

namespace koord::scenario {
namespace {

constexpr Duration kAnswerLimit = std::chrono::seconds(30);

Result<std::vector<json::value>> clusterManifests() {
  std::vector<json::value> result;
  for (const std::string_view set : {"base", "crds", "webhooks", "storage"}) {
    for (const auto& manifest : cluster::embeddedManifests()) {
      if (manifest.set != set) continue;
      auto object = parseJson(manifest.json);
      if (!object) return fail(std::move(object.error()));
      result.push_back(*std::move(object));
    }
  }
  return result;
}

Task<void> ask(Environment* environment, std::optional<Result<std::string>>* answer) {
  auto asking = environment->discover("/version");
  *answer = co_await asking;
}

// Before hundreds of scenarios say one after the other that it does not.
Result<> clusterAnswers(const std::string& kubeconfig) {
  auto environment = connectTo(kubeconfig);
  if (!environment) return fail(std::move(environment.error()));
  std::optional<Result<std::string>> answer;
  TaskGroup tasks;
  tasks.spawn(ask(environment->get(), &answer));
  if (!(*environment)->advanceUntil([&] { return answer.has_value(); }, kAnswerLimit))
    return fail(ErrorCode::Timeout, "the API server does not answer");
  if (!*answer) return fail(std::move(answer->error()));
  return {};
}

}  // namespace

CLI::App* addTestCommand(CLI::App& app, TestFlags& flags) {
  auto& options = flags.options;
  CLI::App* test = app.add_subcommand("test", "Run scenarios (chainsaw-test.yaml) and report");
  test->footer(
      "Without --kubeconfig each scenario gets a cluster of its own: on virtual time, in this "
      "process,\n"
      "or in real time when it runs scripts or commands. The exit status is 0 when all passed, 1 "
      "when one\n"
      "failed, 2 when nothing could be run.");
  test->add_option("paths", options.paths, "Folders that hold scenarios somewhere below, or files")
      ->type_name("DIR")
      ->default_str(".");
  flags.onCluster = test->add_option(
      "--kubeconfig", options.kubeconfig,
      "Run on this cluster instead; \"\" takes $KUBECONFIG, that of 'koordctl up', or "
      "~/.kube/config");
  test->add_option("--parallel", options.parallel, "How many scenarios run at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  test->add_option("--junit", options.junitFile, "Write the results as JUnit XML");
  test->add_option("--report-html", options.htmlFile,
                   "Write the results as one HTML page that needs no other file");
  test->add_option("--filter", options.filter,
                   "Only scenarios whose folder/name matches this regular expression");
  test->add_flag("--fail-fast", options.failFast, "Start no scenario after one has failed");
  test->add_flag("--list", options.list, "Print the names and run nothing");
  test->add_flag("--verbose", options.verbose, "Show every operation, also of scenarios that pass");
  test->add_option("--log-file", flags.logFile,
                   "Write what the components of clusters on virtual time log to this file");
  test->add_option("--seed", flags.seed, "Seed of the clusters on virtual time")
      ->capture_default_str();
  const std::pair<const char*, std::string*> timeouts[] = {
      {"apply", &flags.applyTimeout},     {"assert", &flags.assertTimeout},
      {"cleanup", &flags.cleanupTimeout}, {"delete", &flags.deleteTimeout},
      {"error", &flags.errorTimeout},     {"exec", &flags.execTimeout}};
  for (const auto& [name, value] : timeouts) {
    test->add_option(std::string("--") + name + "-timeout", *value,
                     std::string("How long ") + name + " may take where a scenario does not say");
  }
  return test;
}

int runTestCommand(TestFlags& flags, const std::string& program) {
  auto& options = flags.options;
  const auto refuse = [](const std::string& problem) {
    std::fprintf(stderr, "koordctl: %s\n", problem.c_str());
    return 2;
  };
  // What the components of clusters in this process say; apart, so that the results can be read.
  log::setup({.program = "koordctl", .file = flags.logFile.empty() ? "/dev/null" : flags.logFile});
  const std::pair<std::string*, std::optional<Duration>*> timeouts[] = {
      {&flags.applyTimeout, &options.timeouts.apply},
      {&flags.assertTimeout, &options.timeouts.assert},
      {&flags.cleanupTimeout, &options.timeouts.cleanup},
      {&flags.deleteTimeout, &options.timeouts.delete_},
      {&flags.errorTimeout, &options.timeouts.error},
      {&flags.execTimeout, &options.timeouts.exec}};
  for (const auto& [text, timeout] : timeouts) {
    if (text->empty()) continue;
    const auto parsed = parseDuration(*text);
    if (!parsed) return refuse(parsed.error().message);
    *timeout = *parsed;
  }
  options.useCluster = flags.onCluster && flags.onCluster->count() > 0;
  if (options.useCluster) {
    const auto choice = cluster::chooseKubeconfig(options.kubeconfig);
    options.kubeconfig = choice.flag;
    if (const auto answers = clusterAnswers(options.kubeconfig); !answers)
      return refuse(cluster::explainFailure(choice, answers.error()).message);
  }
  auto manifests = clusterManifests();
  if (!manifests) return refuse(manifests.error().message);
  const VirtualClusterOptions virtualOptions{*std::move(manifests), flags.seed};
  options.embedded = [&virtualOptions, &program](const Test& test) {
    return test.hasProcesses() ? startUpProcess(program) : startVirtualCluster(virtualOptions);
  };
  return runTestCommand(options);
}

}  // namespace koord::scenario
