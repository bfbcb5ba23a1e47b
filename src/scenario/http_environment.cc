#include "scenario/http_environment.h"

#include <cstdlib>

#include "base/event_loop.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::scenario {
namespace {

using namespace std::chrono_literals;

class HttpEnvironment final : public Environment {
 public:
  HttpEnvironment(kube::ClientConfig config, std::string kubeconfig)
      : http_({.userAgent = "koordctl-test"}),
        api_(http_, loop_, std::move(config), {.userAgent = "koordctl-test"}),
        kubeconfig_(std::move(kubeconfig)) {}

  kube::Api& api() override { return api_; }
  Executor& executor() override { return loop_; }
  std::string kubeconfig() const override { return kubeconfig_; }
  Task<Result<std::string>> discover(std::string path) override {
    return api_.getPath(std::move(path));
  }

  bool advanceUntil(const std::function<bool()>& done, Duration limit) override {
    const auto deadline = loop_.steadyNow() + limit;
    look(done, deadline);
    loop_.run();
    return done();
  }

 private:
  void look(const std::function<bool()>& done, SteadyTime deadline) {
    if (done() || loop_.steadyNow() >= deadline) return loop_.stop();
    loop_.runAfter(5ms, [this, &done, deadline] { look(done, deadline); });
  }

  EventLoop loop_;
  net::HttpClient http_;
  kube::HttpApi api_;
  std::string kubeconfig_;
};

}  // namespace

Result<std::unique_ptr<Environment>> connectTo(const std::string& kubeconfig) {
  kube::ConfigSource source;
  source.kubeconfig = kubeconfig;
  auto config = kube::loadClientConfig(source);
  if (!config) return fail(std::move(config.error()));
  std::string path = kubeconfig;
  const char* inherited = std::getenv("KUBECONFIG");
  const char* home = std::getenv("HOME");
  if (path.empty() && inherited) path = inherited;
  if (path.empty() && home) path = std::string(home) + "/.kube/config";
  return std::make_unique<HttpEnvironment>(*std::move(config), std::move(path));
}

}  // namespace koord::scenario
