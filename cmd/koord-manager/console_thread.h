#pragma once

// The console for all users of the cluster (console/console.h) as a part of koord-manager, on every
// replica. It has a thread, connections and watches of its own, so users who look at the cluster do
// not hold up webhooks and controllers.

#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "console/console.h"
#include "kube/command_line.h"
#include "kube/component.h"
#include "kube/secure_serving.h"
#include "net/http_client.h"

namespace koord::manager {

struct ConsoleOptions {
  std::string address = "0";  // "0" = no console
  std::string tlsCertFile;
  std::string tlsKeyFile;
  std::string scheduler;   // address of koord-scheduler's secure port; "" = by its lease
  std::string prometheus;  // address; "" = none
  std::string prometheusCaFile;
  std::string version;
};

void addConsoleFlags(flags::FlagSet& set, ConsoleOptions& options);

class ConsoleThread final : public kube::Component {
 public:
  // Serves when it returns. An error names the flag. The parent must outlive it.
  static Result<std::unique_ptr<ConsoleThread>> start(kube::Component& parent,
                                                      ConsoleOptions options);
  ~ConsoleThread() override;

  Executor& executor() override { return thread_.loop(); }
  kube::Api& api() override { return *api_; }
  net::HttpClient& http() override { return http_; }
  const kube::ClientConfig& config() override { return parent_.config(); }
  Random& random() override { return random_; }
  const std::shared_ptr<kube::Metrics>& metrics() override { return metrics_; }
  void exit(int status) override;

 private:
  ConsoleThread(kube::Component& parent, ConsoleOptions options);
  Result<> begin();
  Result<console::ConsoleOptions> consoleOptions();
  kube::SecureServingOptions servingOptions() const;

  kube::Component& parent_;
  const ConsoleOptions options_;
  const std::shared_ptr<kube::Metrics> metrics_ = std::make_shared<kube::Metrics>();
  Random random_{Random::entropy()};
  LoopThread thread_{"console"};
  net::HttpClient http_;  // its answers arrive on the thread
  // On the thread.
  std::unique_ptr<kube::Api> api_;
  std::unique_ptr<console::Console> console_;
  std::unique_ptr<kube::SecureServing> serving_;
};

}  // namespace koord::manager
