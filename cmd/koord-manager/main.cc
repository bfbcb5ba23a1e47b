// koord-manager: turns idle capacity into batch and mid resources, distributes the configuration of
// koordlet, and applies co-location profiles to new pods.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/version/version.h"
#include "console_thread.h"
#include "flags.h"
#include "kube/component.h"
#include "manager/manager.h"

namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// koord-manager, and the console beside it.
class Program final : public koord::kube::Running {
 public:
  Program(std::unique_ptr<Running> manager, std::unique_ptr<koord::manager::ConsoleThread> console)
      : manager_(std::move(manager)), console_(std::move(console)) {}
  void stop(koord::Callback done) override {
    console_.reset();
    manager_->stop(std::move(done));
  }

 private:
  std::unique_ptr<Running> manager_;
  std::unique_ptr<koord::manager::ConsoleThread> console_;
};

}  // namespace

int main(int argc, char** argv) {
  koord::manager::ManagerOptions options;
  koord::kube::ComponentOptions component;
  component.name = "koord-manager";
  component.version = fmt::format("v{}", koord::programVersion());
  component.userAgent = "koordinator-manager";  // also the name of the field manager
  component.qps = 30;
  component.burst = 50;
  koord::kube::CommandLine line(
      {.dialect = koord::flags::Dialect::PflagGoNames,
       .badUsage = 2,
       .takesArguments = true,
       .thresholdAlways = true},
      component,
      "Turns idle capacity into batch and mid resources, distributes the configuration of "
      "koordlet,\nand applies co-location profiles to new pods. The webhook server is configured "
      "by environment\nvariables: WEBHOOK_PORT, WEBHOOK_CERT_DIR, WEBHOOK_HOST, POD_NAMESPACE, "
      "SECRET_NAME,\nSERVICE_NAME.");
  koord::manager::ConsoleOptions console;
  addFlags(line, options, component, console);
  if (const auto status = line.parse(argc, argv)) return *status;
  for (auto& note : missingParts(options)) component.notes.push_back(std::move(note));

  auto webhook = koord::manager::webhookSettings(environment);
  if (!webhook) {
    std::fprintf(stderr, "koord-manager: %s\n", webhook.error().message.c_str());
    return 1;
  }
  options.webhook = *std::move(webhook);
  console.version = koord::programVersion();
  return koord::kube::runComponent(
      component,
      [&](koord::kube::Component& c) -> koord::Result<std::unique_ptr<koord::kube::Running>> {
        if (console.address == "0") return koord::manager::Manager::start(c, options);
        auto beside = koord::manager::ConsoleThread::start(c, console);
        if (!beside) return koord::fail(std::move(beside.error()));
        auto manager = koord::manager::Manager::start(c, options);
        if (!manager) return manager;
        return std::make_unique<Program>(*std::move(manager), *std::move(beside));
      });
}
