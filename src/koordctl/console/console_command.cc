#include "koordctl/console/console_command.h"

#include <cstdio>
#include <utility>

#include "base/event_loop.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/version/version.h"
#include "cluster/up/addresses.h"
#include "console/console.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/console/console_explain.h"
#include "koordctl/console/console_simulate.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

using namespace std::chrono_literals;

constexpr Duration kGrace = 500ms;

Task<void> stopConsole(console::Console* console, EventLoop* loop) {
  auto ending = console->shutdown(kGrace);
  co_await ending;
  loop->stop();
}

console::ConsoleOptions optionsOf(const ConsoleFlags& flags, const kube::ClientConfig& config,
                                  Executor& executor) {
  console::ConsoleOptions options;
  options.cluster = config.server;
  options.version = programVersion();
  options.ownNamespace = config.defaultNamespace;
  cluster::Question question;
  question.executor = &executor;
  question.kubeconfig = flags.kubeconfig;
  question.scheduler = flags.scheduler;
  question.manager = flags.manager;
  options.explain = [question](std::string kind, std::string name) {
    return explainForConsole(question, std::move(kind), std::move(name));
  };
  options.simulate = [question](std::string request) {
    return simulateForConsole(question, std::move(request));
  };
  return options;
}

// Runs until SIGINT or SIGTERM; returns the status for main().
int runConsole(const ConsoleFlags& flags) {
  const KubeconfigChoice choice = chooseKubeconfig(flags.kubeconfig);
  auto config = loadChoice(choice);
  if (!config) {
    std::fprintf(stderr, "koordctl: %s\n", explainFailure(choice, config.error()).message.c_str());
    return 1;
  }
  log::setup({.program = "koordctl"});
  EventLoop loop;
  TaskGroup tasks;
  console::Console* running = nullptr;
  SignalWatcher signals(loop, [&](int) {
    if (running) {
      tasks.spawn(stopConsole(running, &loop));
    } else {
      loop.stop();
    }
  });
  net::HttpClient http({.userAgent = "koordctl"});
  auto options = optionsOf(flags, *config, loop);
  if (!flags.prometheus.empty()) {
    auto authorities =
        flags.prometheusCaFile.empty() ? Result<std::string>() : readFile(flags.prometheusCaFile);
    if (!authorities) {
      std::fprintf(stderr, "koordctl: --prometheus-ca-file: %s\n",
                   authorities.error().message.c_str());
      return 1;
    }
    options.prometheus = std::make_shared<console::Prometheus>(http, loop, flags.prometheus,
                                                               *std::move(authorities));
  }
  kube::HttpApi api(http, loop, *std::move(config));
  console::Console console(api, loop, std::move(options));
  if (auto listening = console.listen(flags.listen); !listening) {
    std::fprintf(stderr, "koordctl: --listen: %s\n", listening.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", console.url().c_str());
  std::fflush(stdout);
  loop.post([&] {
    console.start();
    running = &console;
  });
  loop.run();
  return 0;
}

Result<> onLoopback(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  if (cluster::isLoopback(host)) return {};
  return fail(ErrorCode::Invalid,
              "must be a loopback address, because the console does not have TLS: use ssh -L");
}

}  // namespace

void addConsoleCommand(flags::Commands& commands, ConsoleFlags& flags) {
  auto& command = commands.add("console", "Show a cluster in a browser");
  command.details =
      "Prints an address to open in a browser of this host, and serves it until Ctrl-C. The page "
      "shows\n"
      "what the kubeconfig may list, and changes nothing. Who knows the address sees the same.";
  addClusterFlags(command.flags, flags);
  command.flags
      .text("listen", flags.listen, "Loopback address of the page; port 0 selects a free port")
      .check([&flags] { return onLoopback(flags.listen); });
  command.flags
      .text("prometheus", flags.prometheus,
            "Address of a Prometheus that scrapes Koordinator's programs, for older history")
      .check([&flags] { return console::checkPrometheusUrl(flags.prometheus); });
  command.flags.text("prometheus-ca-file", flags.prometheusCaFile,
                     "Certificate authorities of that Prometheus; default: those of the system");
  command.run = [&flags](const auto&) { return runConsole(flags); };
}

}  // namespace koord::koordctl
