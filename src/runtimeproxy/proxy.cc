#include "runtimeproxy/proxy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/log.h"

namespace koord::runtimeproxy {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstPause = 100ms, kLongestPause = 5s;
constexpr Duration kDrainStep = 20ms;

}  // namespace

Proxy::Proxy(net::IoLoop& loop, ProxyOptions options)
    : loop_(loop),
      options_(std::move(options)),
      configs_(loop, options_.hookFolder),
      hookChannels_(loop),
      dispatcher_(loop, hookChannels_, configs_, metrics_, options_.hookTimeout) {
  FrontendContext context{loop, options_.runtime, dispatcher_, store_, metrics_, options_.skip};
  if (options_.language == Language::Docker)
    frontend_ = std::make_unique<DockerFrontend>(std::move(context));
  else
    frontend_ = std::make_unique<CriFrontend>(std::move(context));
}

Proxy::~Proxy() {
  watch_.reset();
  if (listener_) ::unlink(options_.endpoint.c_str());
}

void Proxy::start(Callback onReady, std::function<void(const Error&)> onFailed) {
  whenReady_ = std::move(onReady);
  whenFailed_ = std::move(onFailed);
  tasks_.spawn(run());
}

Task<void> Proxy::run() {
  // Removes a killed process's socket: clients would wait on it; without it they fail at once.
  ::unlink(options_.endpoint.c_str());
  auto started = configs_.start();
  if (started) {
    auto rebuilding = rebuild();
    co_await rebuilding;
    started = listen();
  }
  if (!started) {
    notReady_ = started.error().message;
    whenFailed_(started.error());
    co_return;
  }
  notReady_.clear();
  log::info("serving {} as a proxy of {}", options_.endpoint, options_.runtime);
  whenReady_();
}

// Reads the runtime's pods and containers; retries without limit until it answers.
Task<void> Proxy::rebuild() {
  for (Duration pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto asking = frontend_->rebuild(store_);
    const auto runtime = co_await asking;
    if (runtime) {
      log::info("{} has {} pod sandboxes and {} containers", *runtime, store_.pods(),
                store_.containers());
      co_return;
    }
    std::string why = fmt::format("runtime {}: {}", options_.runtime, runtime.error().message);
    if (why != notReady_) log::warn("{}; retrying until it responds", why);
    notReady_ = std::move(why);
    auto sleeping = sleepFor(loop_, pause);
    co_await sleeping;
  }
}

Result<> Proxy::listen() {
  const auto folder = std::filesystem::path(options_.endpoint).parent_path().string();
  if (!folder.empty())
    if (auto made = makeDirs(folder, 0755); !made) return made;
  auto listener = net::listenUnix(options_.endpoint);
  if (!listener) return fail(std::move(listener.error()));
  listener_ = *std::move(listener);
  watch_ = loop_.watch(listener_.get(), [this](net::IoLoop::Ready) { accept(); });
  watch_->want({.read = true});
  return {};
}

void Proxy::accept() {
  for (;;) {
    auto client = net::acceptUnix(listener_);
    if (!client) {
      if (client.error().code != ErrorCode::Invalid)
        log::warn("{}: {}", options_.endpoint, client.error().message);
      return;
    }
    const auto connection = frontend_->connection([this](Connection* lost) {
      // Posted, to not destroy the connection inside its own call.
      loop_.post([this, lost] {
        std::erase_if(connections_, [&](const auto& known) { return known.get() == lost; });
        metrics_.connections(connections_.size());
      });
    });
    connections_.insert(connection);
    metrics_.connections(connections_.size());
    connection->start(*std::move(client));
  }
}

std::size_t Proxy::callsInFlight() const {
  std::size_t count = 0;
  for (const auto& connection : connections_) count += connection->callsInFlight();
  return count;
}

void Proxy::shutdown(Callback onDone) {
  whenDone_ = std::move(onDone);
  watch_.reset();
  if (listener_) ::unlink(options_.endpoint.c_str());
  listener_ = Fd();
  notReady_ = "shutting down";
  for (const auto& connection : connections_) connection->drain();
  tasks_.spawn(drain());
}

Task<void> Proxy::drain() {
  const SteadyTime end = loop_.steadyNow() + options_.drainTime;
  while (callsInFlight() > 0 && loop_.steadyNow() < end) {
    auto pause = sleepFor(loop_, kDrainStep);
    co_await pause;
  }
  if (const auto left = callsInFlight(); left > 0)
    log::warn("aborting {} calls that did not end within the drain timeout", left);
  whenDone_();
}

std::string Proxy::metricsText() {
  metrics_.known(store_.pods(), store_.containers());
  return metrics_.text();
}

}  // namespace koord::runtimeproxy
