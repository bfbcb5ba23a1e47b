// What other commands of koordctl do with a running cluster, through its control socket.

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <cstdio>

#include "base/file.h"
#include "base/log.h"
#include "cluster/up/actors.h"
#include "cluster/up/clusters.h"
#include "cluster/up/object_copy.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kPauseGrace = 3s;
constexpr Duration kCopyLimit = 10min;
constexpr const char* kDefaultListen = "127.0.0.1:6443";

}  // namespace

// The port of a named cluster stays the same, so that kubeconfigs stay valid.
std::string ClusterUp::listenAddress() const {
  if (!options_.listen.empty()) return options_.listen;
  if (options_.name == kDefaultCluster) return kDefaultListen;
  return readPreferredListen(data_.path());
}

void ClusterUp::openControl(std::function<void()> onStop) {
  removeCopies(data_.path());
  ControlActions actions;
  actions.status = [this] { return controlStatus(); };
  actions.pause = [this] { return pause(); };
  actions.resume = [this] { return resume(); };
  actions.copy = [this] { return copyObjects(); };
  actions.stop = std::move(onStop);
  auto control = ControlServer::start(executor_, data_.path(), std::move(actions));
  if (control) {
    control_ = *std::move(control);
  } else {
    std::fprintf(stderr, "koordctl: %s\n", control.error().message.c_str());
  }
}

json::value ClusterUp::controlStatus() const {
  const char* state = life_ == Life::Paused              ? "paused"
                      : life_ == Life::Running && ready_ ? "running"
                                                         : "changing";
  const auto count = [this](const char* table) {
    return server_->store().table(table).entries().size();
  };
  return json::object{{"name", options_.name},
                      {"state", state},
                      {"process", ::getpid()},
                      {"server", serverUrl_},
                      {"kubeconfig", kubeconfig_},
                      {"nodes", count("nodes")},
                      {"pods", count("pods")},
                      {"uptimeSeconds", (executor_.steadyNow() - startedAt_) / 1s},
                      {"resourceVersion", std::to_string(server_->store().version())}};
}

// The components end and start again afterwards: they release their memory and their leases, and no
// connection or lease of theirs is late when the cluster continues.
Task<Result<>> ClusterUp::pause() {
  if (life_ == Life::Paused) co_return Result<>{};
  if (life_ != Life::Running || !ready_)
    co_return fail(ErrorCode::Conflict, "the cluster starts, pauses or continues: try again later");
  life_ = Life::Pausing;
  auto stopping = actors_->supervisor.stopAll(kPauseGrace);
  co_await stopping;
  if (actors_->host)
    if (auto frozen = actors_->host->freeze(); !frozen) {
      continueActors();
      life_ = Life::Running;
      actors_->supervisor.startAll();
      co_return fail(std::move(frozen.error()));
    }
  pausable_.pause();
  life_ = Life::Paused;
  log::info("paused");
  co_return Result<>{};
}

void ClusterUp::continueActors() {
  pausable_.resume();
  if (actors_->host)
    if (auto thawed = actors_->host->thaw(); !thawed)
      log::error("continue the pods of the host node: {}", thawed.error().message);
}

Task<Result<>> ClusterUp::resume() {
  if (life_ == Life::Running) co_return Result<>{};
  if (life_ != Life::Paused)
    co_return fail(ErrorCode::Conflict, "the cluster pauses or continues: try again later");
  continueActors();
  life_ = Life::Resuming;
  for (const auto& component : components_) {
    if (!component.lease) continue;
    auto forgetting = forgetLease(*component.lease);
    co_await forgetting;
  }
  actors_->supervisor.startAll();
  auto waiting = untilReady();
  co_await waiting;
  life_ = Life::Running;
  log::info("resumed");
  co_return Result<>{};
}

// All objects of one moment. Only references are copied on this thread.
Task<Result<std::string>> ClusterUp::copyObjects() {
  ObjectCopy copy;
  copy.version = server_->store().version();
  for (const auto& [name, resource] : server_->registry().all()) {
    if (resource->table != name) continue;
    for (const auto& [key, entry] : server_->store().table(name).entries())
      copy.changes.push_back({entry->version, name, key, entry});
  }
  if (!copying_) copying_ = std::make_unique<LoopThread>("copy");
  const std::string file = data_.file(fmt::format("{}{:016x}.db", kCopyPrefix, random_.next()));
  auto [future, completer] = Future<Result<>>::make(executor_);
  copying_->loop().post([copy = std::move(copy), file, completer = completer] {
    completer.complete(writeObjects(file, copy));
  });
  auto written = co_await future;
  if (!written) co_return fail(std::move(written.error()));
  // If the client was killed.
  executor_.runAfter(kCopyLimit, [file] { removeCopy(file); });
  co_return file;
}

}  // namespace koord::cluster
