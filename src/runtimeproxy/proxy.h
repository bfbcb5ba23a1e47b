#pragma once

// koord-runtime-proxy as a whole, in front of a runtime that speaks CRI or of Docker: waits for the
// runtime, learns what it has, and only then listens, so that a client never sees a proxy without memory.

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
  Duration drainTime = std::chrono::seconds(10);  // for calls under way at the end
  Language language = Language::Cri;
};

class Proxy {
 public:
  Proxy(net::IoLoop& loop, ProxyOptions options);
  ~Proxy();

  // onReady: it serves. onFailed: it cannot work, and why: its own socket or the folder of hook servers. A runtime that
  // does not answer is waited for.
  void start(Callback onReady, std::function<void(const Error&)> onFailed);
  // No new connections and calls. onDone when those under way have ended, or the time is up.
  void shutdown(Callback onDone);

  // "" once it serves; else what it waits for.
  const std::string& notReady() const { return notReady_; }
  const Store& store() const { return store_; }
  Metrics& metrics() { return metrics_; }
  // After counting what is remembered.
  std::string metricsText();

 private:
  Task<void> run();
  Task<void> rebuild();
  Task<void> drain();
  Result<> listen();
  void accept();
  std::size_t callsUnderWay() const;

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
  net::Fd listener_;
  std::unique_ptr<net::IoLoop::Watch> watch_;
  std::set<std::shared_ptr<Connection>> connections_;
  TaskGroup tasks_;
};

}  // namespace koord::runtimeproxy
