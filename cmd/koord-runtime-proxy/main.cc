// koord-runtime-proxy: flags and wiring.

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/file_limit.h"
#include "base/flags/flag_set.h"
#include "base/flags/go_values.h"
#include "base/flags/log_flags.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/version/version.h"
#include "install.h"
#include "net/http_server.h"
#include "net/serving.h"
#include "runtimeproxy/proxy.h"

namespace koord::runtimeproxy {
namespace {

struct Flags {
  ProxyOptions proxy;
  std::string mode = "Containerd";
  std::string metricsAddress;
  std::string logFormat = "text";
  int verbosity = 0;
  log::Output logOutput;
  bool version = false;
  std::string installInto;
};

void addFlags(flags::FlagSet& set, Flags& flags) {
  auto& proxy = flags.proxy;
  set.group("Proxy");
  set.text("koord-runtimeproxy-endpoint", proxy.endpoint, "Unix socket for kubelet");
  set.text("remote-runtime-service-endpoint", proxy.runtime,
           "Unix socket of the container runtime");
  set.text("backend-runtime-mode", flags.mode,
           "protocol of the runtime: Containerd (CRI, also for CRI-O) or Docker (Engine API)");
  set.duration("drain-timeout", proxy.drainTime,
               "how long calls in flight may take after SIGTERM before they are aborted");
  set.group("Hooks");
  set.text("runtime-hook-server-key", proxy.skip.key,
           "key of a label or annotation; no hook server is called for pods with it");
  set.text("runtime-hook-server-val", proxy.skip.value,
           "value that the label or annotation must have");
  set.text("hook-server-config-dir", proxy.hookFolder,
           "folder with the configuration files of hook servers");
  set.duration("hook-timeout", proxy.hookTimeout, "timeout of a call of a hook server");
  set.group("Other");
  set.text("metrics-addr", flags.metricsAddress,
           "address of /metrics, /healthz and /readyz: ADDRESS:PORT or unix:/path; \"\" = none");
  set.text("install-into", flags.installInto,
           "install the program and its systemd service into the root file system mounted here, "
           "and exit");
  set.boolean("version", flags.version, "Print the version and exit");
  set.unused(
      "remote-image-service-endpoint", "string", "",
      "calls about images use --koord-runtimeproxy-endpoint and --remote-runtime-service-endpoint");
  set.group("Log");
  flags::addLogFlags(set, flags.verbosity, flags.logFormat, flags.logOutput);
}

int refuse(const std::string& why) {
  fmt::print(stderr, "koord-runtime-proxy: {}\nSee koord-runtime-proxy --help.\n", why);
  return 2;
}

std::optional<int> parseFlags(const std::vector<std::string>& arguments, Flags& flags) {
  flags::FlagSet set(flags::Dialect::Pflag);
  addFlags(set, flags);
  if (auto parsed = set.parse(arguments); !parsed) return refuse(parsed.error().message);
  if (set.helpWanted()) {
    fmt::print(
        "A proxy between kubelet and the container runtime. It calls hook servers (koordlet), "
        "which may\nchange a container before the runtime creates it.\n\nUsage:\n  "
        "koord-runtime-proxy [flags]\n\n{}",
        flags::describe(set));
    return 0;
  }
  if (flags.version) {
    fmt::print("koord-runtime-proxy v{}\n", programVersion());
    return 0;
  }
  if (!set.arguments().empty())
    return refuse(fmt::format("unexpected argument \"{}\"", set.arguments().front()));
  if (!flags.installInto.empty()) {
    const auto installed = installOnHost(flags.installInto);
    if (installed) return 0;
    fmt::print(stderr, "koord-runtime-proxy: --install-into: {}\n", installed.error().message);
    return 1;
  }
  if (flags.mode != "Containerd" && flags.mode != "Docker")
    return refuse("--backend-runtime-mode: unknown runtime engine backend " + flags.mode);
  if (flags.mode == "Docker") flags.proxy.language = Language::Docker;
  const auto logging =
      log::setup({.program = "koord-runtime-proxy",
                  .format = flags.logFormat == "json" ? log::Format::Json : log::Format::Text,
                  .verbosity = flags.verbosity},
                 flags.logOutput);
  if (!logging) return refuse(logging.error().message);
  for (const auto& flag : set.flagsWithoutEffect()) log::warn("{} changes nothing", flag);
  return std::nullopt;
}

// Notifies systemd, if it waits for that (Type=notify).
void reloadSystemd(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!path || std::strlen(path) >= sizeof address.sun_path) return;
  std::strcpy(address.sun_path, path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // of the abstract namespace
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  if (::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size) < 0)
    log::warn("{}", errnoError("tell systemd", errno).message);
}

// With WatchdogSec systemd restarts the proxy if it gets no notification from the loop for that
// time.
void feedWatchdog(net::IoLoop& loop, Duration interval) {
  reloadSystemd("WATCHDOG=1");
  loop.runAfter(interval, [&loop, interval] { feedWatchdog(loop, interval); });
}

void startWatchdog(net::IoLoop& loop) {
  const char* const limit = std::getenv("WATCHDOG_USEC");
  if (!limit) return;
  const auto microseconds = flags::parseInteger(limit, 1, 3'600'000'000);
  if (microseconds) feedWatchdog(loop, std::chrono::microseconds(*microseconds) / 3);
}

net::HttpServer::Handler endpoints(Proxy& proxy) {
  const auto router = std::make_shared<net::Router>();
  net::StandardEndpoints standard;
  standard.readyz.add("runtime", [&proxy] { return proxy.notReady(); });
  standard.metrics = [&proxy] { return proxy.metricsText(); };
  standard.build.version = fmt::format("v{}", programVersion());
  standard.debugFlags = true;
  addStandardEndpoints(*router, std::move(standard));
  return [router](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
    router->handle(std::move(request), std::move(responder));
  };
}

int run(const Flags& flags) {
  net::IoLoop loop;
  Proxy proxy(loop, flags.proxy);
  int status = 0;
  SignalWatcher signals(loop, [&](int) {
    log::info("koordinator runtime-proxy shutting down");
    reloadSystemd("STOPPING=1");
    proxy.shutdown([&] { loop.stop(); });
  });
  raiseFileLimit();
  std::unique_ptr<net::HttpServer> server;
  if (!flags.metricsAddress.empty()) {
    auto started = net::HttpServer::start(loop, {.listen = flags.metricsAddress}, endpoints(proxy));
    if (!started) {
      log::error("--metrics-addr: {}", started.error().message);
      return 1;
    }
    server = *std::move(started);
    log::info("serving on http://{} (--metrics-addr)", server->address());
  }
  startWatchdog(loop);
  proxy.start([&] { reloadSystemd("READY=1"); },
              [&](const Error& error) {
                log::error("{}", error.message);
                status = 1;
                loop.stop();
              });
  loop.run();
  return status;
}

}  // namespace
}  // namespace koord::runtimeproxy

int main(int argc, char** argv) {
  koord::runtimeproxy::Flags flags;
  if (const auto status = koord::runtimeproxy::parseFlags({argv + 1, argv + argc}, flags))
    return *status;
  return koord::runtimeproxy::run(flags);
}
