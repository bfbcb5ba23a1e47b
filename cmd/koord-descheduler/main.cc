// koord-descheduler: moves pods away from overloaded, fragmented or unsuitable nodes.

#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "base/version/version.h"
#include "descheduler/app/app.h"
#include "descheduler/app/plugin_table.h"

// Read by jemalloc. One thread does the work, and a cycle's memory is returned to the system soon
// afterwards. MALLOC_CONF in the environment overrides it.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = "narenas:1,dirty_decay_ms:200,muzzy_decay_ms:0";

int main(int argc, char** argv) {
  koord::descheduler::Flags flags;
  koord::kube::ComponentOptions component;
  component.name = "koord-descheduler";
  component.version = fmt::format("v{}", koord::programVersion());
  component.qps = 50;
  component.burst = 100;
  flags.version = component.version;
  koord::kube::CommandLine line({}, component,
                                "Evicts pods from nodes that are overloaded or fragmented, or that "
                                "violate the pods' rules:\nthe descheduling plugins of Koordinator "
                                "and Kubernetes, and the controller of PodMigrationJobs.");
  koord::descheduler::addFlags(line, flags, component);
  if (const auto status = line.parse(argc, argv)) return *status;
  flags.shown = line.flags().values();

  const auto refuse = [](const koord::Error& error) {
    std::fprintf(stderr, "koord-descheduler: %s\n", error.message.c_str());
    return 1;
  };
  const koord::descheduler::Registry registry = koord::descheduler::pluginTable();
  const auto prepared = koord::descheduler::resolve(line.flags(), flags, registry, component);
  if (!prepared) return refuse(prepared.error());
  if (!flags.writeConfigTo.empty()) {
    const auto written = koord::writeFileAtomic(
        flags.writeConfigTo, koord::descheduler::writeConfiguration(prepared->configuration), 0644);
    return written ? 0 : refuse(written.error());
  }
  return koord::kube::runComponent(
      component,
      [&](koord::kube::Component& c) -> koord::Result<std::unique_ptr<koord::kube::Running>> {
        return koord::descheduler::startDescheduler(c, flags, *prepared, registry);
      });
}
