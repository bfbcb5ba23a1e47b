// koordlet: flags and wiring.

#include <sys/resource.h>

#include <algorithm>

#include "base/log.h"
#include "flags.h"
#include "koordlet/agent/agent.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

class Program final : public kube::Running {
 public:
  Program(kube::Component& component, const Flags& flags, Host host, KubeletOptions kubelet)
      : executor_(component.executor()),
        addr_(flags.addr),
        agent_(component.executor(), component.api(), flags.agent, std::move(host), metrics_,
               std::make_unique<KubeletSource>(component.executor(), component.http(),
                                               std::move(kubelet), metrics_),
               component.random().fork()) {
    for (const auto& line : agent_.report()) log::info("{}", line);
    for (const auto& flag : flags.ignored)
      log::warn("--{} has no effect: this version does not have what it is for", flag);
    agent_.start();
    tasks_.spawn(serve());
  }

 private:
  // Protecting pods does not depend on being watched: a busy port is tried again.
  Task<void> serve() {
    for (;;) {
      auto server =
          net::HttpServer::start(executor_, {.listen = addr_}, makeHandler(agent_.views()));
      if (server) {
        server_ = *std::move(server);
        log::info("serving metrics and status on http://{}", server_->address());
        co_return;
      }
      log::error("{}; choose another --addr or stop what uses it (next try in 10s)",
                 server.error().message);
      auto pause = sleepFor(executor_, 10s);
      co_await pause;
    }
  }

  Executor& executor_;
  std::string addr_;
  Metrics metrics_;
  Agent agent_;
  std::unique_ptr<net::HttpServer> server_;
  TaskGroup tasks_;
};

Result<std::unique_ptr<kube::Running>> start(kube::Component& component, const Flags& flags) {
  auto host = Host::detect(flags.agent.dirs);
  if (!host) return fail(std::move(host.error()));
  // Kubelet trusts whom the API server trusts.
  auto client = kube::loadClientConfig(flags.component.client);
  if (!client) return fail(std::move(client.error()));
  KubeletOptions kubelet = flags.kubelet;
  kubelet.tls = client->tls;
  kubelet.credentials = client->credentials;
  return std::make_unique<Program>(component, flags, *std::move(host), std::move(kubelet));
}

// The usual soft limit of 1024 is less than a full node has cgroup files to keep open.
void raiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace koord::koordlet

int main(int argc, char** argv) {
  koord::koordlet::raiseFileLimit();
  const auto flags = koord::koordlet::parseFlags(argc, argv);
  return koord::kube::runComponent(flags.component, [&](koord::kube::Component& component) {
    return koord::koordlet::start(component, flags);
  });
}
