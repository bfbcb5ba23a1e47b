#include "kube/component.h"

#include <cstdio>

#include "base/event_loop.h"
#include "base/file_limit.h"
#include "base/log.h"
#include "base/signals.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::kube {
namespace {

constexpr Duration kStopLimit = std::chrono::seconds(10);

std::string userAgentOf(const ComponentOptions& options) {
  return options.userAgent.empty() ? options.name + "/" + options.version : options.userAgent;
}

class Process final : public Component {
 public:
  Process(EventLoop& loop, const ComponentOptions& options, ClientConfig config)
      : loop_(loop),
        http_({.userAgent = userAgentOf(options)}),
        config_(std::move(config)),
        api_(http_, loop_, config_,
             {.userAgent = userAgentOf(options),
              .qps = options.qps,
              .burst = options.burst,
              .metrics = metrics_,
              .contentTypes = options.contentTypes}),
        random_(Random::entropy()) {}

  Executor& executor() override { return loop_; }
  Api& api() override { return api_; }
  net::HttpClient& http() override { return http_; }
  const ClientConfig& config() override { return config_; }
  Random& random() override { return random_; }
  const std::shared_ptr<Metrics>& metrics() override { return metrics_; }
  void exit(int status) override {
    status_ = status;
    loop_.stop();
  }

  int run(std::string_view name,
          std::function<Result<std::unique_ptr<Running>>(Component&)> start) {
    loop_.post([this, name, start = std::move(start)] {
      auto running = start(*this);
      if (running) {
        running_ = *std::move(running);
        return;
      }
      std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(name.size()), name.data(),
                   running.error().message.c_str());
      exit(1);
    });
    loop_.run();
    running_.reset();
    return status_;
  }

  void onSignal(int signal) {
    log::info("stopping on signal {}", signal);
    if (!running_) return exit(0);
    loop_.runAfter(kStopLimit, [this] { exit(1); });
    running_->stop([this] { loop_.post([this] { exit(0); }); });
  }

 private:
  EventLoop& loop_;
  const std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  net::HttpClient http_;
  const ClientConfig config_;
  HttpApi api_;
  Random random_;
  int status_ = 0;
  std::unique_ptr<Running> running_;
};

}  // namespace

int runComponent(const ComponentOptions& options,
                 std::function<Result<std::unique_ptr<Running>>(Component&)> start) {
  raiseFileLimit();
  const bool json = options.logFormat == "json";
  if (!json && options.logFormat != "text") {
    std::fprintf(stderr, "%s: --logging-format: must be text or json, not \"%s\"\n",
                 options.name.c_str(), options.logFormat.c_str());
    return 1;
  }
  const auto logging = log::setup({.program = options.name,
                                   .format = json ? log::Format::Json : log::Format::Text,
                                   .verbosity = options.verbosity},
                                  options.logOutput);
  if (!logging) {
    std::fprintf(stderr, "%s: %s\n", options.name.c_str(), logging.error().message.c_str());
    return 1;
  }
  for (const auto& note : options.notes) log::warn("{}", note);
  auto config = loadClientConfig(options.client);
  if (!config) {
    std::fprintf(stderr, "%s: %s\n", options.name.c_str(), config.error().message.c_str());
    return 1;
  }
  EventLoop loop;
  // Before any other thread: they inherit the blocked signals. The loop runs once there is a
  // process.
  Process* process = nullptr;
  SignalWatcher watcher(loop, [&process](int signal) { process->onSignal(signal); });
  Process instance(loop, options, *std::move(config));
  process = &instance;
  return instance.run(options.name, std::move(start));
}

}  // namespace koord::kube
