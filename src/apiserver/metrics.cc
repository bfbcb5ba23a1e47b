#include "apiserver/metrics.h"

#include <fmt/format.h>

#include "apiserver/server/server.h"

namespace koord::apiserver {

std::string metricsText(Server& server) {
  std::string out;
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  };
  const auto& counters = server.counters();
  metric("apiserver_request_total", "counter", "Completed requests, without watches.");
  out += fmt::format("apiserver_request_total {}\n", counters.requests);
  metric("apiserver_request_failures_total", "counter",
         "Completed requests with a status of 400 or above.");
  out += fmt::format("apiserver_request_failures_total {}\n", counters.failures);
  metric("apiserver_watches_total", "counter", "Watches started.");
  out += fmt::format("apiserver_watches_total {}\n", counters.watches);
  metric("apiserver_current_resource_version", "gauge", "The resourceVersion of the last write.");
  out += fmt::format("apiserver_current_resource_version {}\n", server.store().version());
  metric("apiserver_storage_objects", "gauge", "Stored objects by resource.");
  for (const auto& [name, resource] : server.registry().all()) {
    if (resource->table != name) continue;
    const auto& table = server.store().table(name);
    out += fmt::format("apiserver_storage_objects{{resource=\"{}\"}} {}\n", name,
                       table.entries().size());
  }
  metric("apiserver_registered_watchers", "gauge", "Running watches by resource.");
  for (const auto& [name, resource] : server.registry().all()) {
    if (resource->table != name) continue;
    out += fmt::format("apiserver_registered_watchers{{resource=\"{}\"}} {}\n", name,
                       server.store().table(name).watcherCount());
  }
  return out;
}

}  // namespace koord::apiserver
