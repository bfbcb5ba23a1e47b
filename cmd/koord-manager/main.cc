// koord-manager: turns idle capacity into batch and mid resources, distributes the configuration of
// koordlet, and applies co-location profiles to new pods.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/version/version.h"
#include "flags.h"
#include "kube/component.h"
#include "manager/manager.h"

namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

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
  addFlags(line, options, component);
  if (const auto status = line.parse(argc, argv)) return *status;
  for (auto& note : missingParts(options)) component.notes.push_back(std::move(note));

  auto webhook = koord::manager::webhookSettings(environment);
  if (!webhook) {
    std::fprintf(stderr, "koord-manager: %s\n", webhook.error().message.c_str());
    return 1;
  }
  options.webhook = *std::move(webhook);
  return koord::kube::runComponent(
      component,
      [&](koord::kube::Component& c) -> koord::Result<std::unique_ptr<koord::kube::Running>> {
        return koord::manager::Manager::start(c, options);
      });
}
