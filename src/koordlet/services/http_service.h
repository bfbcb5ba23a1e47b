#pragma once

// koordlet's HTTP endpoints:
//   /metrics, /internal-metrics, /external-metrics   Prometheus text
//   /healthz, /livez                                 "ok" while the process runs
//   /readyz                                          500 with the reason until metrics and pods are
//                                                    known
//   /apis/v1/qos                                     the state of the QoS strategies, with reasons
//   /apis/v1/audit?limit=&cgroup=                    the last changes on this node, newest first
//   /events                                          audit events by page (audit/event_query.h)
//   /configz, /version, /debug/flags/v               as every program (net/serving.h)

#include <functional>
#include <string>

#include "base/json.h"
#include "koordlet/audit/event_query.h"
#include "koordlet/qos/cpusuppress/cpu_suppress.h"
#include "koordlet/qos/memoryevict/memory_evict.h"
#include "net/http_server.h"

namespace koord::koordlet {

struct ServiceViews {
  std::function<std::string()> internalMetrics;
  std::function<std::string()> externalMetrics;
  std::function<json::value()> qos;
  std::function<json::value(std::size_t limit, std::string_view cgroup)> audit;
  // Null unless the gate AuditEventsHTTPHandler is on.
  std::function<EventPage(std::string_view size, std::string_view token)> events;
  std::function<std::string()> notReady;  // "" when ready
  std::function<json::value()> configz;
  std::function<std::string()>
      clientMetrics;  // of kube::Metrics, with the internal ones; may be null
};

net::HttpServer::Handler makeHandler(ServiceViews views);

json::object viewOf(const CpuSuppress::Status& status);
json::object viewOf(const MemoryEvict::Status& status);

}  // namespace koord::koordlet
