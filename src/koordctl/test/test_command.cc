#include "koordctl/test/test_command.h"

#include <cstdio>

#include "base/log.h"
#include "cluster/up/manifests.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/test/up_process.h"
#include "scenario/http_environment.h"
#include "scenario/virtual/virtual_cluster.h"

namespace koord::koordctl {
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

Task<void> ask(scenario::Environment* environment, std::optional<Result<std::string>>* answer) {
  auto asking = environment->discover("/version");
  *answer = co_await asking;
}

// Fails early, instead of once in each of hundreds of scenarios.
Result<> clusterAnswers(const std::string& kubeconfig) {
  auto environment = scenario::connectTo(kubeconfig);
  if (!environment) return fail(std::move(environment.error()));
  std::optional<Result<std::string>> answer;
  TaskGroup tasks;
  tasks.spawn(ask(environment->get(), &answer));
  if (!(*environment)->advanceUntil([&] { return answer.has_value(); }, kAnswerLimit))
    return fail(ErrorCode::Timeout, "the API server does not respond");
  if (!*answer) return fail(std::move(answer->error()));
  return {};
}

int refuse(const std::string& problem) {
  std::fprintf(stderr, "koordctl: %s\n", problem.c_str());
  return 2;
}

int run(TestFlags& flags, const std::string& program) {
  auto& options = flags.options;
  // Logs of components in this process go elsewhere, so that the results stay readable.
  log::setup({.program = "koordctl", .file = flags.logFile.empty() ? "/dev/null" : flags.logFile});
  const std::pair<Duration, std::optional<Duration>*> timeouts[] = {
      {flags.applyTimeout, &options.timeouts.apply},
      {flags.assertTimeout, &options.timeouts.assert},
      {flags.cleanupTimeout, &options.timeouts.cleanup},
      {flags.deleteTimeout, &options.timeouts.delete_},
      {flags.errorTimeout, &options.timeouts.error},
      {flags.execTimeout, &options.timeouts.exec}};
  for (const auto& [given, timeout] : timeouts)
    if (given != Duration::zero()) *timeout = given;
  if (options.useCluster) {
    const auto choice = chooseKubeconfig(options.kubeconfig);
    options.kubeconfig = choice.flag;
    if (const auto answers = clusterAnswers(options.kubeconfig); !answers)
      return refuse(explainFailure(choice, answers.error()).message);
  }
  auto manifests = clusterManifests();
  if (!manifests) return refuse(manifests.error().message);
  const scenario::VirtualClusterOptions virtualOptions{*std::move(manifests), flags.seed};
  options.embedded = [&virtualOptions, &program](const scenario::Test& test) {
    return test.hasProcesses() ? startUpProcess(program)
                               : scenario::startVirtualCluster(virtualOptions);
  };
  return scenario::runTestCommand(options);
}

}  // namespace

void addTestCommand(flags::Commands& commands, TestFlags& flags, std::string program) {
  auto& options = flags.options;
  flags::Command& test = commands.add("test", "Run scenarios (chainsaw-test.yaml) and report");
  test.arguments = "[DIR...]";
  test.details =
      "DIR are folders with scenarios at any depth, or files; default: the current folder.\n"
      "Without --kubeconfig, each scenario gets its own cluster: on virtual time in this process, "
      "or\n"
      "in real time if it runs scripts or commands. The exit status is 0 if all scenarios passed, "
      "1\n"
      "if one failed, 2 if none could run.";
  flags::FlagSet& set = test.flags;
  set.text("kubeconfig", options.kubeconfig,
           "Run on this cluster; \"\" means $KUBECONFIG, that of 'koordctl up', or "
           "~/.kube/config");
  set.integer("parallel", options.parallel, "Number of scenarios that run at once").within(1, 256);
  set.text("junit", options.junitFile, "Write the results as JUnit XML");
  set.text("report-html", options.htmlFile, "Write the results as one self-contained HTML page");
  set.text("filter", options.filter,
           "Only scenarios whose folder/name matches this regular expression");
  set.boolean("fail-fast", options.failFast, "Stop after the first scenario that fails");
  set.boolean("list", options.list, "Print the names of the scenarios without running them");
  set.boolean("verbose", options.verbose, "Show all operations, also of scenarios that passed");
  set.text("log-file", flags.logFile,
           "Write the logs of components of clusters on virtual time to this file");
  set.integer("seed", flags.seed, "Seed of the clusters on virtual time");
  const std::pair<const char*, Duration*> timeouts[] = {
      {"apply", &flags.applyTimeout},     {"assert", &flags.assertTimeout},
      {"cleanup", &flags.cleanupTimeout}, {"delete", &flags.deleteTimeout},
      {"error", &flags.errorTimeout},     {"exec", &flags.execTimeout}};
  for (const auto& [name, value] : timeouts)
    set.duration(std::string(name) + "-timeout", *value,
                 std::string("How long ") + name + " may take unless the scenario sets it");
  test.run = [&flags, &set, program = std::move(program)](const auto& paths) {
    if (!paths.empty()) flags.options.paths = paths;
    flags.options.useCluster = set.given("kubeconfig");
    return run(flags, program);
  };
}

}  // namespace koord::koordctl
