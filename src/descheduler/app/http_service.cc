#include "descheduler/app/http_service.h"

#include "net/profiling.h"
#include "net/serving.h"
#include "net/zpages.h"

namespace koord::descheduler {

HttpService::HttpService(Descheduler& descheduler, Metrics& metrics, Executor& executor,
                         State state) {
  const DeschedulerConfiguration& configuration = descheduler.prepared().configuration;
  const Flags& flags = *state.flags;
  net::StandardEndpoints standard;
  if (configuration.leaderElection.leaderElect) {
    standard.healthz.add("leaderElection", state.unhealthy);
    standard.readyz.add("leaderElection", state.unhealthy);
  }
  standard.metrics = [&metrics, client = state.clientMetrics] { return metrics.text() + client(); };
  standard.build = {flags.version, "", ""};
  for (const auto& [name, gate] : flags.gates.known())
    standard.features.push_back({name, gate.stage, flags.gates.requested(name)});
  standard.disabledMetrics = {flags.disabledMetrics.begin(), flags.disabledMetrics.end()};
  standard.configz = [&configuration] {
    return json::object{{"componentconfig", configurationDocument(configuration)}};
  };
  standard.debugFlags = configuration.enableProfiling;
  addStandardEndpoints(router_, std::move(standard));
  addZPages(
      router_,
      {"koord-descheduler",
       flags.version,
       flags.shown,
       {"/configz", "/debug/evictions", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"}},
      executor);
  router_.add("GET", "/debug/evictions",
              [&descheduler](const net::RoutedRequest&, const std::shared_ptr<net::Responder>& to) {
                net::sendJson(*to, 200, descheduler.journal().document());
              });
  if (configuration.enableProfiling) net::addProfiling(router_, executor);
}

}  // namespace koord::descheduler
