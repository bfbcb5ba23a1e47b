#pragma once

// The scheduler's HTTP endpoints: those that every program has (net/serving.h, net/profiling.h),
// the debug flags, and the service engine under /apis/v1/.
//
// Beyond upstream: /livez and /readyz; GET of a debug flag; explain: GET /apis/v1/explain/pods/NS/NAME, or
// POST a pod to /apis/v1/explain/pods to ask about one that does not exist; and /apis/v1/diagnosis/NS/POD
// and /apis/v1/scheduleexplanations/NS/POD for programs (diagnose.h).

#include <functional>
#include <set>

#include "net/metrics_page.h"
#include "net/router.h"
#include "scheduler/services/metrics.h"

namespace koord::scheduler {

// What the process knows beyond its Scheduler.
struct ServiceState {
  std::function<bool()> leading;           // the service engine answers on the leader only
  std::function<std::string()> unhealthy;  // "" or what is wrong with the lease
  std::function<bool()> synced;
  std::function<bool()> stopping;
  std::function<std::string()> clientMetrics;  // those of kube::Metrics
  std::function<std::string()> auditMetrics = [] { return std::string(); };
  std::function<void()> resetAudit = [] {};
  net::MetricsPage page;                                   // what goes with all metrics
  std::vector<std::pair<std::string, std::string>> flags;  // for /flagz
  bool openDebugFlags = true;  // can be set without TLS, by whoever reaches the port
};

class HttpService {
 public:
  // All must outlive it, and it the servers that it answers for.
  HttpService(Scheduler& scheduler, Metrics& metrics, Executor& executor, ServiceState state);
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  net::HttpServer::Handler handler() const;

 private:
  using Answer = std::function<Result<json::value>(const net::RoutedRequest&)>;

  void addDebugFlags();
  // Of the service engine: only the leader answers.
  void addAnswer(const char* method, const std::string& path, Answer answer);
  // The paths of all services, as __services__ shows them.
  std::set<std::string> addPluginRoutes();
  void addServices();

  Scheduler& scheduler_;
  Metrics& metrics_;
  Executor& executor_;
  ServiceState state_;
  net::Router router_;
};

}  // namespace koord::scheduler
