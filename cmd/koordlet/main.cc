// koordlet: flags and wiring.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <string_view>

#include <unistd.h>

#include "base/event_loop.h"
#include "base/log.h"
#include "flags.h"
#include "koordlet/agent/agent.h"
#include "koordlet/agent/doctor_cluster.h"
#include "koordlet/states/pod_fallback.h"
#include "kube/http_api.h"
#include "net/profiling.h"
#include "net/serving.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

class Program final : public kube::Running {
 public:
  Program(kube::Component& component, const Flags& flags, Host host, KubeletOptions kubelet)
      : executor_(component.executor()),
        clientMetrics_(component.metrics()),
        agent_(component.executor(), component.api(), flags.agent, std::move(host), metrics_,
               sources(component, flags, std::move(kubelet), metrics_), component.random().fork()) {
    for (const auto& line : agent_.report()) log::info("{}", line);
    agent_.start();
    ServiceViews views = agent_.views();
    views.clientMetrics = [this] { return clientMetrics_->text(executor_.steadyNow()); };
    tasks_.spawn(serve(flags.addr, makeHandler(std::move(views)), "--addr"));
    if (flags.enablePprof)
      tasks_.spawn(serve(flags.pprofAddr, net::profilingHandler(executor_), "--pprof-addr"));
  }

 private:
  static AgentSources sources(kube::Component& component, const Flags& flags,
                              KubeletOptions options, Metrics& metrics) {
    auto kubelet = std::make_unique<KubeletSource>(component.executor(), component.http(),
                                                   std::move(options), metrics);
    AgentSources result;
    if (!flags.disableKubeletConfig) result.kubeletConfig = kubelet.get();
    result.pods = std::make_unique<PodFallback>(std::move(kubelet), component.api(),
                                                component.executor(), component.random().fork());
    if (flags.agent.gates.enabled("Accelerators"))
      result.gpus = std::make_unique<NvmlSource>(component.executor(), GpuReader());
    if (auto found = findRuntimes(flags.agent.dirs, flags.agent.runtimes); !found.empty())
      result.runtime = makeCriRuntime(component.executor(), std::move(found));
    return result;
  }

  // Protecting pods does not depend on the metrics endpoint: if the port is in use, it tries again.
  Task<void> serve(std::string addr, net::HttpServer::Handler handler, std::string flag) {
    addr = net::listenAddress(std::move(addr), net::runsInPod());
    for (;;) {
      auto server = net::HttpServer::start(executor_, {.listen = addr}, handler);
      if (server) {
        log::info("serving on http://{} ({})", (*server)->address(), flag);
        servers_.push_back(*std::move(server));
        co_return;
      }
      log::error("{}; choose another {} or stop the program that uses it (next attempt in 10s)",
                 server.error().message, flag);
      auto pause = sleepFor(executor_, 10s);
      co_await pause;
    }
  }

  Executor& executor_;
  const std::shared_ptr<kube::Metrics> clientMetrics_;
  Metrics metrics_;
  Agent agent_;
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  TaskGroup tasks_;
};

// Kubelet accepts the credentials that the API server accepts.
KubeletOptions kubeletOptions(const Flags& flags, const kube::ClientConfig& client) {
  KubeletOptions kubelet = flags.kubelet;
  kubelet.tls = client.tls;
  kubelet.credentials = client.credentials;
  return kubelet;
}

Result<std::unique_ptr<kube::Running>> start(kube::Component& component, const Flags& flags) {
  auto host = Host::detect(flags.agent.dirs);
  if (!host) return fail(std::move(host.error()));
  auto client = kube::loadClientConfig(flags.component.client);
  if (!client) return fail(std::move(client.error()));
  return std::make_unique<Program>(component, flags, *std::move(host),
                                   kubeletOptions(flags, *client));
}

// The node name by kubelet's rule, unless a flag or the environment sets it.
std::string nodeNameOf(const Flags& flags) {
  if (!flags.agent.nodeName.empty()) return flags.agent.nodeName;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

Task<void> ask(DoctorSources sources, std::string node, std::vector<Finding>* findings,
               EventLoop* loop) {
  auto asking = examineCluster(sources, std::move(node));
  *findings = co_await asking;
  loop->stop();
}

std::vector<Finding> queryOthers(const Flags& flags) {
  auto client = kube::loadClientConfig(flags.component.client);
  if (!client)
    return {{false, "cannot connect to the API server, which koordlet needs to start: " +
                        client.error().message}};
  EventLoop loop;
  Metrics metrics;
  net::HttpClient http({.userAgent = "koordlet"});
  KubeletSource kubelet(loop, http, kubeletOptions(flags, *client), metrics);
  kube::HttpApi api(http, loop, *std::move(client));
  std::vector<Finding> findings;
  TaskGroup tasks;
  tasks.spawn(ask({&api, &kubelet, flags.disableKubeletConfig ? nullptr : &kubelet},
                  nodeNameOf(flags), &findings, &loop));
  loop.run();
  return findings;
}

int doctor(const Flags& flags) {
  auto host = Host::detect(flags.agent.dirs);
  if (!host) {
    std::fprintf(stderr, "koordlet: %s\n", host.error().message.c_str());
    return 1;
  }
  auto findings = examine(*host, flags.agent);
  std::ranges::move(queryOthers(flags), std::back_inserter(findings));
  std::fputs(doctorText(findings).c_str(), stdout);
  return std::ranges::all_of(findings, &Finding::passed) ? 0 : 1;
}

}  // namespace
}  // namespace koord::koordlet

// Read by jemalloc. One thread does the work, and the memory of a list of pods is returned to the
// system soon afterwards. MALLOC_CONF in the environment overrides it.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0";

int main(int argc, char** argv) {
  koord::koordlet::Flags flags;
  flags.agent.watchCgroups = true;
  if (argc > 1 && std::string_view(argv[1]) == "doctor") {
    flags.doctor = true;
    if (const auto status = koord::koordlet::parseFlags(argc - 1, argv + 1, flags)) return *status;
    return koord::koordlet::doctor(flags);
  }
  if (const auto status = koord::koordlet::parseFlags(argc, argv, flags)) return *status;
  return koord::kube::runComponent(flags.component, [&](koord::kube::Component& component) {
    return koord::koordlet::start(component, flags);
  });
}
