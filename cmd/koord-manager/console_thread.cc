#include "console_thread.h"

#include <cstdlib>

#include "base/file.h"
#include "base/log.h"
#include "console/questions/scheduler_question.h"
#include "kube/http_api.h"
#include "kube/metrics.h"
#include "net/serving.h"

namespace koord::manager {

namespace {

constexpr std::size_t kMostConnections = 2 * console::Viewers::kMostInAll;

}  // namespace

void addConsoleFlags(flags::FlagSet& set, ConsoleOptions& options) {
  set.group("Console");
  set.text("console-addr", options.address,
           "HTTPS address of the console, where users see in a browser what they may list; 0 = "
           "none. Default host: loopback, in a pod all addresses");
  set.text("console-tls-cert-file", options.tlsCertFile,
           "Certificate of the console; default: self-signed, created at start");
  set.text("console-tls-private-key-file", options.tlsKeyFile, "Private key of that certificate");
  set.text("console-scheduler", options.scheduler,
           "Address of koord-scheduler's secure port for simulations; default: port 10259 of the "
           "pod that holds its lease")
      .check([&options]() -> Result<> {
        if (options.scheduler.empty() || options.scheduler.starts_with("https://")) return {};
        return fail(ErrorCode::Invalid, "must begin with https://, because it receives tokens");
      });
  set.text("console-prometheus", options.prometheus,
           "Address of a Prometheus that scrapes Koordinator's programs, for older history")
      .check([&options] { return console::checkPrometheusUrl(options.prometheus); });
  set.text("console-prometheus-ca-file", options.prometheusCaFile,
           "Certificate authorities of that Prometheus; default: those of the system");
}

Result<std::unique_ptr<ConsoleThread>> ConsoleThread::start(kube::Component& parent,
                                                            ConsoleOptions options) {
  std::unique_ptr<ConsoleThread> console(new ConsoleThread(parent, std::move(options)));
  Result<> begun;
  console->thread_.runSync([&] { begun = console->begin(); });
  if (!begun) return fail(std::move(begun.error()));
  return console;
}

ConsoleThread::ConsoleThread(kube::Component& parent, ConsoleOptions options)
    : parent_(parent),
      options_(std::move(options)),
      http_({.userAgent = "koord-manager/console"}) {}

ConsoleThread::~ConsoleThread() {
  thread_.runSync([this] {
    serving_.reset();
    console_.reset();
    api_.reset();
  });
}

void ConsoleThread::exit(int status) {
  parent_.executor().post([&parent = parent_, status] { parent.exit(status); });
}

Result<console::ConsoleOptions> ConsoleThread::consoleOptions() {
  console::ConsoleOptions console;
  console.cluster = config().server;
  console.version = options_.version;
  console.shared = true;
  console::SchedulerPlace place;
  place.url = options_.scheduler;
  console.simulateAs = [this, place](std::string question,
                                     std::shared_ptr<const kube::Caller> caller) {
    return console::simulateAs(executor(), *api_, http_, place, std::move(question),
                               std::move(caller));
  };
  if (options_.prometheus.empty()) return console;
  auto authorities = options_.prometheusCaFile.empty() ? Result<std::string>()
                                                       : readFile(options_.prometheusCaFile);
  if (!authorities)
    return fail(std::move(authorities.error()).within("--console-prometheus-ca-file"));
  console.prometheus = std::make_shared<console::Prometheus>(http_, executor(), options_.prometheus,
                                                             *std::move(authorities));
  return console;
}

kube::SecureServingOptions ConsoleThread::servingOptions() const {
  const std::string address = net::listenAddress(options_.address, net::runsInPod());
  const auto colon = address.rfind(':');
  kube::SecureServingOptions serving;
  serving.program = "koord-manager";
  serving.bindAddress = address.substr(0, colon);
  serving.port = std::atoi(address.c_str() + colon + 1);
  serving.tlsCertFile = options_.tlsCertFile;
  serving.tlsKeyFile = options_.tlsKeyFile;
  // Another cluster than that of the rows would show its users what they may not see.
  serving.reviewsOfComponent = true;
  // Everybody may connect, and a body is read before its sender is known.
  serving.maxConnections = kMostConnections;
  serving.maxBodyBytes = console::Console::kMostQuestionBytes;
  // Users need rights on what they see, not on paths. Reviews of rights are not cached here:
  // console/rights does, with the time that it promises.
  serving.guard.alwaysAllowPaths = {"/*"};
  serving.guard.unavailableIs503 = true;
  serving.guard.tokenTtl = console::Viewers::kTokenCached;
  serving.guard.grantTtl = {};
  serving.guard.refusalTtl = {};
  return serving;
}

Result<> ConsoleThread::begin() {
  api_ =
      std::make_unique<kube::HttpApi>(http_, executor(), parent_.config(),
                                      kube::HttpApiOptions{.userAgent = "koord-manager/console"});
  auto options = consoleOptions();
  if (!options) return fail(std::move(options.error()));
  console_ = std::make_unique<console::Console>(*api_, executor(), *std::move(options));
  auto serving = kube::SecureServing::start(
      *this, servingOptions(),
      kube::RequestGuard::CallerHandler([this](net::ServerRequest request,
                                               std::shared_ptr<net::Responder> responder,
                                               std::shared_ptr<const kube::Caller> caller) {
        console_->handleAs(std::move(request), std::move(responder), std::move(caller));
      }));
  if (!serving) return fail(std::move(serving.error()).within("--console-addr"));
  serving_ = *std::move(serving);
  console_->start();
  log::info("the console is at https://{}", serving_->address());
  return {};
}

}  // namespace koord::manager
