#include "cluster/up/components.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "cluster/up/host.h"
#include "scheduler/config/shipped.h"

namespace koord::cluster {

namespace {

std::string url(int port, const char* path) {
  return fmt::format("http://127.0.0.1:{}{}", port, path);
}

// Evicts pods from hot nodes, with migration jobs; the local scheduler says where pods would land.
// A simulated cluster is small, and its load is steady.
std::string deschedulerConfiguration(const ComponentOptions& options) {
  const std::string landing = options.schedulerUrl.empty()
                                  ? "{enabled: false}"
                                  : "{schedulerURL: " + options.schedulerUrl + "}";
  return fmt::format(R"(apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 15s
clientConnection: {{qps: 20000, burst: 20000}}
profiles:
- name: koord-descheduler
  plugins:
    balance: {{enabled: [{{name: LowNodeLoad}}]}}
  pluginConfig:
  - name: MigrationController
    args: {{landing: {0}, evictLocalStoragePods: true, namespaces: {{exclude: [kube-system, koordinator-system]}}}}
  - name: LowNodeLoad
    args:
      evictableNamespaces: {{exclude: [kube-system, koordinator-system]}}
      lowThresholds: {{cpu: 45, memory: 55}}
      highThresholds: {{cpu: 75, memory: 80}}
      anomalyCondition: {{timeout: 2m, consecutiveAbnormalities: 2, consecutiveNormalities: 2}}
)",
                     landing);
}

// The user's file, or the shipped one: pods name either of these two schedulers.
Result<std::string> configFile(const std::string& component, const ComponentOptions& options) {
  // The others have flags and ConfigMaps.
  if (component != "koord-scheduler" && component != "koord-descheduler") return std::string();
  if (!options.configDir.empty()) {
    std::string file = options.configDir + "/" + component + ".yaml";
    if (::access(file.c_str(), F_OK) == 0) return file;
  }
  std::string file = options.dataDir + "/" + component + ".yaml";
  if (component == "koord-descheduler") {
    auto done = writeFileAtomic(file, deschedulerConfiguration(options));
    if (!done) return fail(std::move(done.error()));
    return file;
  }
  // The API server is local and has no other clients: 50 requests a second would be the only
  // bottleneck.
  const auto which = options.severalNodes ? scheduler::Shipped::Recommended
                                          : scheduler::Shipped::RecommendedOnOneMachine;
  auto written = writeFileAtomic(
      file, scheduler::shippedConfiguration({"default-scheduler", "koord-scheduler"}, which) +
                "clientConnection:\n  qps: 20000\n  burst: 20000\n");
  if (!written) return fail(std::move(written.error()));
  return file;
}

// The leases have one candidate each and are removed when it ends: fewer renewals cost nothing.
constexpr const char* kRareRenewals = "--leader-elect-retry-period=5s";

void configureManager(Component& component, const std::vector<int>& ports,
                      const ComponentOptions& options) {
  auto& argv = component.child.argv;
  argv.push_back(fmt::format("--metrics-addr=127.0.0.1:{}", ports[0]));
  argv.push_back(fmt::format("--health-probe-addr=127.0.0.1:{}", ports[1]));
  // The API server is local: no rate limit is needed.
  argv.push_back("--rest-config-qps=0");
  argv.push_back("--feature-gates=Recommender=true,EnableSyncGPUSharedResource=true");
  // Outside of the cluster: the API server calls the webhooks by URL.
  component.child.env = {"WEBHOOK_HOST=127.0.0.1", fmt::format("WEBHOOK_PORT={}", ports[2]),
                         "WEBHOOK_CERT_DIR=" + options.dataDir + "/pki/webhook",
                         "POD_NAMESPACE=koordinator-system"};
  component.metricsUrl = url(ports[0], "/metrics");
  component.readyUrl = url(ports[1], "/readyz");
  component.lease = api::ObjectKey{"koordinator-system", "koordinator-manager"};
}

void configureKoordlet(Component& component, int port, const ComponentOptions& options) {
  auto& argv = component.child.argv;
  argv.push_back(fmt::format("--addr=127.0.0.1:{}", port));
  argv.push_back("--cgroup-root-dir=" + options.cgroupRoot);
  argv.push_back("--tsdb-path=" + options.dataDir + "/koordlet/metrics");
  argv.push_back("--prediction-checkpoint-filepath=" + options.dataDir + "/koordlet/predictions");
  // Uses nothing of the host outside of the data folder: the host's own runtime has other users.
  const RuntimeProxyPaths paths(options.dataDir);
  argv.push_back("--runtime-hooks-addr=" + (options.runtimeProxy ? paths.hookSocket : ""));
  argv.push_back("--runtime-hooks-host-endpoint=" + paths.hookSocket);
  argv.push_back("--runtime-hooks-config-path=" + paths.hookFolder);
  argv.push_back("--enable-nri-runtime-hook=false");
  if (!options.containerd.empty()) argv.push_back("--containerd-endpoint=" + options.containerd);
  // As in deploy/manifests and deploy/recommended.
  argv.push_back(
      "--feature-gates=BECPUEvict=true,BEMemoryEvict=true,CgroupReconcile=true,Accelerators=true,"
      "GPUEnvInject=true,RDMADevices=true,RDMADeviceInject=true,CPUNormalization=true");
  component.child.env = {"NODE_NAME=" + options.nodeName, "agent_mode=hostMode"};
  component.metricsUrl = url(port, "/metrics");
  component.readyUrl = url(port, "/healthz");
}

constexpr const char* kUrlsFile = "/components.json";

}  // namespace

Result<> writeComponentUrls(const std::string& dataDir, const std::vector<Component>& components,
                            const ServerUrls& servers) {
  json::object urls{{kServer, servers.own}};
  for (const auto& component : components) {
    const std::string& name = component.child.name;
    urls.emplace(name, component.metricsUrl.substr(0, component.metricsUrl.rfind('/')));
    if (!component.secureUrl.empty()) urls.emplace(name + "-secure", component.secureUrl);
  }
  if (!servers.outside.empty()) urls.emplace(kOutsideServer, servers.outside);
  return writeFileAtomic(dataDir + kUrlsFile, toPrettyJson(urls) + "\n");
}

void forgetComponentUrls(const std::string& dataDir) {
  ::unlink((dataDir + kUrlsFile).c_str());
}

std::string componentUrl(const std::string& dataDir, const std::string& name) {
  const auto text = readFile(dataDir + kUrlsFile);
  const auto urls = text ? parseJson(*text) : Result<json::value>(json::value());
  return urls ? std::string(textAt(*urls, name)) : std::string();
}

// Below the ports that the kernel gives to outgoing connections (32768 and up), and below the node
// ports of services.
constexpr int kFirstPort = 20'000;
constexpr int kPorts = 10'000;

Result<std::vector<int>> freePorts(int count) {
  static std::set<int> given;  // a component may not listen on its port yet
  Random random(Random::entropy());
  std::vector<int> ports;
  Error last{ErrorCode::Unavailable, "find a free port: all are in use", {}};
  for (int tries = 0; tries < kPorts && std::ssize(ports) < count; ++tries) {
    const int port = kFirstPort + static_cast<int>(random.below(kPorts));
    const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail(errnoError("find a free port", errno));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (given.contains(port)) continue;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      last = errnoError("find a free port", errno);
      continue;
    }
    given.insert(port);
    ports.push_back(port);
  }
  if (std::ssize(ports) < count) return fail(std::move(last));
  return ports;
}

ComponentUser userOf(const std::string& component) {
  if (component == "koord-scheduler") return {"system:kube-scheduler", {}};
  return {"system:serviceaccount:koordinator-system:" + component,
          {"system:serviceaccounts", "system:serviceaccounts:koordinator-system"}};
}

Result<Component> makeComponent(const std::string& name, const std::string& kubeconfig,
                                const ComponentOptions& options) {
  const std::string program = options.programDir + "/" + name;
  if (::access(program.c_str(), X_OK) != 0)
    return fail(errnoError(fmt::format("--components: cannot execute {}", program), errno));
  auto ports = freePorts(3);
  if (!ports) return fail(std::move(ports.error()));
  const int first = (*ports)[0];
  const int second = (*ports)[1];

  Component component;
  component.child.name = name;
  component.child.logFile = options.logDir + "/" + name + ".log";
  auto& argv = component.child.argv;
  argv = {program, "--kubeconfig=" + kubeconfig, fmt::format("--v={}", options.verbosity)};
  auto config = configFile(name, options);
  if (!config) return fail(std::move(config.error()));
  if (!config->empty()) argv.push_back("--config=" + *config);
  if (name == "koord-manager") {
    configureManager(component, *ports, options);
  } else if (name == "koord-scheduler") {
    argv.insert(argv.end(),
                {"--address=127.0.0.1", fmt::format("--port={}", first), kRareRenewals});
    // Users of explanations and dry runs authenticate with a certificate or a token.
    argv.insert(
        argv.end(),
        {"--bind-address=127.0.0.1", fmt::format("--secure-port={}", second),
         "--client-ca-file=" + options.dataDir + "/pki/ca.crt", "--authentication-skip-lookup",
         "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
    if (options.record) argv.push_back("--record=" + options.dataDir + "/koord-scheduler.rec");
    component.metricsUrl = url(first, "/metrics");
    component.secureUrl = fmt::format("https://127.0.0.1:{}", second);
    component.readyUrl = url(first, "/healthz");
    component.lease = api::ObjectKey{"koordinator-system", "koord-scheduler"};
  } else if (name == "koord-descheduler") {
    argv.insert(argv.end(), {"--address=127.0.0.1", fmt::format("--port={}", first),
                             "--secure-port=0", kRareRenewals});
    component.metricsUrl = url(first, "/metrics");
    component.readyUrl = url(first, "/healthz");
    component.lease = api::ObjectKey{"koordinator-system", "koord-descheduler"};
  } else if (name == "koordlet") {
    configureKoordlet(component, first, options);
  } else {
    return fail(ErrorCode::Invalid,
                fmt::format("--components: unknown component {}; known are koord-manager, "
                            "koord-scheduler, koord-descheduler and koordlet",
                            name));
  }
  return component;
}

}  // namespace koord::cluster
