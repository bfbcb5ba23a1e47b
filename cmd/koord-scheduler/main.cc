// koord-scheduler: assigns pods to nodes.

#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "base/version/version.h"
#include "scheduler/app/app.h"
#include "scheduler/app/malloc_conf.h"
#include "scheduler/plugins/registry.h"

// Read by jemalloc. MALLOC_CONF in the environment overrides it.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = koord::scheduler::kMallocConf;

int main(int argc, char** argv) {
  koord::scheduler::Flags flags;
  koord::kube::ComponentOptions component;
  component.name = "koord-scheduler";
  component.version = fmt::format("v{}", koord::programVersion());
  component.qps = 50;
  component.burst = 100;
  flags.version = component.version;
  koord::kube::CommandLine line(
      {}, component,
      "Assigns pods to nodes: kube-scheduler's framework, plugins and configuration, on an "
      "engine\nthat evaluates every node for every pod. --show-plugins lists the enabled plugins.");
  koord::scheduler::addFlags(line, flags, component);
  if (const auto status = line.parse(argc, argv)) return *status;
  flags.shown = line.flags().values();

  const auto refuse = [](const koord::Error& error) {
    std::fprintf(stderr, "koord-scheduler: %s\n", error.message.c_str());
    return 1;
  };
  const auto options = koord::scheduler::resolve(line.flags(), flags, component);
  if (!options) return refuse(options.error());
  const koord::scheduler::Registry registry = koord::scheduler::makeRegistry();
  if (flags.showPlugins || !flags.writeConfigTo.empty()) {
    const auto text = koord::scheduler::describeConfiguration(*options, registry);
    if (!text) return refuse(text.error());
    if (flags.showPlugins) std::fputs(text->c_str(), stdout);
    if (flags.writeConfigTo.empty()) return 0;
    const auto written = koord::writeFileAtomic(
        flags.writeConfigTo, koord::scheduler::writeConfiguration(options->configuration), 0644);
    return written ? 0 : refuse(written.error());
  }
  return koord::kube::runComponent(
      component,
      [&](koord::kube::Component& c) -> koord::Result<std::unique_ptr<koord::kube::Running>> {
        return koord::scheduler::startScheduler(c, flags, *options, registry);
      });
}
