#pragma once

// The scheduler's HTTP endpoints: those that every program has (net/serving.h, net/profiling.h),
// the debug flags, and the service engine under /apis/v1/.
//
// The plain port does not authenticate. It serves what upstream serves there, by GET only, and
// spends at most a tenth of the time on answers that grow with the cluster. Expensive metrics
// pages, including those of pods, are cached for a while, so that one client cannot starve others.
// Requests that compute or change something (explain, diagnosis, what-if, includePods, debug flags)
// need TLS and authorization by a guard (kube/request_guard.h).
//
// Beyond upstream: /livez and /readyz; GET of a debug flag; explain: GET
// /apis/v1/explain/pods/NS/NAME, or POST a pod to /apis/v1/explain/pods to ask about a pod that
// does not exist; /apis/v1/diagnosis/NS/POD and /apis/v1/scheduleexplanations/NS/POD for programs
// (diagnose.h); and /apis/v1/shadow, the report of a shadow (shadow/shadow.h).

#include <functional>
#include <set>

#include "net/metrics_page.h"
#include "net/router.h"
#include "scheduler/services/metrics.h"

namespace koord::scheduler {

// State of the process outside of its Scheduler.
struct ServiceState {
  std::function<bool()> leading;           // the service engine answers on the leader only
  std::function<std::string()> unhealthy;  // "" or the problem with the lease
  std::function<bool()> synced;
  std::function<bool()> stopping;
  std::function<std::string()> clientMetrics;  // those of kube::Metrics
  std::function<std::string()> auditMetrics = [] { return std::string(); };
  std::function<void()> resetAudit = [] {};
  // Of a shadow of another scheduler; empty: this process is not a shadow.
  std::function<json::value()> shadowReport = {};
  std::function<std::string()> shadowMetrics = [] { return std::string(); };
  net::MetricsPage page;                                   // added to all metrics
  std::vector<std::pair<std::string, std::string>> flags;  // for /flagz
  bool openDebugFlags = false;  // can be set without TLS, by any client of the port
};

class HttpService {
 public:
  // Arguments must outlive it, and it must outlive the servers that it serves.
  HttpService(Scheduler& scheduler, Metrics& metrics, Executor& executor, ServiceState state);
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  net::HttpServer::Handler handler() const;

 private:
  using Answer = std::function<Result<json::value>(const net::RoutedRequest&)>;

  // An expensive text, cached for ten times as long as it took to make.
  class Page {
   public:
    using Bytes = net::Responder::Bytes;
    Bytes of(Executor& executor, const std::function<std::string()>& make);
    void forget() { keepUntil_ = {}; }

   private:
    Bytes text_;
    SteadyTime keepUntil_{};
  };
  void addDebugFlags();
  // Why the plain port does not serve this request; "" if it does.
  std::string refusalFor(const std::string& method, const net::Target& target) const;
  // Returns true for a path of the service engine that the plain port serves.
  bool isOpen(std::string_view path) const;
  void answerPlain(const net::HttpServer::Handler& route, net::ServerRequest request,
                   std::shared_ptr<net::Responder> to) const;
  enum class For { Anybody, Guarded };
  // Adds a path of the service engine: only the leader answers.
  void addAnswer(const char* method, const std::string& path, For whom, Answer answer);
  // The paths of all services, as __services__ shows them.
  std::set<std::string> addPluginRoutes();
  void addServices();

  Scheduler& scheduler_;
  Metrics& metrics_;
  Executor& executor_;
  ServiceState state_;
  net::Router router_;
  std::set<std::string, std::less<>> open_;  // paths of /apis/v1/ on the plain port
  mutable SteadyTime restUntil_{};           // of the plain port
  Page metricsPage_;
  Page podResourcesPage_;
};

}  // namespace koord::scheduler
