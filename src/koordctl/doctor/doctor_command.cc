#include "koordctl/doctor/doctor_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/utf8.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/doctor/findings.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

constexpr api::ResourceType kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                         "CustomResourceDefinition", false};
constexpr api::ResourceType kDeployments{"apps", "v1", "deployments", "Deployment", true};
constexpr api::ResourceType kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet", true};

// Reports kinds that cannot be read, and reads the others.
template <class T>
Task<void> read(kube::Api* api, std::string namespace_, std::vector<T>* into,
                std::vector<std::string>* unread) {
  auto listing = kube::list<T>(*api, std::move(namespace_));
  auto listed = co_await listing;
  if (listed) {
    *into = std::move(listed->items);
  } else {
    unread->push_back(fmt::format("{}: {}", T::kType.plural, listed.error().message));
  }
}

template <class T>
Task<void> readAll(kube::Api* api, std::vector<T>* into, std::vector<std::string>* unread) {
  auto reading = read<T>(api, "", into, unread);
  co_await reading;
}

Task<void> readObjects(kube::Api* api, ClusterState* state) {
  auto* unread = &state->unread;
  auto nodes = readAll(api, &state->nodes, unread);
  co_await nodes;
  auto pods = readAll(api, &state->pods, unread);
  co_await pods;
  auto namespaces = readAll(api, &state->namespaces, unread);
  co_await namespaces;
  auto classes = readAll(api, &state->priorityClasses, unread);
  co_await classes;
  auto mutating = readAll(api, &state->mutating, unread);
  co_await mutating;
  auto validating = readAll(api, &state->validating, unread);
  co_await validating;
  auto leases = read(api, "koordinator-system", &state->leases, unread);
  co_await leases;
  auto metrics = readAll(api, &state->nodeMetrics, unread);
  co_await metrics;
  auto profiles = readAll(api, &state->profiles, unread);
  co_await profiles;
}

// The value of a sample without labels in a metrics page.
std::string_view sampleOf(std::string_view page, std::string_view name) {
  for (auto at = page.find(name); at != page.npos; at = page.find(name, at + 1)) {
    const auto end = at + name.size();
    if ((at == 0 || page[at - 1] == '\n') && end < page.size() && page[end] == ' ')
      return page.substr(end + 1, page.find('\n', end) - end - 1);
  }
  return "";
}

Task<void> queryKubelet(kube::HttpApi* api, NodeCgroups* node) {
  const std::string kubelet = "/api/v1/nodes/" + node->node + "/proxy";
  auto configuring = api->getPath(kubelet + "/configz");
  const auto configz = co_await configuring;
  if (!configz) {
    node->problem = configz.error().message;
    co_return;
  }
  if (const auto document = parseJson(*configz))
    node->driver = std::string(textAt(*document, "kubeletconfig", "cgroupDriver"));
  auto measuring = api->getPath(kubelet + "/metrics");
  const auto metrics = co_await measuring;
  if (!metrics) co_return;
  const auto version = sampleOf(*metrics, "kubelet_cgroup_version");
  if (version == "1" || version == "2") node->version = version.front() - '0';
}

Task<void> queryKubelets(kube::HttpApi* api, ClusterState* state) {
  constexpr std::size_t kSome = 16;  // of many similar nodes; each needs two requests
  for (const auto& node : state->nodes) {
    if (state->cgroups.size() == kSome) break;
    state->cgroups.push_back({node.metadata.name, std::nullopt, "", ""});
  }
  for (auto& node : state->cgroups) {
    auto asking = queryKubelet(api, &node);
    co_await asking;
  }
}

template <class T>
Task<void> readConfig(kube::HttpApi* api, std::string name, std::optional<T>* into) {
  const api::ObjectKey key{"koordinator-system", std::move(name)};
  auto reading = kube::get<T>(*api, key);
  auto config = co_await reading;
  if (config) *into = *std::move(config);
}

Task<void> readWorkload(kube::HttpApi* api, api::ResourceType type, std::string name,
                        std::optional<json::value>* into) {
  const api::ObjectKey key{"koordinator-system", std::move(name)};
  auto reading = kube::getObject(*api, type, key);
  auto workload = co_await reading;
  if (workload) *into = *std::move(workload);
}

// Reads the configuration of the features. Other ways of installing Koordinator have none of it.
Task<void> readConfiguration(kube::HttpApi* api, ClusterState* state) {
  auto slo = readConfig(api, "slo-controller-config", &state->sloConfig);
  co_await slo;
  auto scheduling = readConfig(api, "koord-scheduler-config", &state->schedulerConfig);
  co_await scheduling;
  auto descheduling = readConfig(api, "koord-descheduler-config", &state->deschedulerConfig);
  co_await descheduling;
  auto manager = readWorkload(api, kDeployments, "koord-manager", &state->manager);
  co_await manager;
  auto scheduler = readWorkload(api, kDeployments, "koord-scheduler", &state->scheduler);
  co_await scheduler;
  auto koordlet = readWorkload(api, kDaemonSets, "koordlet", &state->koordlet);
  co_await koordlet;
}

Task<Result<>> readCluster(kube::HttpApi* api, Examination which, ClusterState* state) {
  auto asking = api->getPath("/version");
  const auto version = co_await asking;
  if (!version) co_return fail(version.error());
  if (const auto document = parseJson(*version))
    state->version = std::string(textAt(*document, "gitVersion"));
  auto objects = readObjects(api, state);
  co_await objects;
  if (which == Examination::Preflight) {
    auto kubelets = queryKubelets(api, state);
    co_await kubelets;
  }
  auto listing = kube::listObjects(*api, kDefinitions, "", "", "");
  const auto definitions = co_await listing;
  if (definitions)
    for (const auto& crd : find(*definitions, "items")->get_array()) state->crds.push_back(crd);
  auto configuration = readConfiguration(api, state);
  co_await configuration;
  co_return Result<>{};
}

Task<void> runReading(kube::HttpApi* api, Examination which, ClusterState* state, Result<>* result,
                      EventLoop* loop) {
  auto reading = readCluster(api, which, state);
  *result = co_await reading;
  loop->stop();
}

int runExamination(Examination which, const std::string& kubeconfig) {
  log::setup({.program = "koordctl"});
  const KubeconfigChoice choice = chooseKubeconfig(kubeconfig);
  const auto refuse = [&](const Error& error) {
    std::fprintf(stderr, "koordctl: %s\n", explainFailure(choice, error).message.c_str());
    return 1;
  };
  auto config = loadChoice(choice);
  if (!config) return refuse(config.error());
  EventLoop loop;
  ClusterState state;
  state.now = loop.wallNow();
  Result<> result;
  {
    net::HttpClient http({.userAgent = "koordctl"});
    kube::HttpApi api(http, loop, *std::move(config));
    TaskGroup tasks;
    tasks.spawn(runReading(&api, which, &state, &result, &loop));
    loop.run();
  }
  if (!result) return refuse(result.error());
  const auto findings = which == Examination::Preflight ? preflight(state) : diagnose(state);
  std::fputs(printable(findingsText(findings)).c_str(), stdout);
  if (which == Examination::Doctor)
    for (const auto& kind : state.unread) std::printf("not read %s\n", kind.c_str());
  return hasProblem(findings) ? 1 : 0;
}

// The koordlet binary is beside koordctl.
int runDoctor(const std::string& program, const std::string& kubeconfig,
              const std::vector<std::string>& further) {
  const std::string koordlet = (std::filesystem::path(program).parent_path() / "koordlet").string();
  std::vector<std::string> words{koordlet, "doctor"};
  if (!kubeconfig.empty()) words.push_back("--kubeconfig=" + kubeconfig);
  words.insert(words.end(), further.begin(), further.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(koordlet.c_str(), arguments.data());
  std::fprintf(stderr, "koordctl: %s: %s\n", koordlet.c_str(), std::strerror(errno));
  return 1;
}

void addExaminations(flags::Commands& commands, std::string& kubeconfig) {
  const auto add = [&](const char* name, const char* summary, Examination which) {
    auto& command = commands.add(name, summary);
    addKubeconfigFlag(command.flags, kubeconfig);
    command.run = [&kubeconfig, which](const auto&) { return runExamination(which, kubeconfig); };
  };
  add("preflight", "Check whether Koordinator can be installed in a cluster",
      Examination::Preflight);
  add("doctor", "Check whether Koordinator works in a cluster", Examination::Doctor);
}

}  // namespace

void addDoctorCommands(flags::Commands& commands, std::string& kubeconfig,
                       const std::string& program) {
  addExaminations(commands, kubeconfig);
  auto& node = commands.add("doctor node", "Check which features of koordlet work on this host");
  node.flags.text("kubeconfig", kubeconfig,
                  "kubeconfig whose permissions are checked; default: $KUBECONFIG, the pod's own, "
                  "~/.kube/config");
  node.arguments = "[-- FLAGS OF KOORDLET]";
  node.details = "Runs 'koordlet doctor'; the exit status is 1 if an enabled feature cannot work.";
  node.run = [&kubeconfig, program](const auto& further) {
    return runDoctor(program, kubeconfig, further);
  };
}

}  // namespace koord::koordctl
