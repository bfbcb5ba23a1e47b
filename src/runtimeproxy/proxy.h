#pragma once

// koord-runtime-proxy, in front of a CRI runtime or Docker: waits for the runtime, reads its pods
// and containers, and only then listens, so that clients never reach a proxy without records.

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/task.h"
#include "runtimeproxy/frontends.h"

namespace koord::runtimeproxy {

enum class Language { Cri, Docker };

struct ProxyOptions {
  std::string endpoint = "/var/run/koord-runtimeproxy/runtimeproxy.sock";
  std::string runtime = "/var/run/containerd/containerd.sock";
  std::string hookFolder = "/etc/runtime/hookserver.d";
  SkipRule skip;
  Duration hookTimeout = std::chrono::seconds(2);
  Duration drainTime = std::chrono::seconds(10);  // for running calls at shutdown
  Language language = Language::Cri;
};

class Proxy {
 public:
  Proxy(net::IoLoop& loop, ProxyOptions options);
  ~Proxy();

  // onReady is called when the proxy serves. onFailed is called if it cannot, because of its own
  // socket or the folder of hook servers. A runtime that does not answer is waited for.
  void start(Callback onReady, std::function<void(const Error&)> onFailed);
  // Takes no new connections and calls. onDone is called when running calls have ended, or after
  // drainTime.
  void shutdown(Callback onDone);

  // "" if it serves; else what it waits for.
  const std::string& notReady() const { return notReady_; }
  const Store& store() const { return store_; }
  Metrics& metrics() { return metrics_; }
  // Updates the gauges of records first.
  std::string metricsText();

 private:
  Task<void> run();
  Task<void> rebuild();
  Task<void> drain();
  Result<> listen();
  void accept();
  std::size_t callsInFlight() const;

  net::IoLoop& loop_;
  ProxyOptions options_;
  Metrics metrics_;
  HookConfigs configs_;
  ChannelPool hookChannels_;
  Dispatcher dispatcher_;
  Store store_;
  std::unique_ptr<Frontend> frontend_;
  std::string notReady_ = "starting";
  std::function<void(const Error&)> whenFailed_;
  Callback whenReady_;
  Callback whenDone_;
  Fd listener_;
  std::unique_ptr<net::IoLoop::Watch> watch_;
  std::set<std::shared_ptr<Connection>> connections_;
  TaskGroup tasks_;
};

}  // namespace koord::runtimeproxy
